"""Memory maps and lifetime charts in characters, for a terminal or a pipe.

Each buffer has a letter, so that nothing hangs on colour; all characters are ASCII.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.labels import label
from smemreuse.report.columns import packed
from smemreuse.report.map_scale import Scale
from smemreuse.report.palette import ANSI, COLOURS, colour
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Band, Span, Timeline

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_FREE = "."
_BANDS = 3  # loops nested deeper are left out
_WIDEST = 110
_SMALLEST = 24  # columns of a map or chart; fewer where there is no room for so many
_LOOPS = "loops"
_ACCESS = {Access.READ: "r", Access.WRITE: "w", Access.READ_WRITE: "*"}
_INK = "black"
_AXES = "across: program order; a letter: its buffer is live there, a dot: free"
_LIFE = {
    "[": "[ gen",
    "=": "= live",
    ")": ") kill",
    "r": "r read",
    "w": "w write",
    "*": "* read and write",
}
"""The marks of a buffer's row, and what they mean."""

_BAND = "in the row loops < begins   > ends"
_SYNC = {
    "wait": (":", "wait"),
    "to come": ("+", "barrier that the compiler may insert"),
    "barrier": ("|", "barrier"),
}
"""The marks of the row `sync`, and what they mean; a later one hides an earlier one."""


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


def memory_map(
    plan: Plan, timeline: Timeline, width: int, scale: Scale, palette: Sequence[str] = COLOURS
) -> Text:
    """Program order across and bytes upwards; a letter where the buffer's bytes are live.

    `width` is in characters. Buffers of symbolic size are left out.
    """
    letters = _letters(timeline)
    margin, used = scale.margin, scale.used(plan.arena_bytes)
    drawn = _drawn(plan, timeline, width, scale)
    text = Text(no_wrap=True)
    colours = {letter: number for number, letter in enumerate(letters.values())}
    for row in reversed(range(scale.rows)):
        free = _FREE if row < used else " "
        cells = [free if buffer is None else letters[buffer] for buffer in drawn[row]]
        text.append(f"{scale.label(row):>{margin - 1}} |")
        _append(text, cells, colours, palette)
        text.append("|\n")
    text.append(f"{0:>{margin - 1}} +{'-' * len(drawn[0])}+")
    return text


def _drawn(plan: Plan, timeline: Timeline, width: int, scale: Scale) -> list[list[Buffer | None]]:
    """The buffer in each cell of a map, rows from the lowest bytes up: of several in one cell the
    smallest, and of one that would have no cell then every other one, as far as others keep one."""
    spans, axis = timeline.spans(plan), _Axis(timeline.length, width - scale.margin - 2)
    cells: list[list[Buffer | None]] = [[None] * axis.columns for _ in range(scale.rows)]
    places = {
        buffer: [
            (row, column)
            for row in scale.covered(offset, offset + (buffer.size or 0))
            for column in axis.span(*spans[buffer])
        ]
        for buffer, offset in sorted(plan.offsets.items(), key=lambda one: -(one[0].size or 0))
    }
    for buffer, own in places.items():
        for row, column in own:
            cells[row][column] = buffer
    seen = Counter(buffer for line in cells for buffer in line)
    for buffer, own in places.items():
        for row, column in own[::2] if not seen[buffer] else ():
            there = cells[row][column]
            if seen[there] > 1:
                cells[row][column] = buffer
                seen.update({there: -1, buffer: 1})
    return cells


def covered(plan: Plan, timeline: Timeline, width: int, scale: Scale) -> list[Buffer]:
    """The buffers that a map has no cell for, as smaller ones take all of theirs."""
    seen = {buffer for row in _drawn(plan, timeline, width, scale) for buffer in row}
    return [buffer for buffer in plan.offsets if buffer not in seen]


def legend(
    plan: Plan, timeline: Timeline, width: int, scale: Scale, palette: Sequence[str] = COLOURS
) -> Text:
    """Which letter is which buffer, of how many bytes, and what a row is, in lines of `width`
    characters."""
    shown = [
        Text.assemble(
            (letter, f"{_INK} on {colour(number, palette)}"),
            f" {timeline.names[buffer]} {buffer.size or 0:,}",
        )
        for number, (buffer, letter) in enumerate(_letters(timeline).items())
        if buffer in plan.offsets
    ]
    return Text("\n").join(packed([*shown, Text(str(scale)), Text(_AXES)], width))


def _undrawn(plans: Sequence[Plan], timeline: Timeline, width: int, scale: Scale) -> Iterator[Text]:
    """The buffers that are nowhere in the map of a plan, and where they lie in it."""
    for plan in plans:
        listed = [
            f"{timeline.names[buffer]} at {plan.offsets[buffer]:,}"
            for buffer in covered(plan, timeline, width, scale)
        ]
        if listed:
            of_plan = f" of {plan.policy}" if len(plans) > 1 else ""
            yield Text(f"too small for the map{of_plan}: {', '.join(listed)}")
    symbolic = dict.fromkeys(buffer for plan in plans for buffer in plan.symbolic_offsets)
    if symbolic:
        names = ", ".join(timeline.names[buffer] for buffer in symbolic)
        yield Text(f"not in the map, of a size that only the launch knows: {names}")


def lifetime_chart(
    spans: Mapping[Buffer, Span],
    timeline: Timeline,
    width: int,
    palette: Sequence[str] = COLOURS,
) -> Text:
    """A line for each buffer from `[`, its gen, to `)`, its kill; loops, barriers and waits above.

    `r`, `w` and `*` are reads, writes, and both, where a column has room for one of them.
    """
    margin, axis = _chart_axis(spans, timeline, width)
    text = Text(no_wrap=True)
    for depth in range(_BANDS):
        bands = [one for one in timeline.bands if one.kind == "loop" and one.depth == depth]
        if bands:
            _line(text, "" if text else _LOOPS, margin, _band_row(bands, axis))
    if timeline.marks:
        _line(text, "sync", margin, _sync_row(timeline, axis))
    for number, buffer in enumerate(timeline.names):
        if buffer in spans:
            life = _life(buffer, spans[buffer], timeline, axis)
            colours = dict.fromkeys("[=)rw*", number)
            _line(text, timeline.names[buffer][:margin], margin, life, colours, palette)
    text.rstrip()
    return text


def _chart_axis(spans: Iterable[Buffer], timeline: Timeline, width: int) -> tuple[int, _Axis]:
    """The characters to the left of a chart, for the buffers' names, and its axis."""
    longest = max(map(len, (*(timeline.names[buffer] for buffer in spans), _LOOPS)))
    margin = min(longest, max(len(_LOOPS), width - _SMALLEST - 3))
    return margin, _Axis(timeline.length, width - margin - 3)


def _sync_row(timeline: Timeline, axis: _Axis) -> list[str]:
    """Barriers and waits; one that is to come stands beside a wait that is in its column."""
    cells = [" "] * axis.columns
    for kind, (sign, _) in _SYNC.items():
        for mark in timeline.marks:
            if mark.kind == kind:
                column = axis.column(mark.position)
                beside = cells[column] == ":" and cells[column + 1 : column + 2] == [" "]
                cells[column + beside] = sign
    return cells


def _line(
    text: Text,
    name: str,
    margin: int,
    cells: Sequence[str],
    colours: Mapping[str, int] | None = None,
    palette: Sequence[str] = COLOURS,
) -> None:
    text.append(f"{name:>{margin}} |")
    _append(text, cells, colours or {}, palette)
    text.append("|\n")


def _band_row(bands: Iterable[Band], axis: _Axis) -> list[str]:
    """Loops of one depth as `<for k in serial(15)--->`, or `<for k-->`, or `<-->` in less room."""
    cells = [" "] * axis.columns
    for band in bands:
        span = axis.span(band.begin, band.end)
        room, whole = max(0, len(span) - 2), label(band.stmt)
        named = [text for text in (whole, whole.partition(" in ")[0]) if len(text) <= room]
        body = (named[0] if named else "").ljust(room, "-")
        shown = f"<{body}>" if len(span) > 1 else "<"
        for column, character in zip(span, shown, strict=False):
            cells[column] = character
    return cells


def _life(buffer: Buffer, live: Span, timeline: Timeline, axis: _Axis) -> list[str]:
    cells = [" "] * axis.columns
    for column in axis.span(*live):
        cells[column] = "="
    span = axis.span(*live)
    if len(span) > 1:
        cells[span[0]], cells[span[-1]] = "[", ")"
    for step in timeline.steps:
        access = step.touches.get(buffer)
        if access is not None:
            cells[axis.column(step.position)] = _ACCESS[access]
    return cells


def _append(
    text: Text, cells: Sequence[str], colours: Mapping[str, int], palette: Sequence[str]
) -> None:
    for cell in cells:
        number = colours.get(cell)
        text.append(cell, None if number is None else f"{_INK} on {colour(number, palette)}")


def _letters(timeline: Timeline) -> dict[Buffer, str]:
    """A letter for each buffer in program order; after 52 of them they come round."""
    return {
        buffer: _LETTERS[number % len(_LETTERS)] for number, buffer in enumerate(timeline.names)
    }


def _width(out: Console) -> int:
    return min(out.width, _WIDEST)


def _palette(out: Console) -> Sequence[str]:
    return ANSI if out.color_system in ("standard", "windows") else COLOURS


def drawn_plan(out: Console, plan: Plan, timeline: Timeline) -> RenderableType:
    """One plan: its memory map, the letters, and the lifetime chart."""
    width, palette, scale = _width(out), _palette(out), Scale.of([plan])
    return Group(
        memory_map(plan, timeline, width, scale, palette),
        legend(plan, timeline, width, scale, palette),
        *_undrawn([plan], timeline, width, scale),
        Text(),
        drawn_lifetimes(out, timeline.spans(plan), timeline),
    )


def drawn_lifetimes(
    out: Console, spans: Mapping[Buffer, Span], timeline: Timeline
) -> RenderableType:
    """The lifetime chart, and what its characters mean."""
    chart = lifetime_chart(spans, timeline, _width(out), _palette(out))
    return Group(chart, Text(_key(spans, timeline, _width(out)), style="dim"), Text())


def _key(spans: Mapping[Buffer, Span], timeline: Timeline, width: int) -> str:
    """What the characters of a chart mean that are in it."""
    _, axis = _chart_axis(spans, timeline, width)
    drawn = {sign for one in spans for sign in _life(one, spans[one], timeline, axis)}
    kinds = {mark.kind for mark in timeline.marks}
    marks = [f"{sign} {word}" for kind, (sign, word) in _SYNC.items() if kind in kinds]
    loops = any(one.kind == "loop" and one.depth < _BANDS for one in timeline.bands)
    parts = [
        "   ".join(word for sign, word in _LIFE.items() if sign in drawn),
        _BAND if loops else "",
        f"in the row sync {'   '.join(reversed(marks))}" if marks else "",
    ]
    return "; ".join(filter(None, parts))


def _alike(plans: Sequence[Plan], timeline: Timeline) -> list[list[Plan]]:
    """The plans, those together that have one map."""
    found: list[list[Plan]] = []
    for plan in plans:
        for same in found:
            if _has_map_of(plan, same[0], timeline):
                same.append(plan)
                break
        else:
            found.append([plan])
    return found


def _has_map_of(plan: Plan, other: Plan, timeline: Timeline) -> bool:
    at, there = (plan.arena_bytes, plan.offsets), (other.arena_bytes, other.offsets)
    return at == there and timeline.spans(plan) == timeline.spans(other)


def drawn_plans(out: Console, plans: Sequence[Plan], timeline: Timeline) -> RenderableType:
    """The memory maps of several policies on one scale, side by side where there is room."""
    scale, palette = Scale.of(plans), _palette(out)
    alike = _alike(plans, timeline)
    headings = [
        Text(f"{' and '.join(one.policy for one in same)}, {same[0].arena_bytes:,} bytes")
        for same in alike
    ]
    plans = [same[0] for same in alike]
    each = out.width // len(plans) - 2
    least = scale.margin + min(timeline.length, _SMALLEST) + 2
    beside = each >= max(least, *map(len, headings))
    width = each if beside else _width(out)
    maps = [memory_map(plan, timeline, width, scale, palette) for plan in plans]
    key = legend(plans[0], timeline, _width(out), scale, palette)
    below = (key, *_undrawn(plans, timeline, width, scale), Text())
    if not beside:
        return Group(*chain.from_iterable(zip(headings, maps, strict=True)), *below)
    grid = Table.grid(padding=(0, 2))
    for _ in plans:
        grid.add_column(no_wrap=True)
    grid.add_row(*headings)
    grid.add_row(*maps)
    return Group(grid, *below)
