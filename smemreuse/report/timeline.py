"""A witness as a timeline: agents side by side, events downwards, and what is missing between them.

`timeline_of` a hazard, and `violation_timeline` of a rule that a plan breaks, give rows as data,
which any door may draw; `timeline_text` draws them with letters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from smemreuse.results.hazards import Hazard, HazardKind, Remedy
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site, place_of
from smemreuse.results.verdict import Violation

NARROWEST, _LEAST = 24, 16
"""Characters of a column beside a margin for rounds, and without one, at the least."""

_FIXED = "\N{NO-BREAK SPACE}"
_OTHERS = "all other threads"

_LACKS = {
    Remedy.BARRIER: "a barrier",
    Remedy.WAIT: "a wait",
    Remedy.FENCE: "a proxy fence",
    Remedy.WRITE: "a write",
}

_LACKING = {
    HazardKind.MISSED_PHASE: "nothing makes the right column wait for the left one",
}
"""What is missing where no single operation is."""

_OUTCOMES = {
    HazardKind.RACE: "nothing orders the two: the access on the right may come first",
    HazardKind.MISSING_WAIT: "the left column may still be under way when the right one comes",
    HazardKind.MISSING_FENCE: "the two proxies may reach the bytes in the other order",
    HazardKind.UNINITIALISED_READ: "what is read is what was left in the memory",
    HazardKind.BARRIER_DIVERGENCE: "the others hang, or go on early: that is undefined",
    HazardKind.BARRIER_DEADLOCK: "the kernel hangs",
    HazardKind.MISSED_PHASE: "a warp of the left column that comes later sees the parity of "
    "another phase, and may wait for ever",
    HazardKind.OUT_OF_BOUNDS: "the access reads or overwrites what lies after the buffer",
}


class EventKind(str, Enum):
    """What a row of a timeline is; the value is the word for it in data."""

    DOES = "does"
    MISSING = "missing"
    OUTCOME = "outcome"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One row: what the agent of a `column` does; across all columns where that is None.

    `when` is the round of the loops around it, `place` its line, `statement` the text there.
    """

    kind: EventKind
    text: str
    column: int | None = None
    when: str = ""
    place: str = ""
    statement: str = ""


@dataclass(frozen=True, slots=True)
class WitnessTimeline:
    """Agents, each a column, and the events of all of them in their order."""

    agents: tuple[str, ...]
    events: tuple[TimelineEvent, ...]


def timeline_of(hazard: Hazard) -> WitnessTimeline:
    """The witness of a hazard: who does what, and what does not come between."""
    lacks = _LACKS.get(hazard.mend.remedy)
    mend = hazard.mend.sentence.rstrip(".")
    lacking = f"{lacks} is missing" if lacks else _LACKING.get(hazard.kind, "fix")
    missing = TimelineEvent(EventKind.MISSING, f"{lacking}: {mend}")
    outcome = TimelineEvent(EventKind.OUTCOME, _OUTCOMES[hazard.kind])
    agents = hazard.agents or ("some threads",)
    if hazard.other is not None and len(agents) == 2:
        first, second = _does(hazard, 0, hazard.other), _does(hazard, 1, hazard.site)
        return WitnessTimeline(agents, (first, missing, second, outcome))
    if hazard.kind in (HazardKind.BARRIER_DIVERGENCE, HazardKind.BARRIER_DEADLOCK):
        there = _event("wait here", 0, hazard.site)
        never = _does(hazard, 0, hazard.site)
        if hazard.kind is HazardKind.BARRIER_DEADLOCK:
            return WitnessTimeline(agents, (never, missing, outcome))
        absent = TimelineEvent(EventKind.DOES, never.text, 1)
        return WitnessTimeline((_OTHERS, *agents[:1]), (there, absent, missing, outcome))
    if hazard.kind is HazardKind.MISSED_PHASE:
        told = hazard.acts[1].deed if len(hazard.acts) == 2 else "complete the phase after that"
        goes_on = TimelineEvent(EventKind.DOES, told, 1)
        late = _does(hazard, 0, hazard.site)
        columns = agents if len(agents) == 2 else (agents[0], _OTHERS)
        return WitnessTimeline(columns, (goes_on, missing, late, outcome))
    return WitnessTimeline(agents[:1], (missing, _does(hazard, 0, hazard.site), outcome))


_LACKED = {
    Rule.BARRIER: "a barrier is missing",
    Rule.IN_FLIGHT: "a wait is missing",
    Rule.PROXY: "a proxy fence is missing",
}
"""What a plan that breaks a rule relies on, and is not there."""

_BREAKS = {
    Rule.LOOP_CARRIED: "what is read is what the other buffer has there",
    Rule.BARRIER: _OUTCOMES[HazardKind.RACE],
    Rule.IN_FLIGHT: _OUTCOMES[HazardKind.MISSING_WAIT],
    Rule.PROXY: _OUTCOMES[HazardKind.MISSING_FENCE],
}


def violation_timeline(violation: Violation) -> WitnessTimeline | None:
    """The witness of a plan's fault; None where no execution shows it, as of an alignment."""
    if violation.rule not in _BREAKS or len(violation.acts) < 2:
        return None
    agents = [one.agent for one in violation.acts]
    if violation.rule is not Rule.LOOP_CARRIED:
        columns = [*range(len(agents))]
    else:
        agents = [*dict.fromkeys(agents)]
        columns = [agents.index(one.agent) for one in violation.acts]
    *earlier, last = (
        _event(act.deed, column, act.site)
        for act, column in zip(violation.acts, columns, strict=True)
    )
    names = " and ".join(violation.buffers)
    lacks = _LACKED.get(violation.rule)
    apart = f"{names} must not share bytes, but do in this plan"
    text = f"{lacks}, or {apart}" if lacks else apart
    missing = TimelineEvent(EventKind.MISSING, f"{text} (rule {violation.rule})")
    outcome = TimelineEvent(EventKind.OUTCOME, _BREAKS[violation.rule])
    return WitnessTimeline(tuple(agents), (*earlier, missing, last, outcome))


def _does(hazard: Hazard, at: int, site: Site) -> TimelineEvent:
    return _event(hazard.acts[at].deed if at < len(hazard.acts) else "is at", at, site)


def _event(text: str, column: int, site: Site) -> TimelineEvent:
    when = ", ".join(f"{name} = {value}" for name, value in site.loops)
    return TimelineEvent(
        *(EventKind.DOES, text, column, when),
        place=place_of(site).rstrip(": "),
        statement=site.brief or site.statement,
    )


# Text ---------------------------------------------------------------------------------------------


PAGE_WIDTH = 96
"""Characters of a timeline on a page."""


def timeline_block(timeline: WitnessTimeline | None) -> str:
    """A timeline as one text; empty where there is none."""
    return "" if timeline is None else "\n".join(timeline_text(timeline, PAGE_WIDTH))


def timeline_text(timeline: WitnessTimeline, width: int = 100) -> Iterator[str]:
    """The lines of a timeline, in so many characters where its columns are not wider than that."""
    count = len(timeline.agents)
    when = max((len(each.when) for each in timeline.events), default=0)
    margin = when + 2 if when else 0
    if margin + count * (NARROWEST + 2) > width:  # then a round stands in its cell
        margin = 0
    wide = max(_LEAST, (width - margin + 2) // count - 2)
    yield from _row(timeline.agents, "", margin, wide)
    yield from _row(["-" * min(wide, len(one)) for one in timeline.agents], "", margin, wide)
    for event in timeline.events:
        if event.column is None:
            yield from textwrap.wrap(
                *(event.text, width),
                initial_indent="  x  " if event.kind is EventKind.MISSING else " =>  ",
                subsequent_indent="     ",
            )
            continue
        cells = [""] * count
        place = f" ({event.place.replace(' ', _FIXED)})" if event.place else ""
        said = f"`{event.statement}`{place}" if event.statement else ""
        inside = f"{event.when}: {event.text}" if event.when and not margin else event.text
        cells[event.column] = "\n".join(filter(None, (inside, said)))
        yield from _row(cells, event.when if margin else "", margin, wide)


def _row(cells: Sequence[str], when: str, margin: int, wide: int) -> Iterator[str]:
    """Cells side by side, each wrapped in its column."""
    wrapped = [
        [line for part in cell.split("\n") for line in textwrap.wrap(part, wide)] for cell in cells
    ]
    for at in range(max(map(len, wrapped))):
        parts = [lines[at] if at < len(lines) else "" for lines in wrapped]
        line = "  ".join(f"{part:{wide}}" for part in parts)
        yield f"{when if at == 0 else '':{margin}}{line}".rstrip().replace(_FIXED, " ")
