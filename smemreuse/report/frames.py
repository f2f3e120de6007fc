"""What charts in characters are drawn in: program order across, with its scale, and a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from rich.text import Text

from smemreuse.report.palette import COLOURS, colour

INK = "black"
SMALLEST = 24
"""Columns of a map or chart; fewer where there is no room for so many."""
POSITION = "position"
"""The name of the row that is the scale of program order."""


class Axis:
    """Program order, of so many positions, on at most `width` columns."""

    def __init__(self, length: int, width: int):
        self.columns = max(1, min(length, width))
        self._length = max(1, length)

    @property
    def positions(self) -> int:
        """The most positions that one column stands for."""
        return -(-self._length // self.columns)

    def column(self, position: int) -> int:
        return min(self.columns - 1, position * self.columns // self._length)

    def span(self, begin: int, end: int) -> range:
        """The columns of a range of positions, at least one."""
        return range(self.column(begin), self.column(max(begin, end - 1)) + 1)

    def ticks(self) -> str:
        """Positions, each from its own column on, as far apart as leaves a space between any two:
        `0    5    10`."""
        widest = len(str(self._length - 1)) + 1
        least = min(self._length, widest * self._length / self.columns)
        steps = (number * 10**power for power in count() for number in (1, 2, 5))
        step = next(one for one in steps if one >= least)
        line = ""
        for position in range(0, self._length, step):
            line = f"{line:<{self.column(position)}}{position}"
        return line if len(line) <= self.columns else line[: line.rindex(" ")].rstrip()


@dataclass(frozen=True)
class ChartFrame:
    """So many characters to the left of an axis, and the axis."""

    margin: int
    axis: Axis

    @classmethod
    def within(cls, width: int, length: int, margin: int) -> ChartFrame:
        """As many columns as `width` characters leave beside the margin and the frame itself."""
        return cls(margin, Axis(length, width - margin - 3))

    def scale(self) -> Text:
        """The line of positions that stands above or below the columns."""
        return Text(f"{POSITION:>{self.margin}}  {self.axis.ticks()}", no_wrap=True)

    def line(
        self,
        name: str,
        cells: Sequence[str],
        numbers: dict[str, int] | None = None,
        palette: Sequence[str] = COLOURS,
    ) -> Text:
        """A row between its name and the right edge; cells that have a number have its colour."""
        text = Text(f"{name[: self.margin]:>{self.margin}} |", no_wrap=True)
        for cell in cells:
            number = (numbers or {}).get(cell)
            text.append(cell, None if number is None else f"{INK} on {colour(number, palette)}")
        return text.append("|")
