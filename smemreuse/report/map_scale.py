"""The axis of bytes of a memory map in characters: where its rows end."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from smemreuse.results.plan import Plan

_ROWS, _MOST_ROWS = 8, 16
"""Rows of a map, and how many there may be where that lets rows end where buffers do."""


@dataclass(frozen=True)
class Scale:
    """The byte at which each row ends; maps on one scale can be held against each other.

    `exact` says that every buffer begins and ends on the edge of a row. Rows are of equal height,
    unless there are `edges`: then each row ends at one of these, or cuts what lies between two.
    """

    ends: tuple[int, ...]
    exact: bool
    edges: frozenset[int] = frozenset()

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Scale:
        """About `_ROWS` rows up to the largest arena, on the buffers' edges if these allow it."""
        top = max(plan.arena_bytes for plan in plans)
        edges = sorted({edge for plan in plans for edge in _edges(plan)} | {0, top})
        if top == 0:
            return cls((top,), exact=True)
        unit = math.gcd(*edges)
        pieces = top // unit
        if pieces <= _MOST_ROWS:
            most = max(1, _ROWS // pieces)
            rows = pieces * max(n for n in range(1, most + 1) if unit % n == 0)
            return cls(_even(top, rows), exact=True)
        if len(edges) - 1 <= _MOST_ROWS:
            return cls(tuple(_between(edges)), exact=True, edges=frozenset(edges))
        return cls(_even(top, min(_ROWS, top)), exact=False)

    @property
    def top(self) -> int:
        return self.ends[-1]

    @property
    def rows(self) -> int:
        return len(self.ends)

    @property
    def margin(self) -> int:
        """Characters to the left of a map: the bytes."""
        return len(f"{self.top:,}")

    def label(self, row: int) -> str:
        """The byte at which a row ends; empty where no buffer begins or ends there."""
        end = self.ends[row]
        return f"{end:,}" if not self.edges or end in self.edges else ""

    def used(self, arena: int) -> int:
        """The rows that an arena reaches into."""
        return sum(begin < arena for begin in (0, *self.ends[:-1]))

    def covered(self, begin: int, end: int) -> range:
        """The rows whose middle a buffer covers, at least the one in which it begins."""
        if begin >= end:
            return range(0)
        middles = ((low + high) // 2 for low, high in pairwise((0, *self.ends)))
        found = [row for row, middle in enumerate(middles) if begin <= middle < end]
        if found:
            return range(found[0], found[-1] + 1)
        first = min(self.rows - 1, bisect_right(self.ends, begin))
        return range(first, first + 1)

    def __str__(self) -> str:
        if self.edges:
            return "rows end where buffers do, not to scale"
        row = f"{round(self.top / self.rows):,} bytes"
        if self.exact:
            return f"a row: {row}"
        return (
            f"a row: about {row}; of several buffers in it the smallest is drawn, or they alternate"
        )


def _edges(plan: Plan) -> Iterator[int]:
    for buffer, offset in plan.offsets.items():
        yield offset
        yield offset + (buffer.size or 0)


def _even(top: int, rows: int) -> tuple[int, ...]:
    return tuple(top * (row + 1) // rows for row in range(rows))


def _between(edges: Sequence[int]) -> Iterator[int]:
    """The ends of rows between these edges: one row at least, and about `_ROWS` in all."""
    for begin, end in pairwise(edges):
        rows = max(1, min(end - begin, round((end - begin) * _ROWS / edges[-1])))
        yield from (begin + (end - begin) * (row + 1) // rows for row in range(rows))
