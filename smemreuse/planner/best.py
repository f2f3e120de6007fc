"""The default packer: many greedy orders, stopping at the first that meets the lower bound.

Each order places its items one after the other at the lowest aligned offset where they meet no
conflicting item (first fit), as in TFLite's greedy-by-size and XLA's heap simulator. An order that
misses the bound is mended by moving the item that ends highest to the front, a few times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemreuse.planner.linear_scan import linear_scan
from smemreuse.planner.problem import Placement, Problem, align_up, arena_of

_REPAIRS = 8


def best(problem: Problem) -> Placement:
    """The smallest arena that the portfolio finds; deterministic."""
    found: Placement | None = None
    for placement in _portfolio(problem):
        if found is None or placement.arena < found.arena:
            found = placement
        if found.arena <= problem.lower_bound:
            break
    return found or Placement((), 0)


def _portfolio(problem: Problem) -> Iterator[Placement]:
    for order in _orders(problem):
        for _ in range(_REPAIRS):
            placement = first_fit(problem, order)
            yield placement
            highest = max(
                order, key=lambda item: placement.offsets[item] + problem.sizes[item], default=None
            )
            if highest is None or order[0] == highest:
                break
            order = [highest, *(item for item in order if item != highest)]
    if problem.intervals is not None:
        scanned = linear_scan(problem).offsets
        yield Placement(scanned, arena_of(problem, scanned))


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
