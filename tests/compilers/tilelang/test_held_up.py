"""Barriers that the compiler puts in for a merge, which keep threads from what others wait for."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T

import smemreuse.tilelang
from fixtures.witnesses.held_up import BLOCKS, HALF, make_waits_for_the_next_branch
from smemreuse.pipeline.lowered import AppliedPlan
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import UNPROVED, UNSOUND
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang


def applied(function: Any, **options: Any) -> tuple[AppliedPlan, Any]:
    """What is applied to a function's only kernel, and that kernel as it was lowered."""
    with smemreuse.tilelang.merge(**options) as session:
        lower(function, "sm_90a")
    (kernel,) = session.kernels
    (plan,) = kernel.plans
    return plan, kernel


@pytest.mark.parametrize("objective", ["speed", "bytes"])
def test_tiles_whose_barrier_would_wait_for_ever_are_kept_apart(objective: str) -> None:
    """On a GPU the kernel hangs as TileLang merges it (`docs/results/held-up-h200.json`)."""
    function = make_waits_for_the_next_branch()
    with pytest.warns(RuntimeWarning, match="wait for ever"):
        plan, kernel = applied(function, objective=objective)
    assert plan.verdict.sound
    assert not plan.plan.sharing_pairs()
    stock = kernel.stock_verdict(plan.plan.scope)
    assert stock.verdict is UNSOUND
    assert [one.rule for one in stock.violations] == [Rule.COLLECTIVE]


@T.prim_func
def polls_for_the_next_branch(
    X: T.Tensor((BLOCKS, HALF), "int32"),
    Y: T.Tensor((BLOCKS, HALF), "int32"),
    Z: T.Tensor((BLOCKS, HALF), "int32"),
    ready: T.Tensor((BLOCKS,), "int32"),
):
    with T.Kernel(BLOCKS, threads=2 * HALF) as bx:
        sent = T.alloc_shared((HALF,), "int32")
        received = T.alloc_shared((HALF,), "int32")
        tx = T.get_thread_binding(0)
        if tx >= HALF:
            while ready[bx] == 0:
                T.evaluate(0)
            received[tx - HALF] = Y[bx, tx - HALF]
            Z[bx, tx - HALF] = received[tx - HALF]
        if tx < HALF:
            sent[tx] = X[bx, tx]
            Y[bx, tx] = sent[tx]
            ready[bx] = 1


def test_nothing_is_proved_by_such_a_barrier_where_threads_poll_memory() -> None:
    """For what they wait is not known, so that TileLang's own layout is neither proved nor refuted:
    it stays, but where only what is proved may be applied."""
    plan, _ = applied(polls_for_the_next_branch)
    assert plan.verdict.verdict is UNPROVED
    assert "may wait for ever (rule 12)" in plan.verdict.first_finding
    strict, _ = applied(polls_for_the_next_branch, strict=True)
    assert strict.verdict.sound
    assert not strict.plan.sharing_pairs()
