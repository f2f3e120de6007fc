"""Until when asynchronous accesses last, by the clauses of `async_lifetimes`."""

from __future__ import annotations

import pytest

from smemreuse.analysis.async_lifetimes import AsyncLifetimes, async_lifetimes
from smemreuse.facts import facts_of
from smemreuse.ir.expr import Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Block, Buffer, Stmt
from tests.analysis.trees import (
    DATA,
    FOUR,
    TX,
    K,
    access_ptr,
    call,
    kernel_of,
    loop,
    op,
    repeat,
    shared,
    store,
    times,
    when,
)

X, Y = shared("X", 64), shared("Y", 64)
BARRIERS = Buffer("mbarrier", "uint64", (FOUR,), "shared.barrier")
DESCRIPTOR = Buffer("desc", "uint64", (Const(1),), "local.descriptor.wgmma")
UNKNOWN = op("gt", Load(DATA, (TX,)), 0)


def copy(buffer: Buffer = X) -> Stmt:
    return call(access_ptr(buffer, Const(2)), access_ptr(DATA, Const(1)), FOUR, op="ptx_cp_async")


def commit() -> Stmt:
    return call(op="ptx_commit_group")


def wait(keep: int = 0) -> Stmt:
    return call(Const(keep), op="ptx_wait_group")


def tma_load(buffer: Buffer, slot: Expr) -> Stmt:
    return call(
        Var("map"), Load(BARRIERS, (slot,)), access_ptr(buffer, Const(2)), FOUR, op="tma_load"
    )


def wait_parity(slot: Expr) -> Stmt:
    return call(Load(BARRIERS, (slot,)), Const(0), op="mbarrier_wait_parity")


def found(*body: Stmt) -> AsyncLifetimes:
    return facts_of(kernel_of(*body, buffers=(X, Y))).ask(async_lifetimes)


def never(*body: Stmt) -> set[str]:
    """The buffers of which an access is never surely waited for."""
    return {buffer.name for buffer in found(*body).never_retired}


def test_a1_an_access_that_no_thread_makes_itself_is_in_flight() -> None:
    assert never(copy()) == {"X"}
    assert never(call(access_ptr(X, Const(1)), FOUR, op="ptx.cp.async.bulk")) == {"X"}
    assert never(store(X), store(Y)) == set()
    assert found(store(X), wait()).retired_by == {}


def test_a2_a_copy_has_to_be_committed() -> None:
    assert never(copy(), wait()) == {"X"}
    assert never(copy(), commit(), wait()) == set()
    assert never(copy(X), commit(), copy(Y), wait()) == {"Y"}
    but_one = call(Const("handle"), Const("tl::cp_async_wait<1>"), op="call_extern")
    assert never(copy(), commit(), but_one) == {"X"}
    for_all = call(Const("handle"), Const("tl::cp_async_wait<0>"), op="call_extern")
    assert found(copy(X), for_all).retired_by == {X: (for_all,)}
    assert never(copy(X), for_all, copy(Y)) == {"Y"}


def test_a2_a_commit_is_of_one_engine() -> None:
    stored = call(access_ptr(Y, Const(1)), Var("map"), FOUR, op="tma_store")
    arrive, waited = call(op="tma_store_arrive"), call(Const(0), op="tma_store_wait")
    assert never(stored, arrive, waited) == set()
    assert never(stored, commit(), waited) == {"Y"}
    assert never(copy(), stored, arrive, commit(), waited) == {"X"}


def test_a3_only_a_wait_for_everything_retires() -> None:
    assert never(copy(), commit(), wait(1)) == {"X"}
    assert never(copy(), commit(), wait(0)) == set()


def test_a3_the_wait_is_named() -> None:
    first, second = wait(), wait()
    assert found(copy(), commit(), first, second).retired_by == {X: (first,)}
    again = found(copy(), commit(), first, copy(), commit(), second)
    assert again.retired_by == {X: (first, second)}


def test_a3_a_tma_load_is_waited_for_by_its_slot() -> None:
    assert never(tma_load(X, K), wait_parity(K)) == set()
    assert never(tma_load(X, K), wait_parity(op("add", K, 1))) == {"X"}
    assert never(tma_load(X, K), commit(), wait()) == {"X"}


def test_a3_wgmma_needs_no_commit() -> None:
    describe = call(
        Load(DESCRIPTOR, (Const(0),)), Pointer(X), FOUR, op="initialize_wgmma_descriptor"
    )
    assert never(describe) == {"X"}
    assert never(describe, call(Const(0), op="warpgroup_wait")) == set()
    assert never(describe, call(Const(1), op="warpgroup_wait")) == {"X"}


def test_a3_a_wait_in_one_arm_is_not_one_in_the_other() -> None:
    assert never(copy(), commit(), when(UNKNOWN, wait())) == {"X"}
    assert never(copy(), commit(), when(UNKNOWN, wait(), orelse=(wait(),))) == set()


def test_a3_a_wait_in_a_loop_that_may_not_run_is_none() -> None:
    assert never(copy(), commit(), loop(wait(), extent=Var("n"))) == {"X"}
    assert never(copy(), commit(), repeat(UNKNOWN, wait())) == {"X"}
    assert never(copy(), commit(), loop(wait())) == set()


def test_a4_what_a_round_ends_with_is_carried() -> None:
    inside = loop(wait(), copy(X), commit(), store(Y))
    outside = loop(inside, wait())
    lifetimes = found(outside)
    assert lifetimes.carried == {(inside, X)}
    assert lifetimes.never_retired == set()


def test_a4_a_commit_may_come_a_round_later() -> None:
    """The first round's copy is committed in the second, and waited for in the third."""
    waited = wait()
    around = loop(waited, commit(), copy())
    assert found(around).retired_by == {X: (waited,)}
    assert found(around).carried == {(around, X)}


def test_a4_a_wait_in_the_same_round() -> None:
    assert found(loop(copy(), commit(), wait())).carried == set()


JUMPS = {
    "loop_break": "who breaks off does not wait, while the others go round",
    "continue_loop": "the round ends there",
    "thread_return": "who returns does not wait, while the others go round",
}


@pytest.mark.parametrize("jump", JUMPS)
def test_a4_what_is_in_flight_at_a_jump_is_carried(jump: str) -> None:
    around = loop(copy(), commit(), when(UNKNOWN, call(op=jump)), wait())
    assert found(around).carried == {(around, X)}
    before = loop(when(UNKNOWN, call(op=jump)), copy(), commit(), wait())
    assert found(before).carried == set()


def test_a4_a_return_is_carried_by_every_loop_around() -> None:
    inner = loop(copy(), commit(), when(UNKNOWN, call(op="thread_return")), wait())
    outer = loop(inner)
    assert found(outer).carried == {(inner, X), (outer, X)}


def test_a5_what_is_in_flight_where_threads_end() -> None:
    around: Block = (copy(), commit(), when(UNKNOWN, call(op="thread_return")), wait())
    assert never(*around) == {"X"}
    assert never(when(UNKNOWN, call(op="thread_return")), copy(), commit(), wait()) == set()


def test_a5_a_break_is_waited_for_behind_the_loop() -> None:
    waited = wait()
    around = loop(copy(), commit(), when(UNKNOWN, call(op="loop_break")), wait())
    assert found(around, waited).retired_by[X][-1] is waited
    assert never(around, waited) == set()
    assert never(around) == {"X"}


def test_a5_a_jump_between_copy_and_commit_leaves_it_uncommitted() -> None:
    around = times(K, 3, copy(), when(UNKNOWN, call(op="continue_loop")), commit(), wait())
    assert never(around, wait()) == {"X"}
    assert never(around, commit(), wait()) == set()
