"""The second exact search: OR-Tools' CP-SAT, where it is installed.

It decides what the search of `exact` cannot: hundreds of items whose capacity is their peak live.
Several workers race there, so which of many packings comes out may differ between runs; whether one
exists does not. A lowering never comes here: its plans must be the same in every process, and a
compiler's process is no place for a solver's threads.
"""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from smemreuse.planner.exact import MAX_ITEMS, Budget
from smemreuse.planner.problem import Placement, Problem, arena_of

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver

WORKERS = max(8, os.cpu_count() or 1)
"""They search in different ways; with fewer than 8, some of the ways are missing."""

ALONE = 0.05
"""CP-SAT's deterministic time, a second or two, that one worker gets before the race: it mostly
suffices, and its packing is always the same."""

LARGEST = 2**62
"""Bytes, alignments and times beyond it are none of CP-SAT's numbers, which have 64 bits."""


def available() -> bool:
    """Whether OR-Tools is installed (`pip install 'smemreuse[solver]'`)."""
    return find_spec("ortools") is not None


def within(
    problem: Problem, capacity: int, budget: Budget, workers: int = WORKERS
) -> Placement | None:
    """A placement of at most `capacity` bytes; None if there is none or the budget is exhausted."""
    return _SatModel(problem, 0, capacity).solved(budget, workers)


def minimized(problem: Problem, found: Placement, budget: Budget) -> Placement:
    """The smallest placement, `found` if it is; the smallest met if the budget is exhausted."""
    bound = problem.lower_bound
    first = Budget(budget.nodes, _halfway(budget.deadline))
    tight = within(problem, bound, first)
    if tight is not None:
        return tight
    lower = bound if first.exhausted else bound + 1
    smaller = _SatModel(problem, lower, found.arena - 1, found).solved(budget)
    return smaller or found


def _halfway(deadline: float | None) -> float | None:
    now = time.monotonic()
    return None if deadline is None else now + (deadline - now) / 2


class _SatModel:
    """Items as rectangles of fixed sizes; the arena is between `lower` and `upper` bytes.

    With a `hint`, a placement that is known, the smallest arena is sought; else any will do.
    """

    def __init__(self, problem: Problem, lower: int, upper: int, hint: Placement | None = None):
        from ortools.sat.python import cp_model

        self._problem = problem
        self._cp = cp_model
        self._model = model = cp_model.CpModel()
        self._items = [item for item, size in enumerate(problem.sizes) if size > 0]
        self._possible = lower <= upper and all(problem.sizes[i] <= upper for i in self._items)
        self._fits_solver = upper <= LARGEST and _largest(problem) <= LARGEST
        if not self._possible or not self._fits_solver:
            return
        self._arena = model.new_int_var(lower, upper, "arena")
        self._steps = {}
        self._rows = {}
        for item in self._items:
            size, alignment = problem.sizes[item], problem.alignments[item]
            steps = model.new_int_var(0, (upper - size) // alignment, f"steps {item}")
            model.add(steps * alignment + size <= self._arena)
            self._steps[item] = steps
            self._rows[item] = model.new_fixed_size_interval_var(
                steps * alignment, size, f"bytes {item}"
            )
            if hint is not None:
                model.add_hint(steps, min(hint.offsets[item], upper - size) // alignment)
        self._keep_apart()
        if hint is not None:
            model.minimize(self._arena)

    def _keep_apart(self) -> None:
        """Adds the constraints that conflicting items share no bytes.

        Items with live ranges are rectangles (time by bytes) that must not overlap.
        """
        model, problem = self._model, self._problem
        if problem.intervals is None:
            for one, other in problem.conflicts.edges:
                if one in self._rows and other in self._rows:
                    model.add_no_overlap([self._rows[one], self._rows[other]])
            return
        times = {time for item in self._items for time in problem.intervals[item]}
        rank = {time: index for index, time in enumerate(sorted(times))}
        spans = {
            item: (rank[problem.intervals[item][0]], rank[problem.intervals[item][1]])
            for item in self._items
        }
        live = [item for item, (begin, end) in spans.items() if begin < end]
        columns = [
            model.new_fixed_size_interval_var(begin, end - begin, "live")
            for begin, end in (spans[item] for item in live)
        ]
        model.add_no_overlap_2d(columns, [self._rows[item] for item in live])
        model.add_cumulative(columns, [problem.sizes[item] for item in live], self._arena)

    def solved(self, budget: Budget, race: int = WORKERS) -> Placement | None:
        """A placement; None if there is none, or the budget is exhausted and says so."""
        if not self._possible:
            return None
        if len(self._items) > MAX_ITEMS or not self._fits_solver:
            budget.exhausted = True
            return None
        solver = self._cp.CpSolver()
        status = self._cp.UNKNOWN
        for workers in sorted({1, race}):
            left = _left(budget)
            if left <= 0 or status in (self._cp.OPTIMAL, self._cp.INFEASIBLE):
                break
            parameters = solver.parameters
            parameters.num_workers = workers
            parameters.max_time_in_seconds = left
            parameters.max_deterministic_time = ALONE if workers < race else float("inf")
            status = solver.solve(self._model)
        if status == self._cp.INFEASIBLE:
            return None
        budget.exhausted = status != self._cp.OPTIMAL
        return self._placement(solver) if status in (self._cp.OPTIMAL, self._cp.FEASIBLE) else None

    def _placement(self, solver: CpSolver) -> Placement:
        offsets = [0] * len(self._problem.sizes)
        for item, steps in self._steps.items():
            offsets[item] = solver.value(steps) * self._problem.alignments[item]
        return Placement(tuple(offsets), arena_of(self._problem, offsets))


def _largest(problem: Problem) -> int:
    """The largest alignment or time of a problem, without its sign."""
    times = (abs(time) for interval in problem.intervals or () for time in interval)
    return max((*problem.alignments, *times), default=0)


def _left(budget: Budget) -> float:
    """Seconds until the budget's deadline."""
    return float("inf") if budget.deadline is None else budget.deadline - time.monotonic()
