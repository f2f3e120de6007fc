"""Verdicts as text."""

from __future__ import annotations

from smemreuse.report.verdicts import findings, verdict_text
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


def test_the_word_has_a_colour_of_its_own() -> None:
    shown = [verdict_text(Verdict(kind)) for kind in (SOUND, UNSOUND, UNPROVED)]
    assert [text.plain for text in shown] == ["sound", "unsound", "unproved"]
    assert len({str(text.style) for text in shown}) == 3
