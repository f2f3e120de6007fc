"""The packing problem, free of kernels: sizes, alignments and conflicts in, offsets out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import networkx as nx

from smemreuse.errors import PlanError


class Event(NamedTuple):
    """An item's live range begins, or it ends."""

    item: int
    begins: bool


_ENDS, _BEGINS, _IS_EMPTY = 0, 1, 2  # in this order at one position


@dataclass(frozen=True)
class Problem:
    """Items numbered from 0, with `sizes` and `alignments` in bytes.

    `conflicts` has an edge between two items that must not share a byte. `intervals` are the
    half-open live ranges that it was made from, for packers that scan them; None where the
    conflicts are no interval graph. `lower_bound` is proved: no arena can be smaller. `names` only
    break ties, so that results do not depend on anything but the problem. `events` is the order in
    which the items' ranges begin and end, for packers that play it through, where the intervals
    leave open what comes first at one position.
    """

    sizes: Sequence[int]
    alignments: Sequence[int]
    conflicts: nx.Graph
    lower_bound: int = 0
    intervals: Sequence[tuple[int, int]] | None = None
    names: Sequence[str] = ()
    events: Sequence[Event] | None = None

    @cached_property
    def neighbours(self) -> Sequence[Sequence[int]]:
        """The items that each item conflicts with: a graph's own views take longer."""
        adjacent = dict(self.conflicts.adjacency())
        return [tuple(adjacent[item]) for item in range(len(self.sizes))]

    def timeline(self) -> Sequence[Event] | None:
        """The beginnings and ends in order; None where there are no live ranges.

        What ends at a position is over before anything begins there, unless `events` says more.
        """
        if self.intervals is None or self.events is not None:
            return self.events
        moments = []
        for item, (begin, end) in enumerate(self.intervals):
            moments.append((begin, _BEGINS, item))
            moments.append((end, _ENDS if begin < end else _IS_EMPTY, item))
        return [Event(item, kind == _BEGINS) for _, kind, item in sorted(moments)]

    @staticmethod
    def from_intervals(
        sizes: Sequence[int],
        alignments: Sequence[int],
        intervals: Sequence[tuple[int, int]],
        names: Sequence[str] = (),
        events: Sequence[Event] | None = None,
    ) -> Problem:
        """The problem whose items conflict exactly where their live ranges overlap."""
        conflicts: nx.Graph = nx.Graph()
        conflicts.add_nodes_from(range(len(sizes)))
        bound = 0
        by_begin = sorted(range(len(sizes)), key=lambda item: intervals[item])
        active: list[int] = []
        live = 0  # bytes
        for item in by_begin:
            begin, end = intervals[item]
            still = [other for other in active if intervals[other][1] > begin]
            if len(still) < len(active):
                live = sum(sizes[other] for other in still)
            active = still
            if begin < end:
                conflicts.add_edges_from((item, other) for other in active)
                active.append(item)
                live += sizes[item]
            bound = max(bound, live)
        return Problem(sizes, alignments, conflicts, bound, intervals, names, events)


def with_conflicts(problem: Problem, pairs: Iterable[tuple[int, int]]) -> Problem:
    """The same items with additional conflicts; the result has no intervals.

    Its lower bound is the heaviest clique found by growing each item's clique greedily, which is a
    valid bound but not always the best one.
    """
    new = [pair for pair in dict.fromkeys(pairs) if not problem.conflicts.has_edge(*pair)]
    if not new:
        return problem
    conflicts, sizes = problem.conflicts.copy(), problem.sizes
    conflicts.add_edges_from(new)
    if len(new) == 1 and len(sizes) <= EXACT_CLIQUE_ITEMS:
        heaviest = max(_clique_of_pair(conflicts, sizes, *new[0]), *sizes)
    else:
        heaviest = _clique_bound(conflicts, sizes)
    bound = max(problem.lower_bound, heaviest)
    return Problem(sizes, problem.alignments, conflicts, bound, None, problem.names)


def bounded(
    sizes: Sequence[int],
    alignments: Sequence[int],
    pairs: Iterable[tuple[int, int]],
    names: Sequence[str] = (),
) -> Problem:
    """The problem of items with these conflicting pairs, with its lower bound."""
    conflicts: nx.Graph = nx.Graph(pairs)
    conflicts.add_nodes_from(range(len(sizes)))
    bound = max(_clique_bound(conflicts, sizes), *sizes, 0)
    return Problem(sizes, alignments, conflicts, bound, None, names)


def without_conflict(problem: Problem, one: int, other: int) -> Problem:
    """The same items, but that these two may share."""
    pairs = [pair for pair in problem.conflicts.edges if {*pair} != {one, other}]
    return bounded(problem.sizes, problem.alignments, pairs, problem.names)


def with_sizes(problem: Problem, sizes: Sequence[int]) -> Problem:
    """The same conflicts between items of other sizes."""
    bound = max(_clique_bound(problem.conflicts, sizes), *sizes)
    return replace(problem, sizes=sizes, lower_bound=bound, events=None)


def heaviest_together(problem: Problem) -> frozenset[int]:
    """The heaviest set found of items that all conflict with each other.

    All items, where they are too many for the exact search.
    """
    items = len(problem.sizes)
    if items > EXACT_CLIQUE_ITEMS:
        return frozenset(range(items))
    return frozenset(_heaviest_clique(problem.conflicts, problem.sizes)[0])


def _clique_of_pair(conflicts: nx.Graph, sizes: Sequence[int], one: int, other: int) -> int:
    """The weight of the heaviest clique that two items are in: where only their conflict is new, no
    other one is."""
    common = conflicts.subgraph(set(conflicts[one]) & set(conflicts[other]))
    return sizes[one] + sizes[other] + _clique_bound(common, sizes)


def _heaviest_clique(conflicts: nx.Graph, sizes: Sequence[int]) -> tuple[list[int], int]:
    """The items of the heaviest clique, and its weight, searched exactly."""
    weighted = conflicts.copy()
    nx.set_node_attributes(weighted, {item: sizes[item] for item in conflicts}, "bytes")
    items, weight = nx.max_weight_clique(weighted, "bytes")
    return items, int(weight)


def _clique_bound(conflicts: nx.Graph, sizes: Sequence[int]) -> int:
    """The weight of the heaviest clique among graphs small enough, else of a greedy one."""
    if len(sizes) <= EXACT_CLIQUE_ITEMS:
        return _heaviest_clique(conflicts, sizes)[1]
    heaviest_first = sorted(conflicts, key=lambda item: -sizes[item])
    number = {item: at for at, item in enumerate(heaviest_first)}
    near = [_bits(number[one] for one in conflicts[item] if one != item) for item in heaviest_first]
    best = 0
    for seed, item in enumerate(heaviest_first):
        weight, fitting = sizes[item], near[seed]
        while fitting:  # the lowest bit is the heaviest that conflicts with all so far
            lowest = (fitting & -fitting).bit_length() - 1
            weight += sizes[heaviest_first[lowest]]
            fitting &= near[lowest]
        best = max(best, weight)
    return best


def _bits(numbers: Iterable[int]) -> int:
    """A set of numbers, a bit each."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


EXACT_CLIQUE_ITEMS = 40
"""Buffers up to which the heaviest clique is searched for exactly; real kernels have up to 32."""


@dataclass(frozen=True)
class Placement:
    """Byte offsets, one for each item of the problem, and the bytes of the arena around them.

    `proved` is whether it is known that no arena is smaller.
    """

    offsets: tuple[int, ...]
    arena: int
    proved: bool = False


Packer = Callable[[Problem], Placement]


def align_up(value: int, alignment: int) -> int:
    """The first multiple of `alignment` at or after `value`."""
    return -(-value // alignment) * alignment


def arena_of(problem: Problem, offsets: Iterable[int]) -> int:
    """The end of the last item."""
    return max(
        (offset + size for offset, size in zip(offsets, problem.sizes, strict=True)), default=0
    )


def validate(problem: Problem, placement: Placement) -> None:
    """Raises `PlanError` naming the items if a placement breaks the problem it was made for."""

    def name(item: int) -> str:
        return problem.names[item] if item < len(problem.names) else f"item {item}"

    offsets, sizes = placement.offsets, problem.sizes
    if len(offsets) != len(sizes):
        raise PlanError(f"{len(offsets)} offsets for {len(sizes)} buffers")
    for item, offset in enumerate(offsets):
        if offset < 0 or offset % problem.alignments[item]:
            raise PlanError(f"{name(item)} at {offset} is not {problem.alignments[item]}-aligned")
        if offset + sizes[item] > placement.arena:
            raise PlanError(f"{name(item)} ends after the arena of {placement.arena} bytes")
    for one, two in problem.conflicts.edges:
        begin = max(offsets[one], offsets[two])
        if begin < min(offsets[one] + sizes[one], offsets[two] + sizes[two]):
            raise PlanError(f"{name(one)} and {name(two)} conflict and share bytes")


def without_reuse(problem: Problem) -> Problem:
    """The same items, each in conflict with every other: the layout side by side."""
    items = range(len(problem.sizes))
    conflicts: nx.Graph = nx.Graph(combinations(items, 2))
    conflicts.add_nodes_from(items)
    intervals = [(0, 1)] * len(problem.sizes)
    return Problem(
        problem.sizes, problem.alignments, conflicts, sum(problem.sizes), intervals, problem.names
    )
