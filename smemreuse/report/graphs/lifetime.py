"""Lifetimes as a table: program order downwards, a column for each buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html

import graphviz

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.labels import entry_label, label
from smemreuse.report.data import Subject
from smemreuse.report.palette import tint
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Band, Span, Step, SyncMark, Timeline

_WIDTH = 70
_ACCESS = {Access.READ: "r", Access.WRITE: "w", Access.READ_WRITE: "rw"}
_BAND_FILLS = {"loop": (tint(4), tint(4, 0.8)), "branch": (tint(1, 0.3), tint(1, 0.6))}
_MARK_FILLS = {"barrier": "#333333", "wait": "#888888"}


@dataclass(frozen=True)
class _Row:
    """A step, or a mark that stands before the step at `position`."""

    position: int
    step: Step | None = None
    mark: SyncMark | None = None


@dataclass(frozen=True)
class Lifetimes:
    """Gen and kill in words, what each statement reads (r) and writes (w), loops as nested bands at
    the left, barriers and waits as lines across."""

    subject: Subject
    plan: Plan
    timeline: Timeline

    def draw(self, prefix: str, into: graphviz.Digraph) -> None:
        table = _Table(self.timeline, self.timeline.spans(self.plan))
        into.node(f"{prefix}lifetime", f"<{table.text()}>", shape="plain")


class _Table:
    def __init__(self, timeline: Timeline, spans: Mapping[Buffer, Span]):
        self._timeline = timeline
        self._spans = spans
        self._rows = list(_rows(timeline))
        self._row_of = {row.position: at for at, row in enumerate(self._rows) if row.step}
        self._depth = 1 + max((band.depth for band in timeline.bands), default=-1)
        self._bands: dict[int, list[Band]] = {}
        for band in timeline.bands:
            self._bands.setdefault(self._row_of[band.begin], []).append(band)

    def text(self) -> str:
        """The table as Graphviz's HTML-like label."""
        names = [escape(self._timeline.names[buffer]) for buffer in self._spans]
        bands = f'<TD COLSPAN="{self._depth}"></TD>' if self._depth else ""
        heads = "".join(f"<TD><B>{name}</B></TD>" for name in names)
        rows = [f"<TR><TD><B>#</B></TD>{bands}<TD><B>statement</B></TD>{heads}</TR>"]
        busy = [0] * self._depth  # rows that a band above still covers
        for at, row in enumerate(self._rows):
            rows.append(
                f"<TR>{self._number(row)}{self._band_cells(at, busy)}{self._cells(row)}</TR>"
            )
        body = "".join(rows)
        return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="1" CELLPADDING="2">{body}</TABLE>'

    def _number(self, row: _Row) -> str:
        return f'<TD ALIGN="RIGHT">{row.position if row.step else ""}</TD>'

    def _band_cells(self, at: int, busy: list[int]) -> str:
        """Cells for the depths at which no band from above is still open."""
        begins = {band.depth: band for band in self._bands.get(at, ())}
        cells = []
        for depth in range(self._depth):
            if busy[depth]:
                busy[depth] -= 1
            elif depth in begins:
                band = begins[depth]
                span = self._row_of[band.end - 1] - at + 1
                fill = _BAND_FILLS[band.kind][depth % 2]
                cells.append(f'<TD ROWSPAN="{span}" WIDTH="12" BGCOLOR="{fill}"></TD>')
                busy[depth] = span - 1
            else:
                cells.append('<TD WIDTH="12"></TD>')
        return "".join(cells)

    def _cells(self, row: _Row) -> str:
        if row.step is None:
            return self._mark_cells(row)
        step = row.step
        indent = "&nbsp;" * (2 * step.depth)
        shown = entry_label(step.stmt, step.is_end, _WIDTH)
        line = f" <I>line {step.stmt.line}</I>" if step.stmt.line and not step.is_end else ""
        return f'<TD ALIGN="LEFT">{indent}{escape(shown)}{line}</TD>' + "".join(
            self._buffer_cell(number, buffer, step) for number, buffer in enumerate(self._spans)
        )

    def _buffer_cell(self, number: int, buffer: Buffer, step: Step) -> str:
        begin, end = self._spans[buffer]
        if not begin <= step.position < end:
            return "<TD></TD>"
        words = []
        if step.position == begin:
            words.append("gen")
        if buffer in step.touches:
            words.append(_ACCESS[step.touches[buffer]])
        if step.position == end - 1:
            words.append("kill")
        return f'<TD BGCOLOR="{tint(number)}">{" ".join(words)}</TD>'

    def _mark_cells(self, row: _Row) -> str:
        """A line across; its statement on it."""
        assert row.mark is not None
        fill = _MARK_FILLS[row.mark.kind]
        text = escape(label(row.mark.stmt, _WIDTH))
        line = f" line {row.mark.stmt.line}" if row.mark.stmt.line else ""
        return (
            f'<TD COLSPAN="{1 + len(self._spans)}" ALIGN="LEFT" BGCOLOR="{fill}" CELLPADDING="0">'
            f'<FONT COLOR="white" POINT-SIZE="10">{row.mark.kind}: {text}{line}</FONT></TD>'
        )


def _rows(timeline: Timeline) -> Iterator[_Row]:
    marks: dict[int, list[SyncMark]] = {}
    for mark in timeline.marks:
        marks.setdefault(mark.position, []).append(mark)
    for step in timeline.steps:
        yield from _before(step.position, marks.get(step.position, ()))
        yield _Row(step.position, step=step)
    yield from _before(timeline.length, marks.get(timeline.length, ()))


def _before(position: int, marks: Sequence[SyncMark]) -> Iterator[_Row]:
    return (_Row(position, mark=mark) for mark in marks)


def escape(text: str) -> str:
    """Text for an HTML-like label, in which a backslash would still mean something."""
    return escape_html(text).replace("\\", "\\\\")
