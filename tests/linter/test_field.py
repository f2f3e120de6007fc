"""Bugs of kernels in the field: `lint` finds each in its shape, and calls the fixed kernel clean.

What it does not do yet is marked in the index, and each mark has to go when it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures.field.table import PAGE, Row, index, rendered
from smemreuse.audit import BarrierStage
from smemreuse.linter import lint
from smemreuse.results.hazards import HazardKind, LintReport
from tests.conftest import ROOT
from tests.dumps import kernels_of

DUMPS = ROOT / "fixtures" / "field" / "dumps"


@dataclass(frozen=True)
class Case:
    """A kernel with a bug: the hazard to be found, and why it is not, if so; `alarm` is why the
    fixed kernel beside it is not clean."""

    name: str
    kind: HazardKind
    buffers: tuple[str, ...]
    certain: bool
    missed: str
    alarm: str

    def __str__(self) -> str:
        return self.name

    def report(self, side: str) -> LintReport:
        (kernel,) = kernels_of(DUMPS / f"{self.name}.{side}.tir")
        return lint(kernel, BarrierStage.PRESENT)


def _case(name: str, row: Row) -> Case:
    buffers = (row["buffer"],) if row["buffer"] else ()
    kind, certain = HazardKind(row["kind"]), bool(row["certain"])
    return Case(name, kind, buffers, certain, row.get("missed", ""), row.get("alarm", ""))


INDEX = index()
SEEN = [_case(name, entry["found"]) for name, entry in INDEX.items()]
VARIED = [_case(f"{name}.varied", entry["varied"]) for name, entry in INDEX.items()]
CASES = [*SEEN, *VARIED]


def test_the_index_has_every_pair() -> None:
    files = {f"{case}.{side}.tir" for case in CASES for side in ("before", "after")}
    assert {path.name for path in DUMPS.glob("*")} == files


@pytest.mark.parametrize("name", INDEX)
def test_each_bug_was_seen_somewhere(name: str) -> None:
    entry = INDEX[name]
    assert entry["bug"]
    for place in entry["seen"]:
        repository, _, number = place.partition("#")
        assert repository.count("/") == 1
        assert number.isdigit()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bug_is_found(case: Case) -> None:
    report = case.report("before")
    told = [(one.kind, one.buffers, one.certain) for one in report.hazards]
    found = (case.kind, case.buffers, case.certain) in told
    assert found is not bool(case.missed), told or report.unknown


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fixed_kernel_is_clean(case: Case) -> None:
    report = case.report("after")
    assert report.clean is not bool(case.alarm), report.hazards or report.unknown


def test_nine_of_ten_bugs_as_they_were_seen_are_found() -> None:
    found = [case for case in SEEN if not case.missed]
    assert len(found) >= 0.9 * len(SEEN)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bug_and_its_fix_are_two_kernels(case: Case) -> None:
    before, after = (Path(DUMPS / f"{case}.{side}.tir").read_text() for side in ("before", "after"))
    assert before != after


def test_the_page_has_the_tables_of_the_index() -> None:
    page = PAGE.read_text()
    assert rendered(page) == page, "run fixtures.field.table"
