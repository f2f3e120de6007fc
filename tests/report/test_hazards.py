"""What is told of the hazards of kernels, of reports on fixtures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.report.hazards import Linted, passing_line
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import HazardOrigin, LintReport
from tests.conftest import ROOT

(RACE,) = read_dump(ROOT / "fixtures" / "lint" / "race_between_threads.tir").kernels


def report(*origins: HazardOrigin, certain: bool = True) -> LintReport:
    """With a hazard of each of these origins."""
    found = lint(RACE)
    (hazard,) = found.hazards
    made = (replace(hazard, origin=one, certain=certain) for one in origins)
    return replace(found, hazards=tuple(made))


OF_COMPILER = report(HazardOrigin.COMPILER, HazardOrigin.COMPILER)


@pytest.mark.parametrize(
    ("found", "gate", "told"),
    [
        (OF_COMPILER, Gate(), "2 certain hazards that the compiler generated do not fail"),
        (
            report(HazardOrigin.COMPILER),
            Gate(),
            "1 certain hazard that the compiler generated does",
        ),
        (OF_COMPILER, Gate(fail_on=FailOn.COMPILER), None),
        (report(HazardOrigin.COMPILER, HazardOrigin.AUTHOR), Gate(), None),
        (report(HazardOrigin.AUTHOR, certain=False), Gate(), None),
        (report(), Gate(), None),
    ],
)
def test_certain_hazards_that_do_not_fail_are_told(
    found: LintReport, gate: Gate, told: str | None
) -> None:
    line = passing_line([Linted("k.tir", found)], gate)
    assert (line is None) == (told is None)
    if line is not None and told is not None:
        assert line.plain.startswith(f"exit code 0: {told}")
