"""The lifetime chart in characters: a line for each buffer, below loops, barriers and waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.labels import label
from smemreuse.report.frames import POSITION, SMALLEST, Axis, ChartFrame
from smemreuse.report.palette import COLOURS
from smemreuse.results.timeline import Span, SyncMark, Timeline

_BANDS = 3  # loops nested deeper are left out
_GROUPS, _LOOPS = "groups", "loops"
_ACCESS = {Access.READ: "r", Access.WRITE: "w", Access.READ_WRITE: "*"}
_LIFE = {
    "[": "[ gen",
    "=": "= live",
    ")": ") kill",
    "r": "r read",
    "w": "w write",
    "*": "* read and write",
}
"""The marks of a buffer's row, and what they mean."""

_SYNC = {
    "barriers": {
        "barrier": ("#", "barrier"),
        "to come": ("+", "barrier that the compiler will insert"),
        "may come": ("?", "barrier that it may insert"),
    },
    "waits": {"wait": (":", "wait")},
}
"""Rows of marks, each with its kinds, their signs and what these mean; an earlier kind hides a
later one."""


def chart_margin(spans: Iterable[Buffer], timeline: Timeline, width: int) -> int:
    """The characters to the left of a chart, for the names of buffers and rows."""
    longest = max(map(len, (*(timeline.names[buffer] for buffer in spans), POSITION)))
    return min(longest, max(len(POSITION), width - SMALLEST - 3))


def lifetime_chart(
    spans: Mapping[Buffer, Span],
    timeline: Timeline,
    frame: ChartFrame,
    palette: Sequence[str] = COLOURS,
) -> Text:
    """A line for each buffer from `[`, its gen, to `)`, its kill; above these the positions, groups
    of threads, loops, barriers and waits.

    `r`, `w` and `*` are reads, writes, and both, of whatever a column stands for.
    """
    lines = [frame.scale(), *_scopes(timeline, frame)]
    for name, kinds in _SYNC.items():
        if any(mark.kind in kinds for mark in timeline.marks):
            lines.append(frame.line(name, _marked(name, timeline, frame.axis)))
    for number, buffer in enumerate(timeline.names):
        if buffer in spans:
            life = _life(buffer, spans[buffer], timeline, frame.axis)
            numbers = dict.fromkeys("[=)rw*", number)
            lines.append(frame.line(timeline.names[buffer], life, numbers, palette))
    return Text("\n", no_wrap=True).join(lines)


def chart_key(spans: Mapping[Buffer, Span], timeline: Timeline, axis: Axis) -> Iterator[str]:
    """What the characters of a chart mean that are in it, in lines."""
    drawn = {sign for one in spans for sign in _life(one, spans[one], timeline, axis)}
    marks = "   ".join(word for sign, word in _LIFE.items() if sign in drawn)
    outlast = any(_outlasts(one, live, timeline) for one, live in spans.items())
    group = ", another group" * bool(timeline.arms)
    users = f"a loop{group} or an asynchronous access may use it"
    yield f"{marks}{f'; live beyond its accesses where {users}' * outlast}"
    loops = any(one.kind == "loop" and one.depth < _BANDS for one in timeline.bands)
    rows = " and ".join([_GROUPS] * bool(timeline.arms) + [_LOOPS] * loops)
    if rows:
        depths = f"; a row for each depth (of loops {_BANDS} at most), named where there is room"
        yield f"{rows}: < begins   > ends{depths if loops else ''}"
    if timeline.arms:
        yield f"{_GROUPS} of threads run at the same time, though one stands after the other"
    there = {mark.kind for mark in timeline.marks}
    kinds = {kind: told for row in _SYNC.values() for kind, told in row.items() if kind in there}
    if kinds:
        rows = " and ".join(name for name, row in _SYNC.items() if there & row.keys())
        before = "; each comes before the accesses of its column" * (axis.positions == 1)
        yield f"{rows}: {'   '.join(map(' '.join, kinds.values()))}{before}"
    if axis.positions > 1:
        yield f"a column stands for up to {axis.positions} positions"


def signs_of(marks: Iterable[SyncMark]) -> list[str]:
    """The signs that a chart has for some marks."""
    kinds = {mark.kind for mark in marks}
    return [sign for row in _SYNC.values() for kind, (sign, _) in row.items() if kind in kinds]


def _outlasts(buffer: Buffer, live: Span, timeline: Timeline) -> bool:
    """Whether a buffer is live before the first entry that touches it, or after the last one."""
    touched = [step.position for step in timeline.steps if buffer in step.touches]
    return bool(touched) and (live[0] < touched[0] or touched[-1] + 1 < live[1])


def _scopes(timeline: Timeline, frame: ChartFrame) -> Iterator[Text]:
    """The rows of groups of threads, which may lie in each other, and of loops by their depth."""
    arms = [
        ((one.threads, one.threads.partition(" ")[2]), (one.begin, one.end), one.depth)
        for one in timeline.arms
    ]
    loops = [
        ((whole := label(one.stmt), whole.partition(" in ")[0]), (one.begin, one.end), one.depth)
        for one in timeline.bands
        if one.kind == "loop" and one.depth < _BANDS
    ]
    for name, scopes in ((_GROUPS, arms), (_LOOPS, loops)):
        for depth in sorted({depth for *_, depth in scopes}):
            row = [(names, span) for names, span, at in scopes if at == depth]
            yield frame.line(name, _scope_row(row, frame.axis))
            name = ""


def _scope_row(scopes: Iterable[tuple[Sequence[str], Span]], axis: Axis) -> list[str]:
    """Scopes as `<for k in serial(15)--->`, the first of their names for which there is room."""
    cells = [" "] * axis.columns
    for names, live in scopes:
        span = axis.span(*live)
        room = max(0, len(span) - 2)
        body = next((name for name in names if len(name) <= room), "").ljust(room, "-")
        shown = f"<{body}>" if len(span) > 1 else "<"
        for column, character in zip(span, shown, strict=False):
            cells[column] = character
    return cells


def _marked(row: str, timeline: Timeline, axis: Axis) -> list[str]:
    cells = [" "] * axis.columns
    for kind, (sign, _) in reversed(_SYNC[row].items()):
        for mark in timeline.marks:
            if mark.kind == kind:
                cells[axis.column(mark.position)] = sign
    return cells


def _life(buffer: Buffer, live: Span, timeline: Timeline, axis: Axis) -> list[str]:
    cells, span = [" "] * axis.columns, axis.span(*live)
    for column in span:
        cells[column] = "="
    if len(span) > 1:
        cells[span[0]], cells[span[-1]] = "[", ")"
    for step in timeline.steps:
        access = step.touches.get(buffer)
        if access is not None:
            column = axis.column(step.position)
            sign, there = _ACCESS[access], cells[column]
            cells[column] = sign if there in (*"[=) ", sign) else _ACCESS[Access.READ_WRITE]
    return cells
