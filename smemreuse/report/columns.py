"""Tables that fit the width there is: names and sentences fold, numbers and single words never do.

Where that is not enough, headings are stacked, and in the end each row is a paragraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

NUMBER, WORD, NAME, TEXT = "number", "word", "name", "text"
"""Kinds of columns. Numbers stand to the right; names and texts fold where there is no room."""

_LEAST = {NAME: 24, TEXT: 12}
"""Characters that a column has at least, if it has use for as many."""

_ENDLESS = 100_000
_GAP = "  "


Row = TypeVar("Row", contravariant=True)


@dataclass(frozen=True)
class Col(Generic[Row]):
    """A column: its heading and kind, what it shows of a row, and whether it is there at all."""

    heading: str
    kind: str
    cell: Callable[[Row], str | Text]
    shown: bool = True


def cells_of(*columns: tuple[str, str]) -> Iterator[Col[tuple[str, ...]]]:
    """Columns, by heading and kind, of rows that are their cells already."""
    for place, (heading, kind) in enumerate(columns):
        yield Col(heading, kind, itemgetter(place))


def table_of(out: Console, title: str, rows: Iterable[Row], *columns: Col[Row]) -> FittingTable:
    """A line for each row, with a cell for each column that is shown."""
    shown = [one for one in columns if one.shown]
    table = FittingTable(out, title, *((one.heading, one.kind) for one in shown))
    for row in rows:
        cells = (one.cell(row) for one in shown)
        table.add_row(*(one if isinstance(one, Text) else Text(one) for one in cells))
    return table


def number(value: int | None) -> str:
    """`1,024`; `-` for what is not known."""
    return "-" if value is None else f"{value:,}"


def percent_text(value: int, base: int) -> str:
    """How far a value is from another, in percent of that; `-` where that is 0."""
    if not base:
        return "-"
    if value == base:
        return "0 %"
    change = 100 * (value - base) / base
    return f"{change:+.1f} %" if abs(change) >= _ROUNDED else f"{change:+.3f} %"


_ROUNDED = 0.05
"""Percent below which one decimal would say 0."""


BLOCKS = "blocks per SM"
"""The heading of `blocks_text`."""


def by_registers(resident: int, by_memory: int | str, words: str = "") -> str:
    """The legend of `blocks_text` by an example of the table in which registers stop some; `words`
    are on the registers."""
    of_each = f" ({words})" if words else ""
    return (
        f"{BLOCKS}, `{resident} (regs)`: registers allow {resident}{of_each}; shared memory, "
        f"threads and barriers would allow {by_memory}."
    )


def registers_stop(resident: int | None, by_memory: int | None) -> bool:
    """Whether registers stop blocks that shared memory, threads and barriers allow."""
    return resident is not None and resident != by_memory


def blocks_text(resident: int | None, by_memory: int | None) -> str:
    """Blocks that an SM holds at once, and whether registers stop more."""
    return f"{resident} (regs)" if registers_stop(resident, by_memory) else number(by_memory)


class FittingTable(Table):
    """Columns are headings and their kinds, cells are `Text`; ASCII if `out` is no terminal."""

    def __init__(self, out: Console, title: str, *columns: tuple[str, str]):
        super().__init__(box=box.SIMPLE_HEAD if out.is_terminal else box.ASCII)
        self._above = Text(title) if title else None  # the table, and so not folded to its width
        self._least = [_LEAST.get(kind) for _, kind in columns]
        for heading, kind in columns:
            self.add_column(
                heading,
                justify="right" if kind == NUMBER else "left",
                overflow="fold",
                no_wrap=kind not in _LEAST,
            )

    def fits(self, out: Console) -> bool:
        """Whether there is room, for which headings may have to be stacked, and are."""
        if self._least_width(out) > out.width:
            for column in self.columns:
                if column.no_wrap:
                    column.header = str(column.header).replace(" ", "\n")
            if out.is_terminal:
                self.show_edge, self.padding = False, (0, 1, 0, 0)
        return self._least_width(out) <= out.width

    def _least_width(self, out: Console) -> int:
        """Characters below which a column would fold that must not, or too narrowly."""
        beside = sum(self.padding[1::2]) + 1
        columns = zip(self.columns, self._least, strict=True)
        cells = sum(min(_longest(out, column), least or _ENDLESS) for column, least in columns)
        return cells + beside * len(self.columns) + (1 if self.show_edge else -1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._above is not None:
            yield self._above
        if self.fits(console):
            yield from super().__rich_console__(console, options)
        else:
            yield from self._paragraphs(console.width)

    def _paragraphs(self, width: int) -> Iterator[RenderableType]:
        """The first cell of each row, then the others with their headings."""
        headings = [" ".join(str(column.header).split()) for column in self.columns[1:]]
        for first, *rest in zip(*(column.cells for column in self.columns), strict=True):
            named = zip(headings, rest, strict=True)
            cells = (
                Text(f"{name} ").append_text(cell)
                for name, cell in named
                if isinstance(cell, Text) and cell
            )
            yield first
            yield from (Text("  ").append_text(line) for line in packed(cells, width - 2))


def packed(cells: Iterable[Text], width: int) -> list[Text]:
    """Lines of `width` characters with as many cells on each as there is room for."""
    lines: list[Text] = []
    for cell in cells:
        if lines and len(lines[-1]) + len(_GAP) + len(cell) <= width:
            lines[-1].append(_GAP).append_text(cell)
        else:
            lines.append(cell.copy())
    return lines


def _longest(out: Console, column: Column) -> int:
    endless = out.options.update(width=_ENDLESS)
    cells = (column.header, *column.cells)
    return max(Measurement.get(out, endless, cell).maximum for cell in cells)
