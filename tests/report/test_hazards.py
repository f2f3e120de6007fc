"""What is told of the hazards of kernels, of reports on fixtures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.report.hazard_exits import passing_lines
from smemreuse.report.hazards import CERTAIN as BY_PTX
from smemreuse.report.hazards import WHY_FENCES, Linted, certain_lines, lint_lines, shown_lines
from smemreuse.report.next_steps import after_lint
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import Contention, HazardKind, HazardOrigin, LintReport, doubt_words
from smemreuse.results.verdict import LIMIT_OF_WORK
from tests.conftest import ROOT
from tests.results.test_hazard_groups import CERTAIN

(RACE,) = read_dump(ROOT / "fixtures" / "lint" / "race_between_threads.tir").kernels


def report(*origins: HazardOrigin, certain: bool = True) -> LintReport:
    """With a hazard of each of these origins."""
    found = lint(RACE)
    (hazard,) = found.hazards
    made = (replace(hazard, origin=one, certain=certain) for one in origins)
    return replace(found, hazards=tuple(made))


OF_COMPILER = report(HazardOrigin.COMPILER, HazardOrigin.COMPILER)


COMPILERS = "hazards that the compiler generated do not set the exit code"
POSSIBLE = "possible hazards do not set the exit code (there is 1); with --fail-on possible they do"
OPEN = (
    "kernels not followed to the end do not set the exit code (there is 1); with --strict they do"
)


@pytest.mark.parametrize(
    ("found", "gate", "told"),
    [
        (
            OF_COMPILER,
            Gate(),
            [f"by default, {COMPILERS} (there are 2); with --fail-on compiler they do"],
        ),
        (OF_COMPILER, Gate(fail_on=FailOn.COMPILER), []),
        (report(HazardOrigin.COMPILER, HazardOrigin.AUTHOR), Gate(), []),
        (report(HazardOrigin.AUTHOR, certain=False), Gate(), [f"by default, {POSSIBLE}"]),
        (
            report(HazardOrigin.AUTHOR, certain=False),
            Gate(fail_on=FailOn.COMPILER),
            [f"with --fail-on compiler, {POSSIBLE}"],
        ),
        (report(HazardOrigin.AUTHOR, certain=False), Gate(fail_on=FailOn.POSSIBLE), []),
        (replace(report(), unknown=("a loop",)), Gate(), [f"by default, {OPEN}"]),
        (replace(report(), unknown=("a loop",)), Gate(strict=True), []),
        (report(), Gate(), []),
    ],
)
def test_what_does_not_fail_is_told(found: LintReport, gate: Gate, told: list[str]) -> None:
    lines = [line.plain for line in passing_lines([Linted("k.tir", found)], gate)]
    assert lines == [f"exit code 0: {one}" for one in told]


@pytest.mark.parametrize(
    ("found", "by_tilelang", "first"),
    [
        (OF_COMPILER, True, "next: to fix all in a build, compile the TileLang function inside"),
        (OF_COMPILER, False, "next (make all fixes in a copy of the dump): smemreuse lint k.tir"),
        (report(HazardOrigin.AUTHOR, certain=False), True, "next (draw what goes wrong): "),
    ],
)
def test_tilelang_makes_the_fixes_while_it_compiles(
    found: LintReport, *, by_tilelang: bool, first: str
) -> None:
    step = after_lint([Linted("k.tir", found, is_tilelang=by_tilelang)], Gate(), None)
    lines = [*step.lines(200)]
    assert lines[0].startswith(first)
    copy = "or (make all fixes in a copy of the dump): smemreuse lint k.tir --fix -o fixed.tir"
    assert lines[1:] == ([copy] if step.by_hand else [])


def test_a_possible_hazard_says_once_for_its_kind_when_it_is_none() -> None:
    told = [
        line.plain for line in lint_lines(Linted("k.tir", report(*HazardOrigin, certain=False)))
    ]
    doubt = f"    {doubt_words(HazardKind.RACE)}"
    assert doubt == (
        "    not proved either way: it is no hazard if, whatever the inputs are, the two accesses "
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


def test_each_possible_hazard_says_when_it_is_none() -> None:
    """Threads that write one element: the line of each, and not only of the first."""
    (race,) = report(HazardOrigin.AUTHOR, certain=False).hazards
    sites = (replace(race.site, line=line) for line in (69, 89))
    both = [
        replace(race, site=site, contention=how)
        for site, how in zip(sites, (Contention.ONE_ELEMENT, Contention.ELEMENTS), strict=True)
    ]
    found = Linted("k.tir", replace(report(), hazards=(*both, *both)))
    told = [line.plain for line in lint_lines(found) if "no hazard if" in line.plain]
    assert [one.partition("inputs are, ")[2] for one in told] == [
        "at most one thread comes to line 69, or all write the same value",
        "no two threads write the same element at line 89, or those that do write the same value",
    ]


def test_what_was_not_followed_leaves_more_hazards_open() -> None:
    found = replace(report(), unknown=(f"{LIMIT_OF_WORK}too long",))
    assert [line.plain for line in lint_lines(Linted("k.tir", found))][1] == (
        "  not followed to the end, so there may be more hazards: lint stopped at its limit of "
        "work: too long"
    )


def test_what_comes_after_an_operation_that_is_not_followed_is_unchecked() -> None:
    found = replace(report(), unknown=("`loop_break` (line 94) is not followed",))
    first, told = (line.plain for line in lint_lines(Linted("k.tir", found)))
    assert first.startswith("not followed to the end: k.tir: ")
    assert told.endswith(
        ": `loop_break` (line 94) is not followed, so what runs after it is unchecked"
    )


def test_what_certain_means_and_why_fences_are_needed_is_told_once() -> None:
    race, fence = (
        replace(CERTAIN, kind=kind) for kind in (HazardKind.RACE, HazardKind.MISSING_FENCE)
    )
    assert [one.plain for one in certain_lines([race, fence, fence])] == [BY_PTX, WHY_FENCES]
    assert [one.plain for one in certain_lines([race])] == [BY_PTX]
    assert [*certain_lines([])] == []
