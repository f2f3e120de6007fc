"""Verdicts as text."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.report.verdicts import findings, first_words, rules_lines, verdict_text
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, Violation, WitnessAct

BROKEN = Verdict(
    UNSOUND,
    (Violation(Rule.LOOP_CARRIED, ("As", "Cs"), "`x` overwrote it"),),
    ("a footprint",),
    ("barriers follow",),
)


def test_a_line_for_everything_that_was_found() -> None:
    assert [line.plain for line in findings(BROKEN)] == [
        "  rule 2 (loop-carried), As and Cs: `x` overwrote it",
        "  not covered: a footprint",
        "  the check assumes that barriers follow",
    ]


def test_rules_that_are_named_by_numbers_are_stated() -> None:
    told = ["in flight (rule 5)", "arms (rule 4)", "once more (rule 4)", "rule 2 is not named so"]
    assert [line.plain for line in rules_lines(told)] == [
        "rule 4: Branches on thread indices run concurrently; rule 5: Asynchronous accesses last "
        "until waited for; each rule in full: docs/soundness.md"
    ]
    assert [*rules_lines(["no barrier is possible"])] == []
    many = [f"(rule {rule.value})" for rule in Rule]
    assert [line.plain for line in rules_lines(many)] == ["each rule in full: docs/soundness.md"]


def test_the_first_finding_names_who_makes_its_accesses() -> None:
    acts = [WitnessAct(who, "writes byte 0", Site("x")) for who in ("thread 0", "thread 128")]
    order = Violation(Rule.BARRIER, ("As", "Cs"), "`x` is not ordered before `y`", tuple(acts))
    assert first_words(Verdict(UNSOUND, (order,))) == (
        "As and Cs: `x` is not ordered before `y`, by thread 0 and thread 128 (rule 6)"
    )
    alike = replace(order, acts=(acts[0], acts[0]))
    assert first_words(Verdict(UNSOUND, (alike,))).endswith("before `y`, both by thread 0 (rule 6)")
    assert first_words(BROKEN) == "As and Cs: `x` overwrote it (rule 2)"
    assert first_words(Verdict(UNPROVED, uncovered=("why",))) == "why"


def test_the_word_has_a_colour_of_its_own() -> None:
    shown = [verdict_text(Verdict(kind)) for kind in (SOUND, UNSOUND, UNPROVED)]
    assert [text.plain for text in shown] == ["sound", "unsound", "unproved"]
    assert len({str(text.style) for text in shown}) == 3
