"""Where a plan's barriers go, and that the checker is content with them (rule 6)."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent

import pytest

from smemreuse.analysis.barriers import barriers_needed, with_barriers
from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Evaluate, Kernel, walk_statements
from smemreuse.semantics.table import BLOCK_BARRIER
from tests.analysis.trees import K, shared, store, times
from tests.analysis.trees import kernel_of as tree_of

HEADER = """\
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    bx = T.launch_thread("blockIdx.x", 1)
    tx = T.launch_thread("threadIdx.x", 128)
    X = T.alloc_buffer((128,), "float32", scope="shared.dyn")
    Y = T.alloc_buffer((128,), "float32", scope="shared.dyn")
"""
SYNC = 'T.tvm_storage_sync("shared", T.bool(False), -1)\n'
WRITE_X, READ_X = "X[tx] = A[tx]\n", "B[tx] = X[127 - tx]\n"
WRITE_Y, READ_Y = "Y[tx] = A[tx + 128]\n", "B[tx + 128] = Y[127 - tx]\n"
USE_X, USE_Y = WRITE_X + SYNC + READ_X, WRITE_Y + SYNC + READ_Y


def kernel_of(body: str) -> Kernel:
    (kernel,) = parse_dump(HEADER + indent(body, "    ")).functions[0].kernels
    return kernel


def lines_of(body: str) -> list[int]:
    """The lines of `body`, from 1, that barriers go before when X and Y share all bytes."""
    kernel = kernel_of(body)
    first = HEADER.count("\n")
    needed = barriers_needed(kernel, dict.fromkeys(kernel.allocations("shared.dyn"), 0))
    return sorted((stmt.line or 0) - first for stmt in needed)


def is_proved(body: str) -> bool:
    """Whether the checker proves the shared bytes with the barriers that are put in."""
    kernel = kernel_of(body)
    buffers = kernel.allocations("shared.dyn")
    offsets = dict.fromkeys(buffers, 0)
    merged = with_barriers(kernel.body, barriers_needed(kernel, offsets))
    return check_plan(
        replace(kernel, body=merged),
        "shared.dyn",
        offsets,
        512,
        dict.fromkeys(buffers, 16),
        assume_barriers=False,
    ).sound


def test_b2_one_after_the_other() -> None:
    body = USE_X + USE_Y
    assert lines_of(body) == [4]
    assert is_proved(body)


def test_b1_a_barrier_that_is_there_is_enough() -> None:
    body = USE_X + SYNC + USE_Y
    assert lines_of(body) == []
    assert is_proved(body)


def test_b5_the_way_round_a_loop() -> None:
    body = "for b in range(3):\n" + indent(USE_X + SYNC + USE_Y, "    ")
    assert lines_of(body) == [2]
    assert is_proved(body)


def test_b5_both_ways_in_a_loop() -> None:
    body = "for b in range(3):\n" + indent(USE_X + USE_Y, "    ")
    assert lines_of(body) == [2, 5]
    assert is_proved(body)


def test_b5_before_a_loop_and_not_in_it() -> None:
    body = USE_X + "for b in range(3):\n" + indent(WRITE_Y + SYNC + READ_Y + SYNC, "    ")
    assert lines_of(body) == [4]
    assert is_proved(body)


def test_b4_no_barrier_within_a_divergent_branch() -> None:
    body = USE_X + "if tx < 32:\n" + indent("Y[tx] = A[tx]\nB[tx] = Y[tx]\n", "    ")
    assert lines_of(body) == [4]
    assert is_proved(body)


def test_b4_turns_within_a_divergent_branch_get_none() -> None:
    """A barrier that some threads never reach: better no proof than a kernel that hangs."""
    body = "if tx < 32:\n" + indent(WRITE_X + "B[tx] = X[31 - tx]\n" + WRITE_Y + READ_Y, "    ")
    assert lines_of(body) == []
    assert not is_proved(body)


def test_b1_a_barrier_in_one_arm_is_not_one_for_the_other() -> None:
    body = USE_X + "if bx < 1:\n" + indent(SYNC, "    ") + USE_Y
    assert lines_of(body) == [6]
    assert is_proved(body)


def test_uniform_arms_need_none_between_them() -> None:
    body = "if bx < 1:\n" + indent(USE_X, "    ") + "else:\n" + indent(USE_Y, "    ")
    assert lines_of(body) == []
    assert is_proved(body)


def test_b5_what_a_branch_does_behind_its_own_barrier_needs_none_before_it() -> None:
    body = USE_X + "if bx < 1:\n" + indent(SYNC + USE_Y, "    ")
    assert lines_of(body) == []
    assert is_proved(body)


def test_b5_a_barrier_that_was_needed_once_is_there_in_every_round() -> None:
    """X follows Y in the first round, and in the second a barrier for W. The one before X stays,
    and so V, which shares with W, needs none of its own."""
    x, y, v, w = (shared(name, 128) for name in "xyvw")
    loop = times(K, 4, store(y), store(w), store(x), store(v), Evaluate(BLOCK_BARRIER), store(v))
    needed = barriers_needed(tree_of(loop, buffers=(x, y, v, w)), {x: 0, y: 0, v: 128, w: 128})
    assert needed == {loop.body[1], loop.body[2]}


def test_b5_arms_an_iteration_apart() -> None:
    branch = "if b % 2 == 0:\n" + indent(USE_X, "    ") + "else:\n" + indent(USE_Y, "    ")
    body = "for b in range(4):\n" + indent(branch, "    ")
    assert lines_of(body)
    assert is_proved(body)


def test_b5_bytes_apart_need_nothing() -> None:
    kernel = kernel_of(USE_X + USE_Y)
    x, y = kernel.allocations("shared.dyn")
    assert barriers_needed(kernel, {x: 0, y: 512}) == set()


def test_b3_a_copy_in_flight_is_accessed_by_its_wait() -> None:
    """A barrier between the copy's start and its wait does not keep its bytes from Y."""
    copy = 'T.ptx_cp_async("float32", X.data, tx, A.data, tx, 4)\nT.ptx_commit_group()\n'
    body = copy + SYNC + "T.ptx_wait_group(0)\n" + WRITE_Y + SYNC + READ_Y
    assert lines_of(body) == [5]
    assert is_proved(body)


def test_threads_that_return_early_get_none() -> None:
    """A barrier that not all threads come by would hang."""
    body = USE_X + "if tx < 32:\n    T.thread_return()\n" + USE_Y
    assert lines_of(body) == []
    assert not is_proved(body)


@pytest.mark.parametrize(
    "scope",
    [
        "while X[0] < T.float32(1):\n",
        "for b in range(tx):\n",
        "for b in range(3):\n    if bx < 1:\n        T.break_loop()\n",
    ],
)
def test_b4_a_barrier_that_not_all_come_by_together_does_not_count(scope: str) -> None:
    """X is accessed in all of it, wherever the barrier in it stands; nor is one put there."""
    body = scope + indent(USE_X + SYNC, "    ") + USE_Y
    assert lines_of(body) == [body.count("\n") - 2]
    turns = scope + indent(USE_X + USE_Y, "    ")
    assert lines_of(turns) == []


def test_b6_a_barrier_in_a_loop_may_not_be_met() -> None:
    body = USE_X + "for b in range(3):\n" + indent(SYNC, "    ") + USE_Y
    assert lines_of(body) == [6]
    assert is_proved(body)


def test_plans_share_what_does_not_depend_on_them() -> None:
    kernel = kernel_of(USE_X + USE_Y)
    x, y = kernel.allocations("shared.dyn")
    needed = [len(barriers_needed(kernel, {x: 0, y: offset})) for offset in (0, 256, 512)]
    assert needed == [1, 1, 0]
    computed = facts_of(kernel).computed
    assert [computed[fact] for fact in ("KernelAccesses", "divergence", "BarrierFacts")] == [1] * 3


@pytest.mark.parametrize("body", [USE_X + USE_Y, USE_X + SYNC + USE_Y])
def test_only_barriers_are_added(body: str) -> None:
    kernel = kernel_of(body)
    needed = barriers_needed(kernel, dict.fromkeys(kernel.allocations("shared.dyn"), 0))
    before, after = (
        list(walk_statements(block)) for block in (kernel.body, with_barriers(kernel.body, needed))
    )
    assert len(after) == len(before) + len(needed)
