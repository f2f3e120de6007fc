"""Which late waits for an mbarrier's phase are tried earlier, and that one of them mends."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel, Stmt, Store, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.mender import mend
from smemreuse.mender.waits import wait_candidates
from smemreuse.semantics.table import evaluated_call
from tests.checker.small import SCOPE, SYNC, init_barrier, kernel_of, tma_load, under

DUMPS = Path(__file__).parents[2] / "fixtures" / "dumps"
BARRIERS = (
    'other = T.alloc_buffer((4,), "uint64", scope="shared.barrier")\n'
    'grid = T.alloc_buffer((2, 2), "uint64", scope="shared.barrier")\n'
)
LATE = ("full[0]", "full[1]", "full[k % 2]", "other[0]", "grid[0, 0]", "grid[0, 1]")


def load(barrier: str) -> str:
    expect = f"T.ptx_arrive_barrier_expect_tx({barrier}, 256)\n"
    return under("if tx == 0", expect + tma_load("As", barrier=barrier))


def load_and_read(kernel: Kernel) -> tuple[Stmt, Stmt]:
    """The statement that loads, and the one that stores what it reads to global memory."""
    statements = list(walk_statements(kernel.body))
    calls = ((one, evaluated_call(one)) for one in statements)
    (earlier,) = [one for one, call in calls if call is not None and call.op == "tma_load"]
    (later,) = [one for one in statements if isinstance(one, Store) and one.buffer.name == "O"]
    return earlier, later


@pytest.mark.parametrize(
    ("reported", "repeated"),
    [
        ("full[0]", ["full[0]", "full[k % 2]"]),
        ("full[k % 2]", ["full[0]", "full[1]", "full[k % 2]"]),
        ("grid[0, 0]", ["grid[0, 0]"]),
        ("other[1]", []),
    ],
)
def test_only_waits_for_what_may_be_the_same_mbarrier_are_repeated(
    reported: str, repeated: list[str]
) -> None:
    waits = "".join(f"T.mbarrier_wait_parity({one}, k % 2)\n" for one in LATE)
    kernel = kernel_of(
        under("for k in range(4)", load(reported) + "O[tx] = As[tx]\n" + waits), declared=BARRIERS
    )
    tree = StatementTree(kernel.body)
    tried = [
        text
        for candidate in wait_candidates(tree, "shared.dyn", "TMA load", *load_and_read(kernel))
        for edit in candidate.edits
        for text in edit.texts
    ]
    assert tried == [f"mbarrier_wait_parity({one}, k % 2)" for one in repeated]


def test_a_wait_that_comes_too_late_in_each_round_is_repeated_before_the_read() -> None:
    late = "O[tx] = As[tx]\nT.fence_proxy_async()\nT.mbarrier_wait_parity(full[0], k % 2)\n"
    body = under("for k in range(4)", load("full[0]") + late + SYNC)
    kernel = kernel_of(init_barrier(1) + body)
    found = mend(kernel, BarrierStage.PRESENT)
    (edit,) = found.edits
    assert edit.texts == ("mbarrier_wait_parity(full[0], k % 2)",)
    assert (edit.anchor, edit.side) == (load_and_read(kernel)[1], "before")
    assert found.after.clean


def test_a_late_warp_of_a_persistent_gemm_of_many_rounds_waits_no_more() -> None:
    """In 1,024 rounds the warps that wait no more hear of no load; each is replaced by the next."""
    text = (DUMPS / "persistent_gemm.sm_90a.tir").read_text()
    for few, rounds in (
        ("turn in range(4)", "turn in range(8)"),
        ("k in range(8)", "k in range(128)"),
    ):
        assert few in text
        text = text.replace(few, rounds)
    kernel = next(one for one in parse_dump(text).kernels if one.allocations(SCOPE))
    found = mend(kernel, BarrierStage.LATER)
    assert not found.before.clean
    assert found.after.clean
    assert [edit.texts for edit in found.edits] == [("if tx // 32 == 0",)]
