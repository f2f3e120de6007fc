"""Verdicts as text."""

from __future__ import annotations

from smemreuse.report.verdicts import findings, rules_lines, verdict_text
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, Violation

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


def test_the_word_has_a_colour_of_its_own() -> None:
    shown = [verdict_text(Verdict(kind)) for kind in (SOUND, UNSOUND, UNPROVED)]
    assert [text.plain for text in shown] == ["sound", "unsound", "unproved"]
    assert len({str(text.style) for text in shown}) == 3
