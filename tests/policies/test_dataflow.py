"""Live ranges and conflicts of the dataflow policy, by its clauses."""

from __future__ import annotations

from smemreuse.facts import facts_of
from smemreuse.ir.expr import Const, Load, Pointer, Var
from smemreuse.ir.kernel import Block, Buffer, Kernel, Stmt, Store
from smemreuse.policies.dataflow import Dataflow, dataflow
from tests.analysis.trees import (
    BX,
    DATA,
    FOUR,
    TX,
    ZERO,
    K,
    access_ptr,
    call,
    kernel_of,
    load,
    op,
    repeat,
    shared,
    store,
    times,
    when,
)

X, Y, Z = (shared(name, 64) for name in "XYZ")
J = Var("j")
LOW = op("lt", TX, 32)
ON_DATA = op("gt", Load(DATA, (TX,)), 0)
BARRIER = call(Const("shared.dyn"), op="tvm_storage_sync")
BARRIERS = Buffer("mbarrier", "uint64", (FOUR,), "shared.barrier")


def fill(buffer: Buffer) -> Stmt:
    return store(buffer, ZERO, TX)


def use(buffer: Buffer) -> Stmt:
    return store(DATA, load(buffer, op("sub", 63, TX)), TX)


def turn(buffer: Buffer) -> Block:
    """Something that is over in two statements."""
    return (fill(buffer), use(buffer))


def found(*body: Stmt) -> Dataflow:
    kernel = kernel_of(*body, buffers=(X, Y, Z), threads=64)
    return dataflow(kernel, "shared.dyn")


def ranges(flow: Dataflow) -> dict[str, tuple[int, int]]:
    return {buffer.name: (live.begin, live.end) for buffer, live in flow.live.items()}


def rules(flow: Dataflow, buffer: Buffer) -> list[int]:
    """The rules that made a buffer's range grow."""
    return [widening.reason.rule for widening in flow.widened[buffer]]


def meet(flow: Dataflow, one: Buffer, other: Buffer) -> bool:
    return flow.live[one].overlaps(flow.live[other])


def conflicts(flow: Dataflow) -> dict[frozenset[str], int]:
    return {
        frozenset(buffer.name for buffer in pair): reason.rule
        for pair, reason in flow.concurrent.items()
    }


def test_ranges_begin_as_inners() -> None:
    flow = found(*turn(X), *turn(Y))
    assert ranges(flow) == {"X": (1, 3), "Y": (3, 5)}  # the launch of threads is entry 0
    assert flow.widened == {X: (), Y: ()}
    assert flow.concurrent == {}


def test_f1_an_address_kept_in_memory() -> None:
    places = Buffer("places", "uint64", (FOUR,), "local")
    flow = found(Store(places, (ZERO,), Pointer(X)), fill(X), *turn(Y), use(X), *turn(Z))
    assert ranges(flow)["X"] == (0, len(flow.sequence.entries))
    assert rules(flow, X) == [1]


def test_f2_a_buffer_that_is_carried_is_live_in_the_whole_loop() -> None:
    loop = times(K, FOUR, *turn(Y), use(X), fill(X))
    flow = found(loop)
    assert meet(flow, X, Y)
    assert rules(flow, X) == [2]
    assert flow.widened[X][0].reason.stmt is loop
    assert rules(flow, Y) == []


def test_f2_one_that_is_private_is_not() -> None:
    flow = found(times(K, FOUR, *turn(Y), *turn(X)))
    assert not meet(flow, X, Y)
    assert rules(flow, X) == rules(flow, Y) == []


def test_f2_nor_one_whose_growing_would_change_nothing() -> None:
    assert rules(found(times(K, FOUR, use(X), fill(X)), *turn(Y)), X) == []


def test_f2_a_while_may_be_left_early() -> None:
    flow = found(repeat(op("lt", BX, 3), *turn(Y), *turn(X)))
    assert meet(flow, X, Y)


def test_f2_a_loop_that_runs_once_carries_nothing() -> None:
    for extent, carried in ((1, False), (2, True)):
        assert meet(found(times(K, extent, *turn(Y), use(X), fill(X))), X, Y) is carried


def test_f2_no_range_that_grows_makes_another_loop_matter() -> None:
    """The inner loop carries Y, but there is nobody new to meet in it, however far X is live."""
    inner = times(J, FOUR, use(Y), fill(Y))
    flow = found(times(K, FOUR, *turn(Z), use(X), fill(Y), inner, fill(X)))
    assert rules(flow, X) == [2]
    assert rules(flow, Y) == []


def test_f2_what_an_inner_loop_carries_the_outer_sees_whole() -> None:
    inner = times(J, FOUR, *turn(Y), use(X), fill(X))
    flow = found(times(K, FOUR, inner, *turn(Z)))
    assert {widening.reason.stmt for widening in flow.widened[X]} >= {inner}
    assert meet(flow, X, Y)
    assert meet(flow, X, Z)  # the outer loop carries it too


def test_f4_buffers_of_arms_that_threads_take_at_the_same_time() -> None:
    flow = found(when(LOW, *turn(X), orelse=turn(Y)), *turn(Z))
    assert conflicts(flow) == {frozenset("XY"): 4}


def test_f4_not_of_arms_that_all_threads_take_alike() -> None:
    for condition in (op("eq", BX, 0), op("lt", TX, 64)):
        assert conflicts(found(when(condition, *turn(X), orelse=turn(Y)))) == {}


def waiting(*body: Stmt) -> Block:
    return (call(Load(BARRIERS, (ZERO,)), ZERO, op="mbarrier_wait_parity"), *body)


def test_f4_branches_one_behind_the_other_that_wait_for_an_mbarrier() -> None:
    other = op("ge", TX, 32)
    assert conflicts(found(when(LOW, *turn(X)), when(other, *waiting(*turn(Y))))) == {
        frozenset("XY"): 4
    }
    assert conflicts(found(when(LOW, *turn(X)), when(other, *turn(Y)))) == {}
    assert conflicts(found(when(LOW, *turn(X)), BARRIER, when(other, *waiting(*turn(Y))))) == {}


def copy(buffer: Buffer) -> Block:
    issue = call(access_ptr(buffer, Const(2)), access_ptr(DATA, Const(1)), FOUR, op="ptx_cp_async")
    return (issue, call(op="ptx_commit_group"))


def wait() -> Stmt:
    return call(ZERO, op="ptx_wait_group")


def test_f5_a_copy_is_live_until_its_wait() -> None:
    waited = wait()
    flow = found(*copy(X), *turn(Y), waited, *turn(Z))
    assert ranges(flow) == {"X": (1, 4), "Y": (2, 4), "Z": (4, 6)}
    assert rules(flow, X) == [5]
    assert flow.widened[X][0].reason.stmt is waited


def test_f5_until_the_last_wait() -> None:
    flow = found(*copy(X), wait(), *turn(Y), *copy(X), wait(), *turn(Z))
    assert meet(flow, X, Y)
    assert not meet(flow, X, Z)


def test_f5_a_copy_that_a_loop_carries_is_live_in_all_of_it() -> None:
    loop = times(K, FOUR, *turn(Y), wait(), *copy(X))
    flow = found(loop, wait(), *turn(Z))
    assert meet(flow, X, Y)
    assert not meet(flow, X, Z)
    assert flow.widened[X][-1].reason.stmt is loop


def test_f5_a_copy_that_nobody_waits_for_is_live_to_the_end() -> None:
    flow = found(*copy(X), *turn(Y), *turn(Z))
    assert ranges(flow)["X"] == (1, len(flow.sequence.entries))
    assert rules(flow, X) == [5]


def test_f6_no_barrier_can_stand_where_part_of_a_warp_is_alone() -> None:
    for branch in (when(op("lt", TX, 16), *turn(X), *turn(Y)), when(ON_DATA, *turn(X), *turn(Y))):
        assert conflicts(found(branch, *turn(Z))) == {frozenset("XY"): 6}
    assert conflicts(found(when(LOW, *turn(X), *turn(Y)))) == {}  # whole warps


def test_f6_nor_in_a_loop_that_threads_count_differently() -> None:
    assert conflicts(found(times(K, TX, *turn(X), *turn(Y)))) == {frozenset("XY"): 6}


SHARED_FACTS = (
    "KernelAccesses",
    "divergence",
    "accessed_within",
    "_conflicts",
    "_inner_sequence",
)


def test_what_the_ranges_are_made_of_is_found_once() -> None:
    loop = times(K, FOUR, *turn(Y), *turn(X), when(LOW, *turn(Z)))
    kernel: Kernel = kernel_of(loop, buffers=(X, Y, Z), threads=64)
    assert dataflow(kernel, "shared.dyn") is dataflow(kernel, "shared.dyn")
    computed = facts_of(kernel).computed
    assert {fact: computed[fact] for fact in SHARED_FACTS} == dict.fromkeys(SHARED_FACTS, 1)
