"""Memory maps and lifetime charts in characters, for a terminal or a pipe.

Each buffer has a letter, so that nothing hangs on colour; all characters are ASCII.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.model.kernel import Buffer
from smemreuse.model.sequence import Access, Plan
from smemreuse.report.labels import label
from smemreuse.report.palette import colour
from smemreuse.report.timeline import Band, Range, Timeline

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_FREE = "."
_ROWS = 8
_BANDS = 3  # loops nested deeper are left out
_WIDEST = 110
_SMALLEST = 24
_ACCESS = {Access.READ: "r", Access.WRITE: "w", Access.READ_WRITE: "*"}
_INK = "black"
_KEY = "[ gen   ) kill   r read   w write   * both   | barrier   : wait"


class _Axis:
    """Program order on so many columns."""

    def __init__(self, length: int, width: int):
        self.columns = max(1, min(length, width))
        self._length = max(1, length)

    def column(self, position: int) -> int:
        return min(self.columns - 1, position * self.columns // self._length)

    def span(self, begin: int, end: int) -> range:
        """The columns of a range of positions, at least one."""
        return range(self.column(begin), self.column(max(begin, end - 1)) + 1)


def memory_map(plan: Plan, timeline: Timeline, width: int, top: int) -> Text:
    """Program order across and bytes upwards; a letter where the buffer's bytes are live.

    `width` is in characters, `top` in bytes: maps of one `top` have one scale. Buffers of symbolic
    size are left out.
    """
    ranges = timeline.ranges(plan)
    letters = _letters(timeline)
    margin = len(f"{top:,}") + 1
    axis = _Axis(timeline.length, max(_SMALLEST, width - margin - 2))
    rows = min(_ROWS, max(1, top))
    used = -(-plan.arena_bytes * rows // top) if top else 0  # rows that the arena reaches into
    cells = [[_FREE if row < used else " "] * axis.columns for row in range(rows)]
    for buffer, offset in plan.offsets.items():
        for row in _rows(offset, offset + (buffer.size or 0), top, rows):
            for column in axis.span(*ranges[buffer]):
                cells[row][column] = letters[buffer]
    text = Text(no_wrap=True)
    colours = {letter: number for number, letter in enumerate(letters.values())}
    for row in reversed(range(rows)):
        text.append(f"{top * (row + 1) // rows:>{margin - 1},} |")
        _append(text, cells[row], colours)
        text.append("|\n")
    text.append(f"{0:>{margin - 1}} +{'-' * axis.columns}+")
    return text


def _rows(begin: int, end: int, top: int, rows: int) -> range:
    """The rows whose middle a buffer covers, at least the one in which it begins."""
    if begin >= end:
        return range(0)
    covered = [row for row in range(rows) if begin <= top * (2 * row + 1) // (2 * rows) < end]
    if covered:
        return range(covered[0], covered[-1] + 1)
    first = min(rows - 1, begin * rows // top)
    return range(first, first + 1)


def legend(plan: Plan, timeline: Timeline) -> Text:
    """Which letter is which buffer."""
    text = Text()
    for number, (buffer, letter) in enumerate(_letters(timeline).items()):
        if buffer in plan.offsets:
            text.append(letter, f"{_INK} on {colour(number)}")
            text.append(f" {timeline.names[buffer]}  ")
    return text


def lifetime_chart(ranges: Mapping[Buffer, Range], timeline: Timeline, width: int) -> Text:
    """A line for each buffer from `[`, its gen, to `)`, its kill; loops, barriers and waits above.

    `r`, `w` and `*` are reads, writes, and both, where a column has room for one of them.
    """
    names = {buffer: timeline.names[buffer] for buffer in ranges}
    margin = max(map(len, (*names.values(), "loops")))
    axis = _Axis(timeline.length, max(_SMALLEST, width - margin - 3))
    text = Text(no_wrap=True)
    for depth in range(_BANDS):
        bands = [one for one in timeline.bands if one.kind == "loop" and one.depth == depth]
        if bands:
            _line(text, "loops" if depth == 0 else "", margin, _band_row(bands, axis))
    if timeline.marks:
        marks = [" "] * axis.columns
        for mark in timeline.marks:
            marks[axis.column(mark.position)] = "|" if mark.kind == "barrier" else ":"
        _line(text, "sync", margin, marks)
    for number, buffer in enumerate(timeline.names):
        if buffer in ranges:
            life = _life(buffer, ranges[buffer], timeline, axis)
            _line(text, names[buffer], margin, life, dict.fromkeys("[=)rw*", number))
    text.rstrip()
    return text


def _line(
    text: Text,
    name: str,
    margin: int,
    cells: Sequence[str],
    colours: Mapping[str, int] | None = None,
) -> None:
    text.append(f"{name:>{margin}} |")
    _append(text, cells, colours or {})
    text.append("|\n")


def _band_row(bands: Iterable[Band], axis: _Axis) -> list[str]:
    """Loops of one depth as `<for k in serial(15)--->`, cut to the room there is."""
    cells = [" "] * axis.columns
    for band in bands:
        span = axis.span(band.begin, band.end)
        body = label(band.stmt)[: max(0, len(span) - 2)].ljust(max(0, len(span) - 2), "-")
        shown = f"<{body}>" if len(span) > 1 else "<"
        for column, character in zip(span, shown, strict=False):
            cells[column] = character
    return cells


def _life(buffer: Buffer, live: Range, timeline: Timeline, axis: _Axis) -> list[str]:
    cells = [" "] * axis.columns
    for column in axis.span(*live):
        cells[column] = "="
    for step in timeline.steps:
        access = step.touches.get(buffer)
        if access is not None:
            cells[axis.column(step.position)] = _ACCESS[access]
    span = axis.span(*live)
    if len(span) > 1:
        cells[span[0]], cells[span[-1]] = "[", ")"
    return cells


def _append(text: Text, cells: Sequence[str], colours: Mapping[str, int]) -> None:
    for cell in cells:
        number = colours.get(cell)
        text.append(cell, None if number is None else f"{_INK} on {colour(number)}")


def _letters(timeline: Timeline) -> dict[Buffer, str]:
    """A letter for each buffer in program order; after 52 of them they come round."""
    return {
        buffer: _LETTERS[number % len(_LETTERS)] for number, buffer in enumerate(timeline.names)
    }


def _width(out: Console) -> int:
    return min(out.width, _WIDEST)


def drawn_plan(out: Console, plan: Plan, timeline: Timeline) -> RenderableType:
    """One plan: its memory map, the letters, and the lifetime chart."""
    return Group(
        memory_map(plan, timeline, _width(out), plan.arena_bytes),
        legend(plan, timeline),
        Text(),
        drawn_lifetimes(out, timeline.ranges(plan), timeline),
    )


def drawn_lifetimes(
    out: Console, ranges: Mapping[Buffer, Range], timeline: Timeline
) -> RenderableType:
    """The lifetime chart, and what its characters mean."""
    chart = lifetime_chart(ranges, timeline, _width(out))
    return Group(chart, Text(_KEY, style="dim"), Text())


def drawn_plans(out: Console, plans: Sequence[Plan], timeline: Timeline) -> RenderableType:
    """The memory maps of several policies side by side, on one scale."""
    grid = Table.grid(padding=(0, 2))
    each = max(_SMALLEST, out.width // len(plans) - 2)
    for _ in plans:
        grid.add_column(no_wrap=True)
    grid.add_row(*(Text(f"{plan.policy}, {plan.arena_bytes:,} bytes") for plan in plans))
    top = max(plan.arena_bytes for plan in plans)
    grid.add_row(*(memory_map(plan, timeline, each, top) for plan in plans))
    return Group(grid, legend(plans[0], timeline), Text())
