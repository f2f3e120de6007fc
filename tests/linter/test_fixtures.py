"""Each kind of hazard is found where it is, and the mended kernel is clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport, LintStatus, Remedy
from tests.conftest import ROOT
from tests.dumps import kernels_of

FIXTURES = ROOT / "fixtures" / "lint"

FOUND = {
    "uninitialised_state": ("uninitialised-read", 22, "As", Remedy.WRITE),
    "uninitialised_part": ("uninitialised-read", 24, "As", Remedy.WRITE),
    "race_between_threads": ("race", 23, "As", Remedy.BARRIER),
    "race_round_the_loop": ("race", 21, "As", Remedy.BARRIER),
    "race_of_one_statement": ("race", 20, "As", Remedy.CODE),
    "race_of_two_types": ("race", 24, "As", Remedy.BARRIER),
    "race_of_a_partial_barrier": ("race", 23, "As", Remedy.BARRIER),
    "released_too_early": ("race", 29, "Bs", Remedy.BARRIER),
    "cp_async_not_waited_for": ("missing-wait", 24, "As", Remedy.WAIT),
    "tma_load_not_waited_for": ("missing-wait", 28, "As", Remedy.WAIT),
    "tma_store_not_waited_for": ("missing-wait", 21, "As", Remedy.WAIT),
    "refilled_without_fence": ("missing-fence", 30, "As", Remedy.FENCE),
    "stored_without_fence": ("missing-fence", 23, "As", Remedy.FENCE),
    "barrier_in_a_branch": ("barrier-divergence", 24, None, Remedy.CODE),
    "phase_that_never_comes": ("barrier-deadlock", 28, "mbarrier", Remedy.CODE),
    "parity_that_never_comes": ("barrier-deadlock", 28, "mbarrier", Remedy.CODE),
    "arrivals_that_are_missing": ("barrier-deadlock", 28, "mbarrier", Remedy.CODE),
    "replicas_that_differ": ("race", 20, "As", Remedy.CODE),
    "copies_to_one_place": ("race", 20, "As", Remedy.CODE),
    "elements_that_overlap": ("race", 20, "As", Remedy.CODE),
    "index_that_data_decide": ("race", 22, "As", Remedy.CODE),
    "race_with_a_bulk_store": ("race", 23, "As", Remedy.BARRIER),
    "race_of_two_groups_round_the_loop": ("race", 25, "As", Remedy.BARRIER),
    "overwritten_across_stages": ("race", 25, "As", Remedy.BARRIER),
    "reused_by_a_view_without_barrier": ("race", 29, "arena", Remedy.BARRIER),
    "written_and_handed_over_with_copies": ("race", 29, "As", Remedy.BARRIER),
    "last_round_not_waited_for": ("missing-wait", 28, "As", Remedy.WAIT),
    "waited_for_in_the_loop_alone": ("missing-wait", 27, "As", Remedy.WAIT),
    "accumulator_not_waited_for": ("missing-wait", 32, "acc", Remedy.WAIT),
    "copied_without_fence": ("missing-fence", 31, "As", Remedy.FENCE),
    "sparse_wgmma_without_fence": ("missing-fence", 30, "As", Remedy.FENCE),
    "wait_that_comes_too_late": ("barrier-deadlock", 27, "mbarrier", Remedy.CODE),
    "warp_that_is_late": ("missed-phase", 27, "mbarrier", Remedy.NARROW),
    "index_out_of_bounds": ("out-of-bounds", 24, "As", Remedy.CODE),
}
BY_SCHEDULE = {"parity_that_never_comes", "wait_that_comes_too_late"}
BY_DATA = {"copies_to_one_place", "elements_that_overlap", "index_that_data_decide"}


def report_on(path: Path, barriers: BarrierStage = BarrierStage.PRESENT) -> LintReport:
    (kernel,) = kernels_of(path)
    return lint(kernel, barriers)


def test_every_fixture_is_tested() -> None:
    assert {path.stem for path in FIXTURES.glob("*.tir") if "mended" not in path.name} == set(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_a_hazard_is_found_at_its_line(name: str) -> None:
    kind, line, buffer, remedy = FOUND[name]
    report = report_on(FIXTURES / f"{name}.tir")
    (hazard,) = report.hazards
    assert (hazard.kind.value, hazard.site.line) == (kind, line)
    assert hazard.buffers == (() if buffer is None else (buffer,))
    assert hazard.is_unconditional is (name not in BY_SCHEDULE | BY_DATA)
    assert hazard.mend.remedy is remedy
    assert hazard.mend.sentence.endswith(".")
    assert f"line {line}" in f"{hazard.witness} {hazard.mend.sentence}"


def test_a_race_names_the_lower_thread_first_in_every_run() -> None:
    """The order of the threads comes from no hash of an address: each read has other objects."""
    path = FIXTURES / "copies_to_one_place.tir"
    kernels = [read_dump(path).kernels[0] for _ in range(8)]  # all kept: no address is used twice
    reports = [lint(kernel, BarrierStage.PRESENT) for kernel in kernels]
    assert {hazard.agents for report in reports for hazard in report.hazards} == {
        ("cp.async of thread 0", "cp.async of thread 1")
    }


@pytest.mark.parametrize("name", FOUND)
def test_the_mended_kernel_is_clean(name: str) -> None:
    report = report_on(FIXTURES / f"{name}.mended.tir")
    assert (report.hazards, report.unknown) == ((), ())
    assert report.clean


LATER = (
    "race_between_threads",
    "race_of_two_types",
    "race_round_the_loop",
    "race_with_a_bulk_store",
    "race_of_two_groups_round_the_loop",
    "overwritten_across_stages",
    "stored_without_fence",
    "copied_without_fence",
    "sparse_wgmma_without_fence",
    "barrier_in_a_branch",
)


@pytest.mark.parametrize("name", LATER)
def test_what_a_later_pass_inserts_is_not_missed(name: str) -> None:
    """Barriers and the fences behind generic writes; not those behind reads. A barrier in a branch
    becomes one of the threads there."""
    report = report_on(FIXTURES / f"{name}.tir", BarrierStage.LATER)
    assert report.barriers_follow
    assert report.clean


MAY_MEET = ("race_of_a_partial_barrier", "reused_by_a_view_without_barrier")
"""Where a later pass may put a barrier: it is not known what it sees of them."""


@pytest.mark.parametrize("name", MAY_MEET)
def test_what_a_later_pass_may_mend_is_possible(name: str) -> None:
    report = report_on(FIXTURES / f"{name}.tir", BarrierStage.LATER)
    assert report.status is LintStatus.POSSIBLE


@pytest.mark.parametrize("name", [name for name in FOUND if name not in (*LATER, *MAY_MEET)])
def test_what_no_later_pass_mends_is_found_before_it_too(name: str) -> None:
    report = report_on(FIXTURES / f"{name}.tir", BarrierStage.LATER)
    kind, line, _, _ = FOUND[name]
    assert report.status in (LintStatus.HAZARDS, LintStatus.POSSIBLE)
    assert (kind, line) in {(one.kind.value, one.site.line) for one in report.hazards}


def test_a_wait_that_is_for_some_alone_is_named_as_its_statement_has_it() -> None:
    """An index that changes with the loop is not that of one iteration."""
    text = (FIXTURES / "warp_that_is_late.tir").read_text()
    text = text.replace("wait_parity(mbarrier_1[1]", "wait_parity(mbarrier_1[k // 8 + 1]")
    (kernel,) = parse_dump(text).kernels
    (hazard,) = lint(kernel).hazards
    told = (
        "let only threads 0-31 wait at line 27, for mbarrier_1[k // 8 + 1]: these are never "
        "late, as no phase of it ends before they have waited for the phase before; other warps "
        "need not wait."
    )
    assert hazard.mend.sentence == told
