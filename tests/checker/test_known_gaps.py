"""Kernels on which the checker is known to be wrong, each with the verdict that would be right.

Every test here fails today, and says why. Once it holds, its mark has to go. Where a kernel is
called sound, the comment tells the execution that breaks it.
"""

from __future__ import annotations

import pytest

from smemreuse.results.verdict import UNSOUND
from tests.checker.small import (
    SYNC,
    judge,
    under,
)


def gap(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


# Which bytes, and which threads -------------------------------------------------------------------

THIRD = 'Cs = T.alloc_buffer(({},), "int32", scope="shared.dyn")'


@gap("`tl_shuffle_elect` asks for threadIdx.x, not for the number of the thread in its block")
def test_a_thread_is_elected_in_every_row_of_a_block() -> None:
    """`cutlass::canonical_warp_idx` is threadIdx.x / 32: 0 in both warps here."""
    rows = 'ty = T.launch_thread("threadIdx.y", 2)\n'
    use = "As[ty] = 1\nO[ty] = As[ty]\nBs[1 - ty] = 2\nO[ty] = Bs[1 - ty]\n"
    assert judge(rows + under("if tx == 0", use), threads=32).verdict == UNSOUND
    assert not judge(rows + under("if T.tl_shuffle_elect(0)", use), threads=32).sound


@gap("registers of other scopes than `local` count as the same for all threads")
def test_registers_of_a_warp_are_each_threads_own() -> None:
    """Threads are in both arms."""
    declared = 'w = T.alloc_buffer((1,), "int32", scope="warp")'
    branch = under("if w[0] < 16", "O[tx] = As[63 - tx]\n") + under("else", "Bs[63 - tx] = 7\n")
    assert not judge(f"w[0] = tx\nAs[tx] = 1\n{SYNC}{branch}", declared=declared).sound


def test_a_function_of_any_name_may_take_a_reference() -> None:
    """From the element that it is handed it may write all of Bs."""
    body = f"As[tx] = 1\n{SYNC}T.call_extern('handle', '__scale_in_place', Bs[0])\n{SYNC}"
    assert not judge(f"{body}O[tx] = As[tx]\n").sound


# What is no serial loop of one thread -------------------------------------------------------------


@gap("a virtual thread is executed once, and not as often as there are")
def test_virtual_threads_come_one_after_the_other() -> None:
    """The second reads As when the first has written Bs."""
    rounds = f"O[tx] = As[63 - tx]\n{SYNC}Bs[63 - tx] = tx\n{SYNC}"
    assert not judge(f'As[tx] = tx\n{SYNC}vt = T.launch_thread("vthread", 2)\n{rounds}').sound


@gap("a loop over threads counts as a loop")
def test_the_iterations_of_a_loop_over_threads_are_threads() -> None:
    body = "As[ty * 64 + tx] = 1\nBs[(1 - ty) * 64 + tx] = 2\n"
    loop = under("for ty in T.thread_binding(2, thread='threadIdx.y')", body)
    assert not judge(loop, elements=128).sound


@gap("a vectorized loop counts as a serial one")
def test_each_statement_of_a_vectorized_loop_is_done_for_all_lanes_at_once() -> None:
    """Both elements of As are written, then Bs over the second one, then both are read."""
    loop = under("for v in T.vectorized(2)", "As[v] = v\nBs[v] = 7\nO[v] = As[v]\n")
    assert not judge(loop, threads=1, elements=2, offsets={"Bs": 4}).sound


@gap("a loop that counts down is taken for one without iterations")
def test_a_loop_may_count_down() -> None:
    loop = under("for k in range(3, -1, -1)", "Bs[63 - tx] = k\n")
    assert not judge(f"As[tx] = 1\n{SYNC}{loop}{SYNC}O[tx] = As[tx]\n").sound
