"""The checker's verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from smemreuse.results.verdict import SOUND, UNSOUND, Verdict, Violation

_STYLES = {SOUND: "green", UNSOUND: "bold red"}


def verdict_text(verdict: Verdict) -> Text:
    """The one word, coloured on a terminal."""
    return Text(verdict.verdict.value, style=_STYLES.get(verdict.verdict, "yellow"))


def first_finding(verdict: Verdict) -> str:
    """What comes first among the things that keep a verdict from being sound."""
    told = (*map(_told, verdict.violations), *verdict.uncovered)
    return told[0] if told else verdict.verdict.value


def refusal(verdict: Verdict) -> str:
    """Why a plan was not applied: its verdict, and the first thing that speaks against it."""
    return f"not applied, {verdict.verdict}: {first_finding(verdict)}"


def _told(violation: Violation) -> str:
    return f"rule {violation.rule}, {' and '.join(violation.buffers)}: {violation.witness}"


def findings(verdict: Verdict) -> Iterator[Text]:
    """A line for everything that the checker found, left out, or relied on."""
    for violation in verdict.violations:
        yield Text(f"  {_told(violation)}")
    for reason in verdict.uncovered:
        yield Text(f"  not covered: {reason}")
    for assumption in verdict.assumptions:
        yield Text(f"  assuming that {assumption}", style="dim")
