"""What is told of the hazards of kernels, of reports on fixtures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.report.hazards import Linted, lint_lines, passing_line, shown_lines
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import HazardKind, HazardOrigin, LintReport, doubt_words
from smemreuse.results.verdict import LIMIT_OF_WORK
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


def test_a_possible_hazard_says_once_for_its_kind_when_it_is_none() -> None:
    told = [
        line.plain for line in lint_lines(Linted("k.tir", report(*HazardOrigin, certain=False)))
    ]
    doubt = f"    {doubt_words(HazardKind.RACE)}"
    assert doubt == (
        "    lint did not prove it: no hazard if, whatever the inputs are, the two accesses "
        "touch no common byte, or something orders them"
    )
    assert told.count(doubt) == 1
    assert told[told.index(doubt) - 1].startswith("    fix: ")
    certain = [line.plain for line in lint_lines(Linted("k.tir", OF_COMPILER))]
    assert doubt not in certain
    assert len({doubt_words(kind) for kind in HazardKind}) == len(HazardKind)


def test_a_timeline_says_it_too() -> None:
    found = Linted("k.tir", report(HazardOrigin.AUTHOR, certain=False))
    ((_, identity),) = found.told
    assert [*shown_lines(found, identity.short)][-1].plain == doubt_words(HazardKind.RACE)


def test_what_was_not_followed_leaves_more_hazards_open() -> None:
    found = replace(report(), unknown=(f"{LIMIT_OF_WORK}too long",))
    assert [line.plain for line in lint_lines(Linted("k.tir", found))][1] == (
        "  not followed to the end, so there may be more hazards: lint stopped at its limit of "
        "work: too long"
    )
