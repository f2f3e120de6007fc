"""A problem in its own units.

Sizes that are all multiples of a kilobyte are a harder problem for a solver than the same sizes in
kilobytes: what sizes and alignments have in common is divided out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from smemreuse.planner.problem import Placement, Problem, arena_of


@dataclass(frozen=True)
class Reduced:
    """A smaller problem with the same answers.

    It has the `items` of the original that have a size and a live range, renumbered. One byte of
    `problem` stands for `unit` bytes.
    """

    problem: Problem
    items: tuple[int, ...]
    unit: int
    original: Problem

    def restored(self, placement: Placement) -> Placement:
        """A placement of the reduced problem as one of the original; the other items lie at 0."""
        offsets = [0] * len(self.original.sizes)
        for item, offset in zip(self.items, placement.offsets, strict=True):
            offsets[item] = offset * self.unit
        return Placement(tuple(offsets), arena_of(self.original, offsets), placement.proved)


def reduced(problem: Problem) -> Reduced | None:
    """The same question in smaller numbers; None where the conflicts are no live ranges'.

    Any placement can be pushed down until each offset is a sum of sizes, rounded up to alignments
    on the way: a multiple of the unit. So a capacity of whole units loses no answer.
    """
    if problem.intervals is None:
        return None
    items = tuple(
        item
        for item, (begin, end) in enumerate(problem.intervals)
        if problem.sizes[item] > 0 and begin < end
    )
    spans = [problem.intervals[item] for item in items]
    unit = _unit([problem.sizes[item] for item in items], [problem.alignments[i] for i in items])
    small = Problem.from_intervals(
        [problem.sizes[item] // unit for item in items],
        [max(problem.alignments[item] // unit, 1) for item in items],
        spans,
    )
    return Reduced(small, items, unit, problem)


def _unit(sizes: list[int], alignments: list[int]) -> int:
    """The largest divisor of all sizes that is a factor or a multiple of each alignment."""
    unit = math.gcd(*sizes) or 1
    while True:
        smaller = unit
        for alignment in set(alignments):
            if smaller % alignment:
                smaller = math.gcd(smaller, alignment)
        if smaller == unit:
            return unit
        unit = smaller
