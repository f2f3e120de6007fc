"""Which findings an entry accepts, and that it hides no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.accepted import Acceptance, Acceptances, Accepted, Identity, numbers_of
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, Mend, Remedy
from smemreuse.results.sites import Site

WHY = Accepted("both write the same", "smemreuse.toml, line 1")
FOUND = Identity("a/b.tir", "main_kernel", "race", ("As", "Bs"), "0123456789abcdef")
PLAN = replace(FOUND, kind="unproved-plan", fingerprint="plan-0123456789abcdef")


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"finding": "01234567"}, True),
        ({"finding": "0123456789abcdef"}, True),
        ({"finding": "01234568"}, False),
        ({"finding": "01234567-1of2"}, False),
        ({"finding": "plan-01234567"}, False),
        ({"kernel": "main_kernel"}, True),
        ({"kernel": "main_*"}, True),
        ({"kernel": "main"}, False),
        ({"kernel": "MAIN_*"}, False),
        ({"kind": "race"}, True),
        ({"kind": "missing-wait"}, False),
        ({"buffer": "Bs"}, True),
        ({"buffer": "Cs"}, False),
        ({"file": "b.tir"}, True),
        ({"file": "a/*.tir"}, True),
        ({"file": "c/b.tir"}, False),
        ({"finding": "01234567", "kind": "race", "kernel": "m*", "buffer": "As"}, True),
        ({"finding": "01234567", "buffer": "Cs"}, False),
    ],
    ids=str,
)
def test_an_entry_covers_what_fits_all_of_it(entry: dict[str, str], covered: bool) -> None:
    assert Acceptance(WHY, **entry).covers(FOUND) is covered


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"finding": "plan-01234567"}, True),
        ({"kind": "unproved-plan"}, True),
        ({"kind": "unsound-plan"}, False),
        ({"kernel": "*"}, False),
        ({"finding": "01234567"}, False),
    ],
    ids=str,
)
def test_a_plan_is_accepted_only_as_one(entry: dict[str, str], covered: bool) -> None:
    assert Acceptance(WHY, **entry).covers(PLAN) is covered


def test_the_number_says_how_many_there_are() -> None:
    assert numbers_of(["a", "b", "a"]) == ["-1of2", "", "-2of2"]


def hazard(line: int, statement: str = "As[0] = 1", certain: bool = True) -> Hazard:
    mend = Mend(Remedy.BARRIER, "put in a barrier.")
    return Hazard(HazardKind.RACE, certain, Site(statement, line), ("As",), "they race", mend)


def test_of_two_alike_one_is_accepted_and_never_the_other_in_its_place() -> None:
    report = LintReport("k", False, (hazard(9), hazard(5, certain=False)))
    second, first = report.identities()
    assert (first.number, second.number) == ("-1of2", "-2of2")  # in program order
    entries = Acceptances([Acceptance(WHY, finding=first.short)])
    assert [one.accepted for one in report.held_against(entries).hazards] == [None, WHY]
    left = LintReport("k", False, (hazard(9),)).held_against(entries)
    assert left.accepted == 0
    assert Gate().fails(left.hazards, ())


def test_what_is_accepted_fails_nowhere() -> None:
    entries = Acceptances([Acceptance(WHY, kind="race")])
    report = LintReport("k", False, (hazard(9),)).held_against(entries)
    for gate in (Gate(), Gate(strict=True), Gate(fail_on=FailOn.POSSIBLE)):
        assert not gate.fails(report.hazards, ())
    assert Gate(strict=True).fails(report.hazards, ("something is not followed",))


def test_an_entry_is_stale_that_has_accepted_nothing() -> None:
    here, gone, elsewhere = (
        Acceptance(WHY, kind="race"),
        Acceptance(WHY, finding="ffffffff"),
        Acceptance(WHY, kernel="other"),
    )
    entries = Acceptances([here, gone, elsewhere])
    assert entries.of(FOUND) is WHY
    assert [*entries.stale([("a/b.tir", "main_kernel")])] == [(gone, True), (elsewhere, False)]


def test_each_of_two_entries_for_one_finding_counts_as_used() -> None:
    entries = Acceptances([Acceptance(WHY, kind="race"), Acceptance(WHY, buffer="As")])
    assert entries.of(FOUND) is WHY
    assert not [*entries.stale([])]
