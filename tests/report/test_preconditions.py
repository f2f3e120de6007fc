"""What a sound plan rests on, told of reports made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.report.preconditions import (
    PROVED,
    assumed_where,
    grounds_data,
    grounds_lines,
    own_hazard_words,
    refutation_words,
)
from smemreuse.results.hazards import AssumedAt, HazardKind, HazardOrigin, LintReport
from smemreuse.results.preconditions import Assumption, Preconditions, condition_words
from smemreuse.results.verdict import BARRIERS_FOLLOW, SOUND, Verdict
from tests.report.test_mending import AFTER, BEFORE, HAZARD


def lines(report: LintReport) -> list[str]:
    return [line.plain for line in grounds_lines(Preconditions(report))]


def test_of_a_clean_kernel_nothing_is_assumed() -> None:
    assert Preconditions(AFTER).proved
    assert lines(AFTER) == [f"  {PROVED}"]
    data = grounds_data(Preconditions(AFTER))
    assert data == {"lint": "clean", "proved": True, "open": [], "assumptions": []}


def test_a_hazard_leaves_what_it_speaks_against() -> None:
    assert lines(BEFORE) == [
        "  the proof assumes that the unmerged kernel has no data race and waits for each "
        "asynchronous access; lint refutes that (race between lines 4 and 7 (As))"
    ]
    possible = replace(BEFORE, hazards=(replace(HAZARD, certain=False),))
    assert lines(possible)[0].startswith("  the proof assumes that the unmerged kernel has no")
    assert not Preconditions(possible).proved


def test_what_was_not_followed_leaves_everything_open() -> None:
    unknown = replace(BEFORE, unknown=("a budget",))
    found = Preconditions(unknown).open
    assert [one.assumption for one in found] == list(Assumption)
    assert [one.refuted for one in found] == [True, *[False] * (len(Assumption) - 1)]
    assert found[1].why == "not followed: a budget"


def test_a_refuted_assumption_comes_first_and_others_by_their_reason() -> None:
    unknown = replace(BEFORE, unknown=("budget: too long",))
    first, second, *rest = lines(unknown)
    assert first.endswith("lint refutes that (race between lines 4 and 7 (As))")
    reason = "it cannot follow the whole kernel: lint stopped at its limit of work: too long"
    assert second == f"  the proof assumes the following, which lint does not prove ({reason}):"
    assert rest == [f"    {one.assumption.sentence}" for one in Preconditions(unknown).open[1:]]


def test_where_lint_had_less_work_than_by_itself_the_verb_is_named() -> None:
    bounded = Preconditions(replace(AFTER, unknown=("budget: too long",)), is_bounded=True)
    first, *_ = (line.plain for line in grounds_lines(bounded))
    assert first.endswith(
        "(it stops early beside a layout; run `smemreuse lint FILE`, which goes on longer):"
    )


def test_of_several_hazards_against_one_assumption_the_others_are_counted() -> None:
    two = replace(BEFORE, hazards=(HAZARD, replace(HAZARD, buffers=("Bs",))))
    assert lines(two)[0].endswith("lint refutes that (race between lines 4 and 7 (As), and 1 more)")


def test_what_the_layout_has_told_of_a_refutation_is_not_told_again() -> None:
    unknown = Preconditions(replace(BEFORE, unknown=("a budget",)))
    first, *_ = (line.plain for line in grounds_lines(unknown, refuted=False))
    assert first.startswith("  the proof assumes the following, which lint does not prove")
    assert list(grounds_lines(Preconditions(BEFORE), refuted=False)) == []


def test_the_hazard_that_refutes_a_proof_is_named_in_words() -> None:
    fence = replace(HAZARD, kind=HazardKind.MISSING_FENCE)
    refuted = Preconditions(replace(BEFORE, hazards=(fence,)))
    assert refutation_words(refuted) == ("a proxy fence is missing between lines 4 and 7 (As)")
    alone = replace(fence, other=None, buffers=())
    refuted = Preconditions(replace(BEFORE, hazards=(alone,)))
    assert refutation_words(refuted) == "a proxy fence is missing at line 7"
    three = Preconditions(replace(BEFORE, hazards=(alone,) * 3))
    among = ", one of the 3 hazards that lint finds"
    assert refutation_words(three) == f"a proxy fence is missing at line 7{among}"
    possible = replace(BEFORE, hazards=(replace(fence, certain=False),))
    assert refutation_words(Preconditions(possible)) == ""
    assert refutation_words(None) == ""


def test_a_verdict_says_what_has_to_come_yet() -> None:
    refuted, clean = Preconditions(BEFORE), Preconditions(AFTER)
    later = Verdict(SOUND, assumptions=(BARRIERS_FOLLOW,))
    fixed = "the kernel's own hazards are fixed"
    assert condition_words(later, refuted) == f", if ThreadSync follows and {fixed}"
    assert condition_words(Verdict(SOUND), refuted) == f", if {fixed}"
    assert condition_words(later, clean) == ", if ThreadSync follows"
    assert condition_words(Verdict(SOUND), None) == ""


def test_what_lint_takes_for_granted_stays_so() -> None:
    assumed = replace(AFTER, assumptions=("one thing",))
    assert not Preconditions(assumed).proved
    assert lines(assumed) == ["  the proof assumes that one thing"]


def test_where_nothing_rests_on_it_nothing_is_told() -> None:
    assert list(grounds_lines(None)) == []
    assert grounds_data(None) is None


@pytest.mark.parametrize("kind", HazardKind)
def test_every_kind_of_hazard_speaks_against_one_assumption(kind: HazardKind) -> None:
    """But for a warp that is late: with the plan it does what it does without (rule 13)."""
    expected = 0 if kind is HazardKind.MISSED_PHASE else 1
    assert len([one for one in Assumption if kind in one.kinds]) == expected


def test_a_warp_that_misses_a_phase_leaves_a_plan_proved() -> None:
    late = replace(BEFORE, hazards=(replace(HAZARD, kind=HazardKind.MISSED_PHASE),))
    assert Preconditions(late).proved
    (told,) = lines(late)
    assert told.endswith(
        ": a wait can hang between lines 4 and 7 (As): missed-phase (certain by PTX; in the "
        "source); sharing adds none"
    )


def test_of_hazards_a_certain_one_is_named_and_the_others_are_counted() -> None:
    doubted = replace(HAZARD, certain=False)
    generated = replace(HAZARD, kind=HazardKind.MISSED_PHASE, origin=HazardOrigin.COMPILER)
    many = replace(BEFORE, hazards=(doubted, generated, doubted))
    sure = "missed-phase (certain by PTX; generated by the compiler)"
    first = f"a wait can hang between lines 4 and 7 (As): {sure}"
    assert own_hazard_words(many) == f"{first}, and 2 more hazards"
    assert own_hazard_words(AFTER) == ""


def test_the_buffers_and_lines_of_an_assumption_are_named() -> None:
    at = [AssumedAt("it is so", "As", 3), AssumedAt("it is so", "As", 5), AssumedAt("else", "Bs")]
    report = LintReport("k", barriers_follow=True, assumed_at=(*at, AssumedAt("it is so", "Cs")))
    assert assumed_where(report, "it is so") == ": As (lines 3, 5), Cs"
    assert assumed_where(report, "else") == ": Bs"
    assert assumed_where(report, "of all") == ""
    many = tuple(AssumedAt("it is so", f"B{number}", number) for number in range(1, 7))
    told = assumed_where(replace(report, assumed_at=many), "it is so")
    assert told == ": B1 (line 1), B2 (line 2), B3 (line 3), B4 (line 4), 2 more"
