"""However little may be done: what is not followed is said, and nothing is raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.checker.budget import Work
from smemreuse.checker.verdict.check import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.linter.linter import grounds_of, lint_apart, taken_apart
from smemreuse.mender import mender
from smemreuse.results.hazards import LintStatus
from tests.checker.small import SCOPE

DUMPS = Path(__file__).parents[2] / "fixtures" / "dumps"
LIMITS = [0, *(10**power for power in range(3, 10))]


def _kernel(name: str) -> Kernel:
    kernels = parse_dump((DUMPS / f"{name}.tir").read_text()).kernels
    return next(one for one in kernels if one.allocations(SCOPE))


@pytest.mark.parametrize("name", ["batched_gemm.sm_90a", "stream_k.sm_80"])
@pytest.mark.parametrize("later", [False, True])
def test_lint_says_what_it_has_not_followed(name: str, later: bool) -> None:
    kernel = _kernel(name)
    reports = [lint_apart(taken_apart(kernel), later, Work(limit)) for limit in LIMITS]
    assert reports[0].status is LintStatus.UNKNOWN
    assert any("budget" in reason for reason in reports[0].unknown)
    assert reports[-1].unknown == ()


@pytest.mark.parametrize("later", [False, True])
def test_the_checker_says_what_it_has_not_followed(later: bool) -> None:
    kernel = _kernel("batched_gemm.sm_90a")
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    for limit in LIMITS:
        verdict = check_plan(
            kernel, SCOPE, offsets, 1 << 20, {}, assume_barriers=later, work=Work(limit)
        )
        assert not verdict.sound
        assert verdict.uncovered or verdict.violations


@pytest.mark.parametrize("limit", LIMITS)
def test_a_mend_that_is_not_tried_to_the_end_is_not_put_in(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(mender, "OF_MENDING", limit)
    found = mender.mend(_kernel("batched_gemm.sm_90a"), BarrierStage.LATER)
    assert found.after.clean or not found.mends


def test_preconditions_say_whether_lint_had_less_work_than_by_itself() -> None:
    kernel = _kernel("batched_gemm.sm_90a")
    assert grounds_of(kernel, most=1).is_bounded
    assert not grounds_of(kernel).is_bounded
