"""Memory maps in characters, and with them lifetime charts, for a terminal or a pipe.

Each buffer has a letter, so that nothing hangs on colour; all characters are ASCII.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from smemreuse.ir.kernel import Buffer
from smemreuse.report.columns import packed
from smemreuse.report.frames import INK, SMALLEST, Axis, ChartFrame
from smemreuse.report.lifetime_chart import chart_key, chart_margin, lifetime_chart
from smemreuse.report.map_scale import Scale
from smemreuse.report.palette import ANSI, COLOURS, colour
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Span, Timeline

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_FREE = "."
_WIDEST = 110
_AXES = "across: program order; a letter: its buffer is live there, a dot: free"


def memory_map(
    plan: Plan,
    timeline: Timeline,
    frame: ChartFrame,
    scale: Scale,
    palette: Sequence[str] = COLOURS,
) -> Text:
    """Program order across and bytes upwards; a letter where the buffer's bytes are live.

    Buffers of symbolic size are left out.
    """
    letters, used = _letters(timeline), scale.used(plan.arena_bytes)
    numbers = {letter: number for number, letter in enumerate(letters.values())}
    lines = []
    for row, drawn in reversed([*enumerate(_drawn(plan, timeline, frame.axis, scale))]):
        free = _FREE if row < used else " "
        cells = [free if buffer is None else letters[buffer] for buffer in drawn]
        lines.append(frame.line(scale.label(row), cells, numbers, palette))
    lines.append(Text(f"{0:>{frame.margin}} +{'-' * frame.axis.columns}+"))
    return Text("\n", no_wrap=True).join(lines)


def _drawn(plan: Plan, timeline: Timeline, axis: Axis, scale: Scale) -> list[list[Buffer | None]]:
    """The buffer in each cell of a map, rows from the lowest bytes up: of several in one cell the
    smallest, and of one that would have no cell then every other one, as far as others keep one."""
    spans = timeline.spans(plan)
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


def covered(plan: Plan, timeline: Timeline, axis: Axis, scale: Scale) -> list[Buffer]:
    """The buffers that a map has no cell for, as smaller ones take all of theirs."""
    seen = {buffer for row in _drawn(plan, timeline, axis, scale) for buffer in row}
    return [buffer for buffer in plan.offsets if buffer not in seen]


def legend(
    plan: Plan, timeline: Timeline, width: int, scale: Scale, palette: Sequence[str] = COLOURS
) -> Text:
    """Which letter is which buffer, of how many bytes, and what a row is, in lines of `width`
    characters."""
    shown = [
        Text.assemble(
            (letter, f"{INK} on {colour(number, palette)}"),
            f" {timeline.names[buffer]} {buffer.size or 0:,}",
        )
        for number, (buffer, letter) in enumerate(_letters(timeline).items())
        if buffer in plan.offsets
    ]
    return Text("\n").join(packed([*shown, Text(str(scale)), Text(_AXES)], width))


def _undrawn(plans: Sequence[Plan], timeline: Timeline, axis: Axis, scale: Scale) -> Iterator[Text]:
    """The buffers that are nowhere in the map of a plan, and where they lie in it."""
    for plan in plans:
        listed = [
            f"{timeline.names[buffer]} at {plan.offsets[buffer]:,}"
            for buffer in covered(plan, timeline, axis, scale)
        ]
        if listed:
            of_plan = f" of {plan.policy}" if len(plans) > 1 else ""
            yield Text(f"too small for the map{of_plan}: {', '.join(listed)}")
    symbolic = dict.fromkeys(buffer for plan in plans for buffer in plan.symbolic_offsets)
    if symbolic:
        names = ", ".join(timeline.names[buffer] for buffer in symbolic)
        yield Text(f"not in the map, of a size that only the launch knows: {names}")


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
    """One plan: its memory map, the letters, and the lifetime chart, on one axis."""
    width, palette, scale = _width(out), _palette(out), Scale.of([plan])
    spans = timeline.spans(plan)
    margin = max(scale.margin, chart_margin(spans, timeline, width))
    frame = ChartFrame.within(width, timeline.length, margin)
    return Group(
        memory_map(plan, timeline, frame, scale, palette),
        frame.scale(),
        legend(plan, timeline, width, scale, palette),
        *_undrawn([plan], timeline, frame.axis, scale),
        Text(),
        _drawn_chart(out, spans, timeline, frame),
    )


def drawn_lifetimes(
    out: Console, spans: Mapping[Buffer, Span], timeline: Timeline
) -> RenderableType:
    """The lifetime chart, and what its characters mean."""
    width = _width(out)
    margin = chart_margin(spans, timeline, width)
    return _drawn_chart(out, spans, timeline, ChartFrame.within(width, timeline.length, margin))


def _drawn_chart(
    out: Console, spans: Mapping[Buffer, Span], timeline: Timeline, frame: ChartFrame
) -> RenderableType:
    chart = lifetime_chart(spans, timeline, frame, _palette(out))
    key = (Text(line, style="dim") for line in chart_key(spans, timeline, frame.axis))
    return Group(chart, *key, Text())


def _alike(plans: Mapping[str, Plan], timeline: Timeline) -> list[tuple[list[str], Plan]]:
    """The plans, each with the names of those that have its map."""
    found: list[tuple[list[str], Plan]] = []
    for name, plan in plans.items():
        for names, same in found:
            if _has_map_of(plan, same, timeline):
                names.append(name)
                break
        else:
            found.append(([name], plan))
    return found


def _has_map_of(plan: Plan, other: Plan, timeline: Timeline) -> bool:
    at, there = (plan.arena_bytes, plan.offsets), (other.arena_bytes, other.offsets)
    return at == there and timeline.spans(plan) == timeline.spans(other)


def drawn_plans(out: Console, named: Mapping[str, Plan], timeline: Timeline) -> RenderableType:
    """The memory maps of several plans, by their names, on one scale, side by side where there is
    room."""
    scale, palette = Scale.of([*named.values()]), _palette(out)
    alike = _alike(named, timeline)
    headings = [Text(f"{' and '.join(names)}, {plan.arena_bytes:,} bytes") for names, plan in alike]
    plans = [plan for _, plan in alike]
    each = out.width // len(plans) - 2
    least = scale.margin + min(timeline.length, SMALLEST) + 3
    beside = each >= max(least, *map(len, headings))
    width = each if beside else _width(out)
    frame = ChartFrame.within(width, timeline.length, scale.margin)
    maps = [memory_map(plan, timeline, frame, scale, palette) for plan in plans]
    key = legend(plans[0], timeline, _width(out), scale, palette)
    below = (key, *_undrawn(plans, timeline, frame.axis, scale), Text())
    if not beside:
        return Group(*chain.from_iterable(zip(headings, maps, strict=True)), *below)
    grid = Table.grid(padding=(0, 2))
    for _ in plans:
        grid.add_column(no_wrap=True)
    grid.add_row(*headings)
    grid.add_row(*maps)
    return Group(grid, *below)
