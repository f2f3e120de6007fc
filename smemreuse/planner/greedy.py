"""Greedy packers: each places its items one after the other, where they meet no conflict.

First fit takes the lowest aligned offset that is free of the conflicting items placed before, as in
TFLite's greedy-by-size and XLA's heap simulator; best fit the smallest gap. The portfolio tries
several orders. An order that misses the bound is repaired by moving the item that ends highest to
the front, a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from smemreuse.planner.linear_scan import linear_scan
from smemreuse.planner.problem import Placement, Problem, align_up, arena_of

REPAIRS = 8

GREEDY_WORK = 20_000_000
"""Conflicts that the portfolio may look at: thousands of buffers get fewer orders."""


def greedy(problem: Problem, enough: int) -> Placement:
    """The smallest arena of the portfolio, or its first of at most `enough` bytes."""
    found: Placement | None = None
    for placement in _portfolio(problem):
        if found is None or placement.arena < found.arena:
            found = placement
        if found.arena <= enough:
            break
    return found or Placement((), 0)


def _portfolio(problem: Problem) -> Iterator[Placement]:
    """The placements of the greedy packers, within a fixed amount of work.

    First fit in each order, first fit in repaired orders, best fit, and the linear scan for live
    ranges.
    """
    orders = list(_orders(problem))
    passes = GREEDY_WORK // (2 * problem.conflicts.number_of_edges() + len(problem.sizes) + 1) + 1
    for _ in range(1 + REPAIRS):
        repaired = []
        for order in orders[: max(passes, 0)]:
            placement = first_fit(problem, order)
            yield placement
            better = _repaired(problem, order, placement)
            if better is not None:
                repaired.append(better)
        passes -= len(orders)
        orders = repaired
    for order in list(_orders(problem))[: max(passes, 0)]:
        yield best_fit(problem, order)
    if problem.intervals is not None:
        scanned = linear_scan(problem).offsets
        yield Placement(scanned, arena_of(problem, scanned))


def _repaired(problem: Problem, order: list[int], placement: Placement) -> list[int] | None:
    """The order with the item that ends highest first; None if it is that already."""
    ends = {item: placement.offsets[item] + problem.sizes[item] for item in order}
    highest = max(order, key=lambda item: ends[item], default=None)
    if highest is None or order[0] == highest:
        return None
    return [highest, *(item for item in order if item != highest)]


def _orders(problem: Problem) -> Iterator[list[int]]:
    """The orders of items that the greedy packers try, such as by decreasing size or degree."""
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
    return _fitted(problem, order, lambda gaps: next(gaps, None))


def best_fit(problem: Problem, order: Sequence[int]) -> Placement:
    """Places items in `order`, each in the smallest gap between the conflicts placed before.

    In order of size this is TFLite's greedy-by-size planner.
    """
    return _fitted(problem, order, lambda gaps: min(gaps, key=lambda gap: gap.room, default=None))


class _FreeGap(NamedTuple):
    """Bytes between two conflicting items: an item's offset there, and the room from it on."""

    offset: int
    room: int


def _fitted(
    problem: Problem, order: Sequence[int], choose: Callable[[Iterator[_FreeGap]], _FreeGap | None]
) -> Placement:
    """Each item in the gap that is chosen, or on top of all that it conflicts with."""
    offsets: dict[int, int] = {}
    for item in order:
        placed = (other for other in problem.neighbours[item] if other in offsets)
        taken = sorted((offsets[other], offsets[other] + problem.sizes[other]) for other in placed)
        gap = choose(_gaps(taken, problem.sizes[item], problem.alignments[item]))
        top = max((end for _, end in taken), default=0)
        offsets[item] = align_up(top, problem.alignments[item]) if gap is None else gap.offset
    placed_all = tuple(offsets[item] for item in range(len(problem.sizes)))
    return Placement(placed_all, arena_of(problem, placed_all))


def _gaps(taken: Sequence[tuple[int, int]], size: int, alignment: int) -> Iterator[_FreeGap]:
    """The gaps below and between sorted ranges that hold `size` bytes, the lowest first."""
    offset = 0
    for begin, end in taken:
        if offset + size <= begin:
            yield _FreeGap(offset, begin - offset)
        if end > offset:
            offset = align_up(end, alignment)
