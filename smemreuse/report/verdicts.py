"""The checker's verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from smemreuse.results.plan import Plan
from smemreuse.results.verdict import SOUND, UNSOUND, Verdict, VerdictKind

_STYLES = {SOUND: "green", UNSOUND: "bold red"}


def verdict_text(verdict: Verdict) -> Text:
    """The one word, coloured on a terminal."""
    return kind_text(verdict.verdict)


def kind_text(kind: VerdictKind) -> Text:
    """The word for a kind of verdict, coloured on a terminal."""
    return Text(kind.value, style=_STYLES.get(kind, "yellow"))


def hoped_words(plan: Plan, verdict: Verdict) -> str:
    """A plan that is smaller than the one that would be applied, and why it is not."""
    why = f"it is {verdict.verdict}: {verdict.first_finding}"
    return f"might do with {plan.arena_bytes:,} bytes, but {why}"


def findings(verdict: Verdict) -> Iterator[Text]:
    """A line for everything that the checker found, left out, or relied on."""
    for violation in verdict.violations:
        yield Text(f"  {violation}")
    for reason in verdict.uncovered:
        yield Text(f"  not covered: {reason}")
    for assumption in verdict.assumptions:
        yield Text(f"  assuming that {assumption}", style="dim")
