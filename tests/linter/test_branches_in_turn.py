"""Branches of different threads, one after the other: who runs them together, who at once."""

from __future__ import annotations

from smemreuse.results.hazards import LintStatus
from tests.checker.small import ARRIVE, WAIT, init_barrier, kernel_of, under
from tests.linter.test_linter import report_on


def test_a_branch_of_one_thread_does_not_part_its_warp_in_the_branch_before() -> None:
    exchange = "As[tx] = tx\nT.sync_warp()\nO[tx] = As[31 - tx]\n"
    body = init_barrier(32) + under("if tx < 32", exchange + ARRIVE + WAIT)
    body += under("if tx == 0", "As[0] = 1\n")
    assert report_on(kernel_of(body)).status is LintStatus.CLEAN


def test_branches_behind_it_still_run_beside_each_other() -> None:
    """The first warp waits for what the second does in the last branch."""
    body = init_barrier(64) + init_barrier(32, "full[1]")
    body += under("if tx < 64", ARRIVE + WAIT)
    body += under("if tx < 32", WAIT.replace("full[0]", "full[1]"))
    body += under("if 32 <= tx and tx < 64", ARRIVE.replace("full[0]", "full[1]"))
    assert report_on(kernel_of(body, threads=96)).status is LintStatus.CLEAN
