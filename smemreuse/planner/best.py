"""The default packer: a portfolio of greedy orders, then an exact search.

Each order places its items one after the other at the lowest aligned offset where they meet no
conflicting item (first fit), as in TFLite's greedy-by-size and XLA's heap simulator. An order that
misses the bound is mended by moving the item that ends highest to the front, a few times. The first
placement that meets the lower bound is proved smallest. Where none does, smaller and smaller
capacities are searched exactly, until one is proved not to be enough or the budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smemreuse.planner.exact import Budget, within
from smemreuse.planner.linear_scan import linear_scan
from smemreuse.planner.problem import Placement, Problem, align_up, arena_of

_REPAIRS = 8


NODES = 2_000
"""Nodes of the search tree that a kernel's plan may take; its buffers are few."""

GREEDY_WORK = 20_000_000
"""Conflicts that the portfolio may look at: thousands of buffers get fewer orders."""


def best(problem: Problem) -> Placement:
    """The smallest arena found; deterministic."""
    return smallest(problem, Budget(NODES))


def smallest(problem: Problem, budget: Budget, capacity: int | None = None) -> Placement:
    """The smallest arena found within a budget, `proved` where it is known that none is smaller.

    With a `capacity`, in bytes, the first placement that fits will do; `proved` then says that
    none fits, where the one returned does not.
    """
    enough = problem.lower_bound if capacity is None else max(capacity, problem.lower_bound)
    found = Placement((), 0)
    for number, placement in enumerate(_portfolio(problem)):
        if number == 0 or placement.arena < found.arena:
            found = placement
        if found.arena <= enough:
            break
    step = math.gcd(*problem.sizes, *problem.alignments) or 1
    while found.arena > enough:
        wanted = enough if capacity is not None else (found.arena - 1) // step * step
        smaller = within(problem, wanted, budget)
        if smaller is None:
            return replace(found, proved=not budget.exhausted)
        found = smaller
    return replace(found, proved=found.arena <= problem.lower_bound)


def _portfolio(problem: Problem) -> Iterator[Placement]:
    orders = list(_orders(problem))
    passes = GREEDY_WORK // (2 * problem.conflicts.number_of_edges() + len(problem.sizes) + 1) + 1
    for _ in range(1 + _REPAIRS):
        mended = []
        for order in orders[: max(passes, 0)]:
            placement = first_fit(problem, order)
            yield placement
            better = _mended(problem, order, placement)
            if better is not None:
                mended.append(better)
        passes -= len(orders)
        orders = mended
    if problem.intervals is not None:
        scanned = linear_scan(problem).offsets
        yield Placement(scanned, arena_of(problem, scanned))


def _mended(problem: Problem, order: list[int], placement: Placement) -> list[int] | None:
    """The order with the item that ends highest first; None if it is that already."""
    ends = {item: placement.offsets[item] + problem.sizes[item] for item in order}
    highest = max(order, key=lambda item: ends[item], default=None)
    if highest is None or order[0] == highest:
        return None
    return [highest, *(item for item in order if item != highest)]


def _orders(problem: Problem) -> Iterator[list[int]]:
    sizes, conflicts = problem.sizes, problem.conflicts
    items = list(range(len(sizes)))
    degree = dict(conflicts.degree)
    weight = [sizes[item] + sum(sizes[other] for other in conflicts[item]) for item in items]
    yield sorted(items, key=lambda item: (-sizes[item], item))
    yield sorted(items, key=lambda item: (-degree[item], -sizes[item], item))
    yield sorted(items, key=lambda item: (-weight[item], -sizes[item], item))
    if problem.intervals is not None:
        begins = [begin for begin, _ in problem.intervals]
        ends = [end for _, end in problem.intervals]
        length = [end - begin for begin, end in problem.intervals]
        yield sorted(items, key=lambda item: (-length[item] * sizes[item], item))
        yield sorted(items, key=lambda item: (-length[item], -sizes[item], item))
        yield sorted(items, key=lambda item: (begins[item], -sizes[item], item))
        yield sorted(items, key=lambda item: (-ends[item], -sizes[item], item))


def first_fit(problem: Problem, order: Sequence[int]) -> Placement:
    """Places items in `order`, each at the lowest offset free of the conflicts placed before."""
    offsets: dict[int, int] = {}
    for item in order:
        taken = sorted(
            (offsets[other], offsets[other] + problem.sizes[other])
            for other in problem.conflicts[item]
            if other in offsets
        )
        offset, size = 0, problem.sizes[item]
        for start, end in taken:
            if offset + size <= start:
                break
            if end > offset:
                offset = align_up(end, problem.alignments[item])
        offsets[item] = offset
    placed = tuple(offsets[item] for item in range(len(problem.sizes)))
    return Placement(placed, arena_of(problem, placed))
