"""Packs with as little sharing as a capacity allows: every shared byte asks for a barrier (rule 6).

Starting from the packer's tightest placement, pairs that share bytes are forbidden to, the dearest
first, where the packer then stays within the capacity and the whole becomes cheaper. At the end no
single pair can be dropped that way, as far as this packer can tell; there may be a cheaper whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from smemreuse.planner.problem import (
    Placement,
    Problem,
    validate,
    with_conflicts,
    without_reuse,
)

MAX_TRIALS = 200
"""Placements tried at most; the kernels in the field have up to 32 buffers and few shared pairs."""

Cost = Callable[[int, int], int]

Sufficing = Callable[[Problem, int], Placement]
"""A packer that need not look for less than so many bytes."""


def least_sharing(problem: Problem, capacity: int, cost: Cost, packer: Sufficing) -> Placement:
    """The placement within `capacity` bytes, or the tightest one if that is larger.

    `cost(one, other)` is how dear it is that two items share bytes, such as how often they take
    turns. Raises `PlanError` if the packer breaks the problem.
    """
    apart = _packed(without_reuse(problem), packer, 0)
    if apart.arena <= capacity:
        return apart
    best = _packed(problem, packer, 0)
    if best.arena > capacity:
        return best
    tried: set[tuple[int, int]] = set()
    price = total_cost(problem, best, cost)
    for _ in range(MAX_TRIALS):
        open_pairs = [pair for pair in sharing_pairs(problem, best) if pair not in tried]
        if not open_pairs:
            break
        dearest = max(open_pairs, key=lambda pair: (cost(*pair), -pair[0], -pair[1]))
        tried.add(dearest)
        stricter = with_conflicts(problem, [dearest])
        placement = _packed(stricter, packer, best.arena)
        if placement.arena <= capacity:
            asked = total_cost(problem, placement, cost)
            if asked < price:
                problem, best, price = stricter, placement, asked
    return best


def total_cost(problem: Problem, placement: Placement, cost: Cost) -> int:
    """What all the sharing of a placement costs."""
    return sum(cost(*pair) for pair in sharing_pairs(problem, placement))


def sharing_pairs(problem: Problem, placement: Placement) -> Iterator[tuple[int, int]]:
    """The pairs of items that have bytes in common, the smaller number first."""
    offsets, sizes = placement.offsets, problem.sizes
    for one, other in combinations(range(len(sizes)), 2):
        begin = max(offsets[one], offsets[other])
        if begin < min(offsets[one] + sizes[one], offsets[other] + sizes[other]):
            yield one, other


def _packed(problem: Problem, packer: Sufficing, enough: int) -> Placement:
    placement = packer(problem, enough)
    validate(problem, placement)
    return placement
