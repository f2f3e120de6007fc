"""Verdicts, and what is known of two buffers' sharing."""

from __future__ import annotations

import json

import pytest

from smemreuse.results.explanation import Cause, Explanation, Sharing
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import (
    SOUND,
    UNPROVED,
    UNSOUND,
    Verdict,
    VerdictKind,
    Violation,
)
from tests.report.made import A, B

CARRIED = Cause(Rule.LOOP_CARRIED, "rule 2: carried")
ARMS = Cause(Rule.DIVERGENT_ARMS, "rule 4: arms")
NO_BARRIER = Cause(Rule.BARRIER, "rule 6: none")
TOGETHER = Cause(None, "live together")


def test_the_words_are_the_values() -> None:
    assert [str(kind) for kind in VerdictKind] == ["sound", "unsound", "unproved"]
    assert f"{UNSOUND}" == json.loads(json.dumps(UNSOUND)) == "unsound"


def test_doubts_take_a_proof_away_and_no_witness() -> None:
    violation = Violation(Rule.BARRIER, ("As", "Bs"), "?")
    assert Verdict(SOUND).doubted(()) == Verdict(SOUND)
    assert Verdict(SOUND).doubted(("why",)) == Verdict(UNPROVED, uncovered=("why",))
    doubted = Verdict(UNSOUND, (violation,)).doubted(("why",))
    assert (doubted.verdict, doubted.violations) == (UNSOUND, (violation,))


def test_a_verdict_is_shown_on_one_line() -> None:
    violations = tuple(Violation(rule, ("A",), "?") for rule in (Rule(2), Rule(6), Rule(2)))
    assert repr(Verdict(SOUND)) == "Verdict(sound)"
    assert repr(Verdict(UNPROVED, violations, ("why", "why"))) == (
        "Verdict(unproved, rule 2, rule 6, 2 not covered)"
    )


def test_the_first_thing_that_speaks_against_it() -> None:
    broken = Verdict(UNSOUND, (Violation(Rule(2), ("As", "Cs"), "`x` overwrote it"),), ("why",))
    assert (
        broken.refusal == "not applied, unsound: rule 2 (loop-carried), As and Cs: `x` overwrote it"
    )
    assert Verdict(UNPROVED, uncovered=("why", "more")).first_finding == "why"
    assert Verdict(SOUND).first_finding == "sound"


@pytest.mark.parametrize(
    ("causes", "verdict", "sharing", "forbidden_by"),
    [
        ((), SOUND, Sharing.MAY, ""),
        ((), UNPROVED, Sharing.NOT_PROVED, "the checker: unproved"),
        ((), UNSOUND, Sharing.MUST_NOT, "the checker: unsound"),
        ((CARRIED,), SOUND, Sharing.NOT_PROVED, "rule 2: loop-carried"),
        ((CARRIED,), UNSOUND, Sharing.MUST_NOT, "rule 2: loop-carried"),
        ((CARRIED, NO_BARRIER), SOUND, Sharing.MUST_NOT, "rule 2: loop-carried"),
        ((TOGETHER,), UNPROVED, Sharing.MUST_NOT, "live together"),
        ((TOGETHER,), SOUND, Sharing.NOT_PROVED, "live together"),
        ((TOGETHER, ARMS), UNPROVED, Sharing.NOT_PROVED, "live together"),
    ],
)
def test_only_what_is_certain_is_forbidden(
    causes: tuple[Cause, ...], verdict: VerdictKind, sharing: Sharing, forbidden_by: str
) -> None:
    found = Explanation((A, B), ("As", "Bs"), (None, None), causes, (), Verdict(verdict))
    assert (found.sharing, found.forbidden_by) == (sharing, forbidden_by)
    assert found.may_share is (sharing is Sharing.MAY)


@pytest.mark.parametrize(
    ("causes", "verdict", "told"),
    [
        ((), SOUND, ""),
        ((), UNPROVED, "the checker has no proof that neither would overwrite the other"),
        ((), UNSOUND, "at one place one would overwrite the other"),
        ((TOGETHER,), UNPROVED, "live together"),
        (
            (TOGETHER,),
            SOUND,
            "their live ranges overlap, so that no plan lets them share; the checker proves that "
            "sharing at one offset would be sound",
        ),
        (
            (TOGETHER, ARMS),
            UNPROVED,
            "live at the same time by the order of the text, which concurrent branches need not "
            "keep; the checker has neither a proof nor a counterexample",
        ),
    ],
)
def test_people_are_told_what_keeps_two_apart_and_how_certain_that_is(
    causes: tuple[Cause, ...], verdict: VerdictKind, told: str
) -> None:
    found = Explanation((A, B), ("As", "Bs"), (None, None), causes, (), Verdict(verdict))
    assert found.kept_apart_by == told
