"""Does it fit? A search that places live ranges upwards, for capacities close to their peak.

The tree is that of `exact`: each item on its floor, offsets never decreasing, nothing placed where
another item could end beneath. Four things make it decide hundreds of items:

- Ties between equal floors are broken by an order of the items, and which order does it differs
  from problem to problem. All have a turn, with twice the nodes in each round; the first is that of
  the fullest positions, which are the hardest to fill.
- A *section* is the set of items live at one position; only maximal ones count. What is left of
  each must fit above the lowest of its floors, and above the last offset. All are checked at once,
  in NumPy.
- Where no unplaced item crosses from one section to the next, both sides are decided alone: a
  failure on one side is not repeated for each packing of the other.
- An item with nothing above it that does not help takes its siblings with it.

The ideas are those of minimalloc (Moffitt, ASPLOS 2023).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from smemreuse.planner.exact import Budget, cliques
from smemreuse.planner.problem import Placement, Problem, arena_of

Numbers = NDArray[np.int64]
Measures = dict[str, NDArray[np.float64]]

FIRST_LIMIT = 400
"""Nodes that each order gets in the first round."""

LARGEST = 2**40
"""Bytes of a problem's sizes and alignments together: their sums stay exact in 64 bits."""

_PLACED = 2**61
"""The floor of what is placed, or belongs to another part."""


def applicable(problem: Problem) -> bool:
    """Whether the search knows such problems: live ranges, and numbers that NumPy adds exactly."""
    return problem.intervals is not None and (
        sum(problem.sizes) + sum(problem.alignments) <= LARGEST
    )


def within(problem: Problem, capacity: int, budget: Budget, seed: int = 0) -> Placement | None:
    """A placement of at most `capacity` bytes; None if there is none or the budget is exhausted.

    Deterministic for one `seed`; others try other orders. Items must have sizes and live ranges,
    as `reduced` leaves them. Recurses about twice for each item.
    """
    if problem.lower_bound > capacity:
        return None
    if not problem.sizes:
        return Placement((), 0)
    sections = _sections(problem)
    for order, nodes in _turns(_measures(problem, sections), seed):
        turn = Budget(min(nodes, budget.nodes), budget.deadline)
        offsets = _Search(problem, sections, order, capacity, turn).solved()
        budget.nodes -= nodes
        if offsets is not None:
            return Placement(offsets, arena_of(problem, offsets))
        if not turn.exhausted:
            return None
        if not budget.spend():
            break
    return None


def _turns(measures: Measures, seed: int) -> Iterator[tuple[list[int], int]]:
    """Orders and the nodes that each may spend: in every round the plain ones, of the first seed
    alone, and as many shaken ones."""
    choices = random.Random(seed)
    items = range(len(measures["width"]))
    for round_ in count():
        for keys in _ORDERS:
            for shaken in (False, True) if seed == 0 else (True, True):
                noise = [choices.gauss(0, 0.3 if shaken else 0) for _ in items]
                ranks = [
                    measures[key] * (1 if key == "fill" else np.exp(np.asarray(noise)))
                    for key in keys
                ]
                order = np.lexsort([-rank for rank in reversed(ranks)])
                yield order.tolist(), FIRST_LIMIT << round_


_ORDERS = (
    ("fill", "width", "area"),
    ("fill", "area", "width"),
    ("width", "area", "fill"),
)


@dataclass(frozen=True)
class _Sections:
    """Maximal sets of items live at once, in the order of time; each item is in those from its
    `first` to before its `last`."""

    members: Sequence[Sequence[int]]
    first: Numbers
    last: Numbers


def _sections(problem: Problem) -> _Sections:
    kept = cliques(problem)
    first = np.full(len(problem.sizes), len(kept))
    last = np.zeros(len(problem.sizes), dtype=np.int64)
    for number, members in enumerate(kept):
        for item in members:
            first[item] = min(first[item], number)
            last[item] = number + 1
    return _Sections(kept, first, last)


def _measures(problem: Problem, sections: _Sections) -> Measures:
    """What the orders go by: how full an item's fullest section is, its length and its area."""
    sizes = np.asarray(problem.sizes, dtype=np.float64)
    fill = np.zeros(len(sizes))
    for members in sections.members:
        fill[members] = np.maximum(fill[members], sizes[members].sum())
    width = np.asarray([end - begin for begin, end in problem.intervals or ()], dtype=np.float64)
    return {"fill": fill, "width": width, "area": sizes * width}


class _Search:
    """Items are renumbered in the order that breaks ties; floors are bytes, `_PLACED` for an item
    that is placed or belongs to another part."""

    def __init__(
        self,
        problem: Problem,
        sections: _Sections,
        order: Sequence[int],
        capacity: int,
        budget: Budget,
    ):
        self._order = order
        self._capacity = capacity
        self._budget = budget
        number = {item: index for index, item in enumerate(order)}
        self._sizes = np.asarray([problem.sizes[item] for item in order], dtype=np.int64)
        self._alignments = np.asarray([problem.alignments[item] for item in order], dtype=np.int64)
        self._aligned = bool((self._alignments > 1).any())
        self._above = [
            np.asarray(sorted(number[other] for other in problem.conflicts[item]), dtype=np.int64)
            for item in order
        ]
        self._first = sections.first[order].tolist()
        self._last = sections.last[order].tolist()
        members = [sorted(number[item] for item in members) for members in sections.members]
        self._members = np.asarray([item for one in members for item in one], dtype=np.int64)
        self._starts = np.cumsum([0, *map(len, members)][:-1])
        self._left = np.asarray([int(self._sizes[one].sum()) for one in members], dtype=np.int64)
        self._crossing = np.zeros(max(len(members) - 1, 0), dtype=np.int64)
        for first, last in zip(self._first, self._last, strict=True):
            self._crossing[first : last - 1] += 1
        self._offsets = [0] * len(order)

    def solved(self) -> tuple[int, ...] | None:
        """Offsets of the problem's items; None if there are none, or the budget is exhausted."""
        floors = np.zeros(len(self._order), dtype=np.int64)
        whole = (0, len(self._starts))
        if not self._all_fit(floors, 0) or not self._parts(floors, whole, (0, -1)):
            return None
        offsets = dict(zip(self._order, self._offsets, strict=True))
        return tuple(offsets[item] for item in range(len(offsets)))

    def _parts(self, floors: Numbers, part: tuple[int, int], last: tuple[int, int]) -> bool:
        """Places what is left of the sections of `part`, each independent part of them alone."""
        begin, end = part
        cuts = (np.flatnonzero(self._crossing[begin : end - 1] == 0) + begin + 1).tolist()
        if not cuts:
            return self._place(floors, part, last)
        bounds = list(zip([begin, *cuts], [*cuts, end], strict=True))
        pieces = []
        for low, high in bounds:
            items = [
                item
                for item in np.flatnonzero(floors < _PLACED).tolist()
                if low <= self._first[item] < high
            ]
            if items:
                pieces.append((len(items), low, high, items))
        for _, low, high, items in sorted(pieces):  # the smallest first: it fails soonest
            own = np.full_like(floors, _PLACED)
            own[items] = floors[items]
            if not self._place(own, (low, high), last):
                return False
        return True

    def _place(self, floors: Numbers, part: tuple[int, int], last: tuple[int, int]) -> bool:
        """Places all that have a floor at or behind `last`, an offset and an item's number."""
        lowest, number = last
        limit = int((np.maximum(floors, lowest) + self._sizes).min())
        if limit >= _PLACED:
            return True
        if not self._budget.spend():
            return False
        candidates = np.flatnonzero((floors < limit) & (floors >= lowest))
        offsets = floors[candidates]
        for index in np.argsort(offsets, kind="stable").tolist():
            item, offset = int(candidates[index]), int(offsets[index])
            if offset == lowest and item < number:
                continue
            if self._placed(floors, part, item, offset):
                return True
            if self._budget.exhausted or not (floors[self._above[item]] < _PLACED).any():
                return False
        return False

    def _placed(self, floors: Numbers, part: tuple[int, int], item: int, offset: int) -> bool:
        """Whether all can be placed with the item at that offset, its floor."""
        size = int(self._sizes[item])
        above = self._above[item]
        raised = floors.copy()
        raised[above] = np.maximum(raised[above], self._ceilings(above, offset + size))
        raised[item] = _PLACED
        self._offsets[item] = offset
        first, last = self._first[item], self._last[item]
        self._left[first:last] -= size
        self._crossing[first : last - 1] -= 1
        done = (
            offset + size <= self._capacity
            and self._all_fit(raised, offset)
            and self._parts(raised, part, (offset, item))
        )
        self._left[first:last] += size
        self._crossing[first : last - 1] += 1
        return done

    def _ceilings(self, above: Numbers, end: int) -> Numbers | int:
        """Where the items above may begin: the end of the one beneath, aligned."""
        if not self._aligned:
            return end
        alignments = self._alignments[above]
        return -(-end // alignments) * alignments

    def _all_fit(self, floors: Numbers, lowest: int) -> bool:
        """Whether what is left of each section fits above its lowest floor and the last offset."""
        section = np.minimum.reduceat(floors[self._members], self._starts)
        ends = np.maximum(section, lowest) + self._left
        return not bool(((ends > self._capacity) & (section < _PLACED)).any())
