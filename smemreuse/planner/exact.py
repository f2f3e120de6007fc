"""An exact search for a placement within a capacity, after minimalloc (Moffitt, ASPLOS 2023).

Every placement can be pushed down until each item lies at 0 or right on top of an item that it
conflicts with. So items are placed in order of their offsets, each on top of the conflicting items
placed before it: its *floor*. Three rules cut the tree, none of them a solution:

- Offsets never decrease, and items at one offset come in the order of their numbers.
- An item is not placed where another one could still end at or below its offset: that other could
  be pushed down beneath, so the same solution is met where it is placed first.
- In a clique the items yet to be placed need the sum of their sizes above the lowest of their
  floors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import networkx as nx

from smemreuse.planner.problem import Placement, Problem, align_up, arena_of

MAX_CLIQUES = 500
MAX_ITEMS = 800
"""The search recurses once for each item; more of them do not get one."""


@dataclass
class Budget:
    """What a search may still spend: `nodes` of its tree, and seconds up to `deadline`, if any."""

    nodes: int
    deadline: float | None = None
    exhausted: bool = field(default=False, init=False)

    def spend(self) -> bool:
        """Takes one node; False when there is none left."""
        self.nodes -= 1
        late = self.deadline is not None and time.monotonic() > self.deadline
        self.exhausted = self.exhausted or late or self.nodes < 0
        return not self.exhausted


def within(problem: Problem, capacity: int, budget: Budget) -> Placement | None:
    """A placement of at most `capacity` bytes; None if there is none or the budget is exhausted."""
    items = [item for item, size in enumerate(problem.sizes) if size > 0]
    if len(items) > MAX_ITEMS:
        budget.exhausted = True
        return None
    search = _Search(problem, capacity, budget)
    if not search.place(items, (0, -1)):
        return None
    offsets = tuple(search.offsets)
    return Placement(offsets, arena_of(problem, offsets))


def minimized(problem: Problem, found: Placement, budget: Budget) -> Placement:
    """The smallest placement, `found` if it is; the smallest met if the budget is exhausted."""
    step = math.gcd(*problem.sizes, *problem.alignments) or 1
    while found.arena > problem.lower_bound:
        smaller = within(problem, (found.arena - 1) // step * step, budget)
        if smaller is None:
            break
        found = smaller
    return found


class _Search:
    def __init__(self, problem: Problem, capacity: int, budget: Budget):
        self.offsets = [0] * len(problem.sizes)
        self._sizes = problem.sizes
        self._alignments = problem.alignments
        self._neighbours = [sorted(problem.conflicts[item]) for item in range(len(self.offsets))]
        self._cliques = cliques(problem)
        self._cliques_of: list[list[int]] = [[] for _ in self.offsets]
        for number, clique in enumerate(self._cliques):
            for item in clique:
                self._cliques_of[item].append(number)
        self._floors = [0] * len(self.offsets)
        self._placed = [size == 0 for size in problem.sizes]
        self._capacity = capacity
        self._budget = budget

    def place(self, remaining: list[int], last: tuple[int, int]) -> bool:
        """Places all of `remaining` at or behind `last`, an offset and an item's number."""
        if not remaining:
            return True
        if not self._budget.spend():
            return False
        floors, sizes = self._floors, self._sizes
        limit = min(floors[item] + sizes[item] for item in remaining)
        candidates = [
            item for item in remaining if floors[item] < limit and (floors[item], item) > last
        ]
        for item in sorted(candidates, key=lambda item: (floors[item], -sizes[item], item)):
            raised = self._put(item)
            if raised is not None:
                rest = [other for other in remaining if other != item]
                if self.place(rest, (self.offsets[item], item)):
                    return True
                self._take_back(item, raised)
            if self._budget.exhausted:
                return False
        return False

    def _put(self, item: int) -> list[tuple[int, int]] | None:
        """Places an item on its floor: the floors it raised, or None where nothing can follow."""
        offset = self.offsets[item] = self._floors[item]
        self._placed[item] = True
        end = offset + self._sizes[item]
        raised = []
        touched = set(self._cliques_of[item])
        for other in self._neighbours[item]:
            if not self._placed[other] and self._floors[other] < end:
                raised.append((other, self._floors[other]))
                self._floors[other] = align_up(end, self._alignments[other])
                touched.update(self._cliques_of[other])
        if end <= self._capacity and all(map(self._fits, touched)):
            return raised
        self._take_back(item, raised)
        return None

    def _take_back(self, item: int, raised: Sequence[tuple[int, int]]) -> None:
        self._placed[item] = False
        for other, floor in raised:
            self._floors[other] = floor

    def _fits(self, number: int) -> bool:
        """Whether what is left of a clique fits above the lowest of its floors."""
        left = [item for item in self._cliques[number] if not self._placed[item]]
        if not left:
            return True
        lowest = min(self._floors[item] for item in left)
        return lowest + sum(self._sizes[item] for item in left) <= self._capacity


def cliques(problem: Problem) -> list[list[int]]:
    """Items of which no two may share: those live at one position, or cliques of the graph."""
    if problem.intervals is None:
        found = islice(nx.find_cliques(problem.conflicts), MAX_CLIQUES)
        return [sorted(clique) for clique in found]
    intervals = problem.intervals
    cliques = []
    active: list[int] = []
    grown = False
    ranges = [item for item, (begin, end) in enumerate(intervals) if begin < end]
    for item in sorted(ranges, key=lambda item: intervals[item]):
        begin = intervals[item][0]
        still = [other for other in active if intervals[other][1] > begin]
        if grown and len(still) < len(active):
            cliques.append(active)
        grown = True
        active = [*still, item]
    return [*cliques, active] if active else cliques
