"""The exact search for a placement within a capacity, after minimalloc (Moffitt, ASPLOS 2023).

Every placement can be pushed down until each item lies at 0 or right on top of an item that it
conflicts with. So items are placed in order of their offsets, each on its *floor*: the end of the
highest conflicting item that is placed, aligned. These rules cut the tree, none of them a solution:

- Offsets never decrease, and items at one offset come in the order of their numbers.
- An item is not placed where another one could still end at or below its offset: that other could
  be pushed down beneath, so the same solution is met where it is placed first.
- In a *clique*, items of which no two may share, those left need the sum of their sizes above the
  lowest of their floors and above the last offset. NumPy checks all cliques at once.
- Where no unplaced live range crosses from one clique to the next, both sides are decided alone: a
  failure on one side is not repeated for each packing of the other.
- An item without unplaced conflicts whose placement does not help takes its siblings with it.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from smemreuse.planner.problem import Placement, Problem, arena_of

MAX_CLIQUES = 500
MAX_ITEMS = 800
"""The search recurses for each item; more of them do not get one."""

FIRST_LIMIT = 400
"""Nodes that each order gets in the first round of `within_by_turns`."""

LARGEST = 2**60
"""Bytes of sizes and alignments together up to which 64 bits do; beyond, Python's integers."""

Offsets = NDArray[np.int64]
Order = Sequence[int]


@dataclass
class Budget:
    """What a search may still spend: `nodes` of its tree, and time up to `deadline`, if there is
    one.
    """

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
    order = sorted(range(len(problem.sizes)), key=lambda item: (-problem.sizes[item], item))
    return _searched(problem, cliques(problem), capacity, budget, order)


def within_by_turns(
    problem: Problem, capacity: int, budget: Budget, seed: int = 0
) -> Placement | None:
    """As `within`, for problems with live ranges: several orders of the items are searched in turn.

    Which order decides a problem fastest differs. The result is deterministic for one `seed`; other
    seeds try other orders.
    """
    together = cliques(problem)
    for order, nodes in _turns(problem, together, seed):
        turn = Budget(min(nodes, budget.nodes), budget.deadline)
        found = _searched(problem, together, capacity, turn, order)
        if found is not None or not turn.exhausted:
            return found
        budget.nodes -= nodes
        if not budget.spend():
            break
    return None


def minimized(problem: Problem, found: Placement, budget: Budget) -> Placement:
    """The smallest placement, `found` if it is; the smallest met if the budget is exhausted."""
    step = math.gcd(*problem.sizes, *problem.alignments) or 1
    while found.arena > problem.lower_bound:
        smaller = within(problem, (found.arena - 1) // step * step, budget)
        if smaller is None:
            break
        found = smaller
    return found


def _searched(
    problem: Problem, together: list[list[int]], capacity: int, budget: Budget, order: Order
) -> Placement | None:
    """A placement within `capacity` bytes, by one search in this order of the items.

    None if there is none, or if the budget is exhausted and says so. `together` are the cliques.
    """
    if max((problem.lower_bound, *problem.sizes)) > capacity:
        return None
    # Others neither take bytes nor conflict: they lie at 0.
    order = [item for item in order if problem.sizes[item] > 0 and problem.conflicts[item]]
    offsets = [0] * len(problem.sizes)
    if order:
        if len(order) > MAX_ITEMS:
            budget.exhausted = True
            return None
        search = _PlacementSearch(problem, together, order, capacity, budget)
        with _recursion(len(order)):
            if not search.succeeds():
                return None
        for item, offset in zip(order, search.offsets, strict=True):
            offsets[item] = offset
    return Placement(tuple(offsets), arena_of(problem, offsets))


@contextmanager
def _recursion(items: int) -> Iterator[None]:
    """Raises Python's recursion limit for a search over so many items, and restores it
    afterwards.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 3 * items)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


_ORDERS = (("fill", "width", "area"), ("fill", "area", "width"), ("width", "area", "fill"))


def _turns(
    problem: Problem, together: list[list[int]], seed: int
) -> Iterator[tuple[list[int], int]]:
    """Orders of the items, each with the nodes that its search may spend: twice as many in each
    round.

    Every order comes plain first (for seed 0 alone), then shuffled. They sort by how full an item's
    fullest clique is, by its length in time, and by its area.
    """
    sizes = np.asarray(problem.sizes, dtype=np.float64)
    fill = np.zeros(len(sizes))
    for members in together:
        fill[members] = np.maximum(fill[members], sizes[members].sum())
    width = np.asarray([end - begin for begin, end in problem.intervals or ()], dtype=np.float64)
    measures = {"fill": fill, "width": width, "area": sizes * width}
    choices = random.Random(seed)
    for round_ in count():
        for keys in _ORDERS:
            for shaken in (False, True) if seed == 0 else (True, True):
                noise = [choices.gauss(0, 0.3 if shaken else 0) for _ in problem.sizes]
                ranks = [
                    measures[key] * (1 if key == "fill" else np.exp(np.asarray(noise)))
                    for key in keys
                ]
                order = np.lexsort([-rank for rank in reversed(ranks)])
                yield order.tolist(), FIRST_LIMIT << round_


class _PlacementSearch:
    """One search tree. Items are renumbered in the order that breaks ties between equal floors.

    An item's floor is the lowest offset (bytes) that the items placed so far leave it. It is
    `_placed` for an item that is placed, or belongs to another independent part.
    """

    def __init__(
        self,
        problem: Problem,
        together: list[list[int]],
        order: Order,
        capacity: int,
        budget: Budget,
    ):
        self.offsets = [0] * len(order)
        self._capacity = capacity
        self._budget = budget
        sizes = [problem.sizes[item] for item in order]
        alignments = [problem.alignments[item] for item in order]
        self._placed = 1 + sum(sizes) + sum(alignments)
        self._type = np.int64 if self._placed + capacity < LARGEST else object
        self._sizes = np.asarray(sizes, dtype=self._type)
        self._alignments = np.asarray(alignments, dtype=self._type)
        self._aligned = any(alignment > 1 for alignment in alignments)
        number = {item: index for index, item in enumerate(order)}
        self._above = [
            np.asarray(sorted(number[i] for i in problem.conflicts[item] if i in number), np.int64)
            for item in order
        ]
        members = [sorted(number[i] for i in clique if i in number) for clique in together]
        members = [clique for clique in members if clique]
        self._members = np.asarray([item for clique in members for item in clique], np.int64)
        self._starts = np.cumsum([0, *map(len, members)][:-1])
        self._left = np.asarray([sum(sizes[item] for item in one) for one in members], self._type)
        cliques_of: list[list[int]] = [[] for _ in order]
        for index, clique in enumerate(members):
            for item in clique:
                cliques_of[item].append(index)
        self._cliques_of = [np.asarray(one, np.int64) for one in cliques_of]
        self._first = [one[0] if one else 0 for one in cliques_of]
        # How many unplaced ranges cross from a clique to the next; in a graph all hang together.
        self._crossing = np.zeros(max(len(members) - 1, 0), np.int64)
        for one in self._cliques_of:
            self._crossing[one[:-1]] += 1
        if problem.intervals is None:
            self._crossing += len(order)

    def succeeds(self) -> bool:
        """Whether a placement is found, which is then in `offsets`; False also if the budget is
        exhausted.
        """
        floors = np.zeros(len(self.offsets), self._type)
        return self._all_fit(floors, 0) and self._parts(floors, (0, len(self._starts)), (0, -1))

    def _parts(self, floors: Offsets, part: tuple[int, int], last: tuple[int, int]) -> bool:
        """Places the unplaced items of the cliques `part`, independent parts of them one by one."""
        begin, end = part
        crossing = self._crossing[begin : end - 1]
        if crossing.all():
            return self._place(floors, part, last)
        cuts = (np.flatnonzero(crossing == 0) + begin + 1).tolist()
        left = np.flatnonzero(floors < self._placed).tolist()
        pieces = []
        for low, high in zip([begin, *cuts], [*cuts, end], strict=True):
            items = [item for item in left if low <= self._first[item] < high]
            if items:
                pieces.append((len(items), low, high, items))
        for _, low, high, items in sorted(pieces):  # the smallest first: it fails soonest
            own = np.full_like(floors, self._placed)
            own[items] = floors[items]
            if not self._place(own, (low, high), last):
                return False
        return True

    def _place(self, floors: Offsets, part: tuple[int, int], last: tuple[int, int]) -> bool:
        """Places all items; the next one at its floor, not before `last` (offset, item number)."""
        lowest, number = last
        limit = int((np.maximum(floors, lowest) + self._sizes).min())
        if limit >= self._placed:
            return True
        if not self._budget.spend():
            return False
        candidates = np.flatnonzero((floors < limit) & (floors >= lowest))
        offsets = floors[candidates]
        for index in np.argsort(offsets, kind="stable").tolist():
            item, offset = int(candidates[index]), int(offsets[index])
            if offset == lowest and item < number:
                continue
            if self._placed_at(floors, part, item, offset):
                return True
            if self._budget.exhausted or not (floors[self._above[item]] < self._placed).any():
                return False
        return False

    def _placed_at(self, floors: Offsets, part: tuple[int, int], item: int, offset: int) -> bool:
        """Whether all other items can be placed once `item` lies at `offset`."""
        size, above, cliques_of = self._sizes[item], self._above[item], self._cliques_of[item]
        if offset + size > self._capacity:
            return False
        raised = floors.copy()
        raised[above] = np.maximum(raised[above], self._aligned_up(above, offset + size))
        raised[item] = self._placed
        self.offsets[item] = offset
        self._left[cliques_of] -= size
        self._crossing[cliques_of[:-1]] -= 1
        done = self._all_fit(raised, offset) and self._parts(raised, part, (offset, item))
        self._left[cliques_of] += size
        self._crossing[cliques_of[:-1]] += 1
        return done

    def _aligned_up(self, above: Offsets, end: int) -> Offsets | int:
        """The floors of the items above one that ends at byte `end`: the end, aligned for each."""
        if not self._aligned:
            return end
        alignments = self._alignments[above]
        aligned: Offsets = -(-end // alignments) * alignments
        return aligned

    def _all_fit(self, floors: Offsets, lowest: int) -> bool:
        """Whether the unplaced items of every clique still fit below the capacity; a necessary
        condition.
        """
        lowest_of = np.minimum.reduceat(floors[self._members], self._starts)
        ends = np.maximum(lowest_of, lowest) + self._left
        return not bool(((ends > self._capacity) & (lowest_of < self._placed)).any())


def cliques(problem: Problem) -> list[list[int]]:
    """Maximal sets of items that all conflict with each other.

    With live ranges these are the sets live at one position, in order of time; else the first
    `MAX_CLIQUES` maximal cliques of the graph.
    """
    if problem.intervals is None:
        found = islice(nx.find_cliques(problem.conflicts), MAX_CLIQUES)
        return [sorted(clique) for clique in found]
    intervals = problem.intervals
    maximal = []
    active: list[int] = []
    ranges = [item for item, (begin, end) in enumerate(intervals) if begin < end]
    for item in sorted(ranges, key=lambda item: intervals[item]):
        begin = intervals[item][0]
        still = [other for other in active if intervals[other][1] > begin]
        if len(still) < len(active):
            maximal.append(active)
        active = [*still, item]
    return [*maximal, active] if active else maximal
