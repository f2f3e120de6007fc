"""Which threads reach a statement, by the clauses of `divergence`."""

from __future__ import annotations

import pytest

from smemreuse.analysis.divergence import Divergence, divergence
from smemreuse.facts import facts_of
from smemreuse.ir.expr import Const, Expr, Load, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Bind, For, Stmt
from smemreuse.ir.launch import UnknownThreads, thread_axes
from tests.analysis.trees import (
    BX,
    DATA,
    FOUR,
    TX,
    K,
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

X = shared("X", 64)
ON_DATA = op("gt", Load(DATA, (TX,)), 0)
LOW = op("lt", TX, 8)
BREAK, CONTINUE, RETURN = (
    call(op=name) for name in ("loop_break", "continue_loop", "thread_return")
)


def found(*body: Stmt, threads: int = 32) -> Divergence:
    return facts_of(kernel_of(*body, threads=threads)).ask(divergence)


def ids(*body: Stmt, threads: int = 32) -> list[int] | None:
    """The threads that come to the first round of the loop over `k`; None if it is not known."""
    flow = found(*body, threads=threads)
    group = flow.group_within(PROBE)
    assert group is not None
    return list(map(int, group.threads.ids)) if group.exact else None


PROBE = times(K, FOUR, store(X))
"""A loop, put where a test asks who comes by."""


def test_d1_all_threads_are_launched() -> None:
    assert ids(PROBE, threads=48) == list(range(48))


def test_d1_each_thread_has_its_place_on_every_axis() -> None:
    ty = Var("ty")
    branch = when(op("eq", ty, 1), PROBE)
    kernel = kernel_of(
        Attr(THREAD_EXTENT, Const("threadIdx.y"), Const(2), (branch,), ty), threads=16
    )
    group = Divergence(kernel.body).group_within(PROBE)
    assert group is not None
    assert list(group.threads.ids) == list(range(16, 32))


def test_d1_a_block_of_unknown_shape_has_no_known_threads() -> None:
    branch = when(op("eq", BX, 0), PROBE)
    body = (Attr(THREAD_EXTENT, Const("threadIdx.x"), Var("n"), (branch,), TX),)
    with pytest.raises(UnknownThreads):
        thread_axes(body)
    flow = Divergence(body)
    assert flow.group_within(PROBE) is None
    assert flow.is_divergent(branch)
    assert flow.depends_on_thread(op("add", TX, 1))


def test_d2_a_bound_variable_is_evaluated() -> None:
    half = Var("half")
    bound = Bind(half, op("floordiv", TX, 16))
    assert ids(bound, when(op("eq", half, 1), PROBE)) == list(range(16, 32))
    assert found(bound).depends_on_thread(half)


def test_d2_a_loop_variable_is_not_known_but_alike() -> None:
    j = Var("j")
    branch = when(op("eq", j, 1), PROBE)
    assert ids(times(j, FOUR, branch)) == list(range(32))
    assert not found(times(j, FOUR, branch)).is_divergent(branch)


def test_d3_a_condition_parts_the_threads() -> None:
    branch = when(LOW, PROBE)
    assert ids(branch) == list(range(8))
    assert ids(when(LOW, orelse=(PROBE,))) == list(range(8, 32))
    assert found(branch).is_divergent(branch)


def test_d3_a_condition_that_is_the_same_for_all_does_not() -> None:
    for condition in (op("eq", BX, 0), op("lt", TX, 32), op("gt", Var("n"), 3)):
        branch = when(condition, PROBE)
        assert ids(branch) == list(range(32))
        assert not found(branch).is_divergent(branch)


def test_d3_an_arm_that_nobody_takes() -> None:
    assert ids(when(op("lt", TX, 0), PROBE)) == []


@pytest.mark.parametrize("condition", [ON_DATA, op("lt", TX, Var("n")), op("some_call")])
def test_d3_of_a_condition_on_data_it_is_not_known_who_takes_which(condition: Expr) -> None:
    branch = when(condition, PROBE)
    assert ids(branch) is None
    assert found(branch).is_divergent(branch)


def test_d3_threads_that_agree_do_so_in_an_arm_on_data_too() -> None:
    inner = when(op("eq", BX, 0), store(X))
    split = when(LOW, store(X))
    flow = found(when(ON_DATA, inner, split))
    assert not flow.is_divergent(inner)
    assert flow.is_divergent(split)


def test_d4_behind_a_scope_all_come_together() -> None:
    for scope in (when(LOW, store(X)), when(ON_DATA, store(X)), repeat(ON_DATA, store(X))):
        assert ids(scope, PROBE) == list(range(32))


def test_d4_who_returned_is_gone() -> None:
    assert ids(when(LOW, RETURN), PROBE) == list(range(8, 32))
    assert ids(when(LOW, when(op("lt", TX, 4), RETURN)), PROBE) is None
    assert ids(when(ON_DATA, RETURN), PROBE) is None


def test_d4_a_return_that_all_take_leaves_nobody_out() -> None:
    assert ids(when(op("eq", BX, 0), RETURN), PROBE) == list(range(32))
    assert ids(when(op("eq", BX, 0), when(op("eq", BX, 1), RETURN)), PROBE) == list(range(32))


def test_d4_who_broke_off_is_missing_in_the_loop_and_back_behind_it() -> None:
    j = Var("j")
    assert ids(times(j, FOUR, when(LOW, BREAK)), PROBE) == list(range(32))
    assert ids(times(j, FOUR, when(LOW, BREAK), PROBE)) is None  # fewer in each round
    assert ids(times(j, FOUR, when(op("eq", j, 1), BREAK), PROBE)) == list(range(32))


def test_d4_who_continued_is_back_in_the_next_round() -> None:
    j = Var("j")
    assert ids(times(j, FOUR, when(LOW, CONTINUE), PROBE)) == list(range(8, 32))
    assert ids(times(j, FOUR, PROBE, when(LOW, CONTINUE))) == list(range(32))


def test_d4_a_break_of_an_inner_loop_does_not_reach_the_outer() -> None:
    j, i = Var("j"), Var("i")
    assert ids(times(j, FOUR, times(i, FOUR, when(LOW, BREAK)), PROBE)) == list(range(32))


def test_no_arm_of_whole_warps_is_part_of_one() -> None:
    branch = when(op("lt", TX, 32), store(X), orelse=(store(X), store(X)))
    assert list(found(branch, threads=64).parts_of_warps(branch)) == []
    assert list(found(branch, threads=40).parts_of_warps(branch)) == []


def test_an_arm_may_be_part_of_a_warp() -> None:
    branch = when(op("lt", TX, 48), store(X), orelse=(store(X), store(X)))
    assert list(found(branch, threads=96).parts_of_warps(branch)) == [branch.then, branch.orelse]
    assert list(found(branch, threads=48).parts_of_warps(branch)) == []
    branch = when(ON_DATA, store(X))
    assert list(found(branch).parts_of_warps(branch)) == [branch.then, ()]


def test_a_loop_that_threads_count_differently_may_be_gone_round_by_part_of_a_warp() -> None:
    for loop in (times(K, TX, store(X)), times(K, load(X), store(X)), repeat(ON_DATA, store(X))):
        assert list(found(loop).parts_of_warps(loop)) == [loop.body]
    for loop in (times(K, BX, store(X)), repeat(op("lt", BX, 2), store(X))):
        assert list(found(loop).parts_of_warps(loop)) == []


def test_every_variable_made_of_the_thread_index_depends_on_it() -> None:
    one, two, j = Var("one"), Var("two"), Var("j")
    flow = found(
        Bind(one, op("add", TX, 1)),
        Bind(two, op("mul", one, 2)),
        For(j, two, FOUR, Const(1), "serial", (store(X),)),
    )
    assert flow.depends_on_thread(op("mul", j, 4))
    assert not flow.depends_on_thread(op("mul", BX, 4))


def test_a_variable_that_is_bound_where_threads_are_unknown_depends_on_them_as_well() -> None:
    var = Var("v")
    loop = times(Var("j"), var, store(X))
    flow = found(when(ON_DATA, Bind(var, TX), loop))
    assert list(flow.parts_of_warps(loop)) == [loop.body]


def test_it_is_worked_out_once() -> None:
    facts = facts_of(kernel_of(PROBE))
    assert facts.ask(divergence) is facts.ask(divergence)
    assert facts.computed["divergence"] == 1
