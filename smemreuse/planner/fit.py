"""The planner at its most patient, for `smemreuse pack`: does it fit, and what is smallest.

Both begin with the greedy portfolio and the short search that a lowering gets. Whether a capacity
is enough is then left to the searches of `race`, in units as large as the sizes allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from smemreuse.planner import exact, race
from smemreuse.planner.best import NODES, greedy, smallest
from smemreuse.planner.exact import Budget
from smemreuse.planner.problem import Placement, Problem
from smemreuse.planner.reduced import reduced


@dataclass(frozen=True)
class Decision:
    """Whether a capacity is enough, None if that is not known, and the smallest placement met."""

    fits: bool | None
    placement: Placement


def decided(problem: Problem, capacity: int, budget: Budget, processes: int = 1) -> Decision:
    """Whether all items fit into `capacity` bytes; the first placement that fits will do.

    Ctrl-C ends the search as the deadline does.
    """
    found = greedy(problem, capacity)
    if found.arena <= capacity:
        return Decision(True, _judged(problem, found))
    if max(problem.lower_bound, *problem.sizes) > capacity:
        return Decision(False, found)
    fitting, known = _searched(problem, capacity, budget, processes)
    if fitting is not None:
        return Decision(True, _judged(problem, fitting))
    return Decision(False if known else None, found)


def minimized(problem: Problem, budget: Budget) -> Placement:
    """The smallest arena found, `proved` where it is known that none is smaller."""
    small = reduced(problem)
    if small is None:
        return smallest(problem, budget)
    return small.restored(smallest(small.problem, budget))


def _judged(problem: Problem, placement: Placement) -> Placement:
    return replace(placement, proved=placement.arena == problem.lower_bound)


def _searched(
    problem: Problem, capacity: int, budget: Budget, processes: int
) -> tuple[Placement | None, bool]:
    """A placement that fits, if one is found, and whether the question is answered."""
    small = reduced(problem)
    if small is None or not race.applicable(small.problem):
        return _asked(lambda allowed: exact.within(problem, capacity, allowed), budget)
    units = capacity // small.unit
    short = Budget(min(NODES, budget.nodes), budget.deadline)
    found, known = _asked(lambda allowed: exact.within(small.problem, units, allowed), short)
    if not known and budget.nodes > NODES:
        found, known = _asked(
            lambda allowed: race.within(small.problem, units, allowed, processes), budget
        )
    return None if found is None else small.restored(found), known


def _asked(
    search: Callable[[Budget], Placement | None], budget: Budget
) -> tuple[Placement | None, bool]:
    try:
        found = search(budget)
    except KeyboardInterrupt:
        budget.exhausted = True
        return None, False
    return found, found is not None or not budget.exhausted
