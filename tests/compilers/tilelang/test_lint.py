"""Lint on the IR behind `ThreadSync` says what it says of the dump before it."""

from __future__ import annotations

from typing import Any

import pytest

import smemreuse.tilelang
from fixtures.benchmarks import BENCHMARKS
from fixtures.kernels import FIXTURES
from smemreuse.audit import BarrierStage, barriers_follow
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport, LintStatus
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang

KERNELS = (
    *(("gemm", "sm_80"), ("gemm", "sm_90a"), ("batched_gemm", "sm_90a"), ("stream_k", "sm_80")),
    *(("flash_attention", "sm_90a"), ("divergent_arms", "sm_80"), ("piecewise_fill", "sm_80")),
    *(("tma_store_in_flight", "sm_90a"), ("rotating_stages", "sm_80")),
)


def reports(func: Any, arch: str, configs: dict[str, object]) -> tuple[LintReport, LintReport]:
    """Of the only kernel, as text before the merge, and as live IR with its barriers."""
    with smemreuse.tilelang.merge() as session:
        lowered = lower(func, arch, configs)
    (before,) = parse_dump(lowered.before.script()).kernels
    (kernel,) = session.kernels
    assert barriers_follow(before, BarrierStage.AUTO)
    assert kernel.lint is not None
    return lint(before), kernel.lint()


def test_a_barrier_to_come_is_counted_on_under_conditions_on_data() -> None:
    """If there are data with which the pass sees threads collide."""
    fixture: Any = FIXTURES["while_table"]
    before, behind = reports(fixture.make(**fixture.configs["small"]), "sm_80", {})
    assert before.clean
    assert behind.clean


def found_in(report: LintReport) -> list[tuple[str, tuple[str, ...], bool]]:
    return sorted((one.kind.value, one.buffers, one.certain) for one in report.hazards)


@pytest.mark.parametrize(("name", "arch"), KERNELS)
def test_clean_before_and_behind(name: str, arch: str) -> None:
    fixture: Any = FIXTURES[name]
    before, behind = reports(fixture.make(**fixture.configs["small"]), arch, {})
    assert (before.barriers_follow, behind.barriers_follow) == (True, False)
    assert before.status is behind.status
    assert found_in(before) == found_in(behind)


def test_what_is_missing_is_missing_in_both() -> None:
    """No pass of TileLang's puts these fences in, or keeps producers in step."""
    benchmark = BENCHMARKS["chunk_scan"]
    func = benchmark.make(**benchmark.config("64x64x64"))
    before, behind = reports(func, "sm_90a", dict(benchmark.pass_configs))
    assert before.status is behind.status is LintStatus.HAZARDS
    assert found_in(before) == found_in(behind)
    assert {kind for kind, _, _ in found_in(behind)} == {"missing-fence", "missed-phase"}
