"""The checker's verdicts as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.text import Text

from smemreuse.report.timeline import timeline_text, violation_timeline
from smemreuse.results.plan import Plan
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import (
    LIMIT_OF_WORK,
    SOUND,
    UNSOUND,
    Verdict,
    VerdictKind,
    WitnessAct,
)

K = TypeVar("K")

_NAMED = re.compile(r"\(rule (\d+)\)")
_MOST_RULES = 3
"""Rules that are stated; of more of them only the place is told."""


def rules_lines(told: Iterable[str]) -> Iterator[Text]:
    """What the rules say that are named by their numbers, and where each stands in full; nothing
    where none is named."""
    rules = sorted({int(number) for text in told for number in _NAMED.findall(text)})
    stated = [f"rule {number}: {Rule(number).title}" for number in rules]
    if rules:
        few = stated if len(rules) <= _MOST_RULES else []
        yield Text("; ".join([*few, "each rule in full: docs/soundness.md"]), style="dim")


_STYLES = {SOUND: "green", UNSOUND: "bold red"}


def verdict_text(verdict: Verdict) -> Text:
    """The one word, coloured on a terminal."""
    return kind_text(verdict.verdict)


def kind_text(kind: VerdictKind) -> Text:
    """The word for a kind of verdict, coloured on a terminal."""
    return Text(kind.value, style=_STYLES.get(kind, "yellow"))


def tally(found: Counter[K], order: Iterable[K], word: Callable[[K], Text]) -> Text:
    """`3 sound, 1 unproved`: those that there are, in this order."""
    there = (one for one in order if found[one])
    return Text(", ").join(Text(f"{found[one]:,} ").append_text(word(one)) for one in there)


def hoped_words(plan: Plan, verdict: Verdict, note: str = "") -> str:
    """A plan that is smaller than the one that would be applied, and why it is not; `note` says
    what it would gain."""
    size = f"a smaller layout of {plan.arena_bytes:,} bytes{note}"
    return f"{size} is {verdict.verdict}: {first_words(verdict)}"


def first_words(verdict: Verdict) -> str:
    """The first thing that keeps a verdict from being sound: who makes its accesses, where that is
    known, and the rule's number at its end."""
    if verdict.violations:
        one = verdict.violations[0]
        by = _by_whom(one.acts)
        return f"{' and '.join(one.buffers)}: {one.witness}{by} (rule {one.rule})"
    return verdict.first_finding.replace(LIMIT_OF_WORK, "the checker's limit of work: ", 1)


def _by_whom(acts: Sequence[WitnessAct]) -> str:
    """Who makes the two accesses of a witness that has two."""
    if len(acts) != 2:
        return ""
    one, two = (act.agent for act in acts)
    return f", both by {one}" if one == two else f", by {one} and {two}"


_INDENT = "    "
"""Before the lines of a timeline."""


def findings(verdict: Verdict, *, drawn: bool = False, width: int = 100) -> Iterator[Text]:
    """A line for everything that the checker found, left out, or relied on; `drawn` with the
    timeline of each violation that an execution shows, in so many characters."""
    for violation in verdict.violations:
        yield Text(f"  {violation.titled}")
        timeline = violation_timeline(violation) if drawn else None
        room = width - len(_INDENT)
        for line in () if timeline is None else timeline_text(timeline, room):
            yield Text(f"{_INDENT}{line}")
    for reason in verdict.uncovered:
        yield Text(f"  not covered: {reason}")
    for assumption in verdict.assumptions:
        what = "the proof assumes" if verdict.sound else "the check assumes"
        yield Text(f"  {what} that {assumption}", style="dim")
