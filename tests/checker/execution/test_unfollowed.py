"""What makes a plan unproved whatever is executed."""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import UNPROVED
from tests.checker.small import SYNC, USE_A, USE_B, init_barrier, judge, under


@pytest.mark.parametrize(
    ("statement", "operation"),
    [
        ("c[0] = T.ptx_arrive_barrier(full[0])\n", "ptx_arrive_barrier"),
        ("As[T.ptx_arrive_barrier(full[0])] = 1\n", "ptx_arrive_barrier"),
        ("t: T.int32 = T.ptx_arrive_barrier(full[0])\n", "ptx_arrive_barrier"),
        (under("if T.ptx_arrive_barrier(full[0]) > 0", "c[0] = 1\n"), "ptx_arrive_barrier"),
        (under("while T.ptx_arrive_barrier(full[0]) > 0", "c[0] = 1\n"), "ptx_arrive_barrier"),
        (under("for k in range(T.ptx_wait_group(0))", "c[0] = 1\n"), "ptx_wait_group"),
        ("T.evaluate(T.ptx_wait_group(0) + 1)\n", "ptx_wait_group"),
        ("c[0] = T.arrive_somehow(full[0])\n", "arrive_somehow"),
        ("c[0] = T.arrive_somehow(full.data)\n", "arrive_somehow"),
    ],
)
def test_an_operation_that_orders_accesses_must_be_a_statement(
    statement: str, operation: str
) -> None:
    body = f"{init_barrier(64)}{USE_A}{SYNC}"
    assert judge(f"{body}{USE_B}").sound
    verdict = judge(f"{body}{statement}{USE_B}")
    assert verdict.verdict is UNPROVED
    assert verdict.uncovered == (
        f"an operation inside an expression is not followed: `{operation}`",
    )


def test_an_operation_that_computes_may_be_anywhere() -> None:
    assert judge(f"{USE_A}{SYNC}c[0] = T.tl_shuffle_elect(0) + T.max(c[0], 1)\n{USE_B}").sound


def test_virtual_threads_come_one_after_the_other() -> None:
    """The second reads As when the first has written Bs."""
    rounds = f"O[tx] = As[63 - tx]\n{SYNC}Bs[63 - tx] = tx\n{SYNC}"
    assert not judge(f'As[tx] = tx\n{SYNC}vt = T.launch_thread("vthread", 2)\n{rounds}').sound


def test_the_iterations_of_a_loop_over_threads_are_threads() -> None:
    body = "As[ty * 64 + tx] = 1\nBs[(1 - ty) * 64 + tx] = 2\n"
    loop = under("for ty in T.thread_binding(2, thread='threadIdx.y')", body)
    assert not judge(loop, elements=128).sound


def test_one_virtual_thread_is_none() -> None:
    body = f'As[tx] = tx\n{SYNC}vt = T.launch_thread("vthread", 1)\nO[tx] = As[63 - tx]\n'
    assert judge(f"{body}{SYNC}Bs[63 - tx] = tx\n").sound


def test_threads_that_touch_nothing_do_not_matter() -> None:
    loop = under("for ty in T.thread_binding(2, thread='threadIdx.y')", "O[ty] = 1\n")
    assert judge(f"{USE_A}{SYNC}{loop}{USE_B}").sound
