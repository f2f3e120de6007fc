"""The output on the assumptions on which a sound plan rests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.report.data import Data
from smemreuse.results.hazards import LintReport, place_of
from smemreuse.results.preconditions import OpenAssumption, Preconditions
from smemreuse.results.serialized import picked

PROVED = "the proof assumes nothing of the unmerged kernel: lint finds it clean"


def grounds_lines(grounds: Preconditions | None, told: Sequence[str] = ()) -> Iterator[Text]:
    """A line that nothing is assumed, or one for each assumption that is not proved, but for those
    that the verdict has `told` already."""
    if grounds is None:
        return
    if grounds.proved:
        yield Text(f"  {PROVED}", style="dim")
    for one in grounds.open:
        found = "lint refutes that" if one.refuted else "lint does not prove that"
        why = _why(one, grounds.report)
        yield Text(f"  the proof assumes that {one.assumption.sentence}; {found} ({why})")
    for assumption in (one for one in grounds.report.assumptions if one not in told):
        yield Text(f"  the proof assumes that {assumption}", style="dim")


def _why(one: OpenAssumption, report: LintReport) -> str:
    """The kind of hazard and its line, which `lint` tells in full; or what was not followed."""
    against = [each for each in report.hazards if each.kind in one.assumption.kinds]
    found = next((each for each in against if each.certain or not one.refuted), None)
    if found is None:
        return one.why
    place = place_of(found.site).rstrip(": ")
    return f"{found.kind}{' at ' if place else ''}{place}"


def grounds_data(grounds: Preconditions | None) -> Data | None:
    """The same as JSON; None where nothing rests on it."""
    if grounds is None:
        return None
    one_open = "assumption sentence=assumption.sentence refuted why"
    return {
        **picked(grounds, "lint=report.status proved"),
        "open": [picked(one, one_open) for one in grounds.open],
        **picked(grounds.report, "assumptions"),
    }
