"""No plan brings a barrier that keeps threads from what others wait for (rule 12)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import barriers_with, judge_offsets
from smemreuse.results.verdict import SOUND, UNPROVED, VerdictKind
from smemreuse.versions import APACHE_TVM
from tests.checker.small import ARRIVE, SCOPE, SYNC, WAIT, init_barrier, kernel_of, under

FIRST, THEN = "As[tx] = tx\nO[tx] = As[tx]\n", "Bs[63 - tx] = tx\nO[tx] = Bs[63 - tx]\n"
"""The bytes that they share go from thread to thread: a barrier comes in between."""

POLL = "while O[99] == 0:\n    T.evaluate(0)\n"
POLLED_BY_WARP = "while O[tx // 32] == 0:\n    T.evaluate(0)\n"
SPINS = (
    "T.evaluate(T.call_extern('int32', 'f', T.address_of(O[99]), "
    '"__device__ int f(volatile int* p) { while (*p == 0) {} return 0; }"))\n'
)
WAIT_UNTIL = "T.cuda.wait_until(c[0], T.address_of(O[99]), c[0] == 1)\n"
SET = under("if tx < 32", "O[99] = 1\n")
HALF = 'T.tvm_storage_sync("shared.dyn", 1, 64)\n'
TWO_PHASES = (
    under(
        "if tx == 0",
        "T.ptx_init_barrier_thread_count(full[0], 32)\n"
        "T.ptx_init_barrier_thread_count(full[1], 32)\nT.ptx_fence_barrier_init()\n",
    )
    + SYNC
    + under("if tx < 32", ARRIVE)
)


def apache(body: str) -> Kernel:
    return replace(kernel_of(body), version=APACHE_TVM)


def verdict_of(body: str) -> tuple[VerdictKind, int]:
    """The verdict where As and Bs share all bytes, and how many barriers come with that."""
    kernel = apache(body)
    places = dict.fromkeys(kernel.allocations(SCOPE), 0)
    verdict = judge_offsets(kernel, SCOPE, places, 256, {})
    return verdict.verdict, len(barriers_with(kernel, places))


def of_the_second_warp(wait: str) -> str:
    """It waits before the barrier for what the first one does behind it."""
    return FIRST + under("if tx >= 32", wait) + THEN


@pytest.mark.parametrize(
    "body",
    [
        of_the_second_warp(POLL) + SET,
        of_the_second_warp(SPINS) + SET,
        of_the_second_warp(WAIT_UNTIL) + SET,
        of_the_second_warp(HALF) + under("if tx < 32", HALF),
        of_the_second_warp("T.cluster_sync()\n") + under("if tx < 32", "T.cluster_sync()\n"),
        FIRST + under("for i in range(tx // 32)", POLL) + THEN + SET,
        FIRST + POLLED_BY_WARP + THEN + "O[tx // 32 + 1] = 1\n",
        "c[0] = tx // 32\n" + FIRST + POLLED_BY_WARP.replace("tx // 32", "c[0]") + THEN + SET,
    ],
)
def test_no_barrier_comes_where_nothing_tells_what_threads_wait_for(body: str) -> None:
    assert verdict_of(body) == (UNPROVED, 0)


@pytest.mark.parametrize(
    "body",
    [
        init_barrier(32) + of_the_second_warp(WAIT) + under("if tx < 32", ARRIVE),
        TWO_PHASES
        + FIRST
        + WAIT.replace("full[0]", "full[tx // 32]")
        + THEN
        + under("if tx < 32", ARRIVE.replace("[0]", "[1]")),
    ],
)
def test_a_plan_with_barriers_is_executed_where_phases_are_waited_for(body: str) -> None:
    """The order of statements alone would separate the two."""
    assert verdict_of(body) == (UNPROVED, 1)


@pytest.mark.parametrize(
    "body",
    [
        init_barrier(64) + FIRST + ARRIVE + WAIT + THEN,
        init_barrier(32) + under("if tx < 32", ARRIVE) + under("if tx >= 32", WAIT) + FIRST + THEN,
        FIRST + POLL + THEN,  # whoever could set it has seen it set
        "c[0] = 0\n" + FIRST + under("while c[0] < 4", "O[tx] = c[0]\nc[0] = c[0] + 1\n") + THEN,
        of_the_second_warp(HALF.replace("64", "32")),  # a barrier of those who are there
    ],
)
def test_barriers_come_where_nobody_waits_for_what_is_behind_them(body: str) -> None:
    assert verdict_of(body) == (SOUND, 1)
