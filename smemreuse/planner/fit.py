"""What `smemreuse pack` asks: does it fit, and what is smallest.

Both begin with the greedy portfolio and the short search that a lowering gets, in units as large as
the sizes allow. Whether a capacity is enough is then left to searches that race in processes of
their own; the first that decides ends the others. CP-SAT, where it is installed, runs in one of
them and our own search in the others, each with its own orders: they fail at different problems.
What one process finds is the same in every run, but which of them is first may differ, and with it
the packing; whether one exists does not.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from smemreuse.planner import cpsat, exact
from smemreuse.planner.best import NODES, smallest
from smemreuse.planner.exact import Budget
from smemreuse.planner.greedy import greedy
from smemreuse.planner.problem import Placement, Problem
from smemreuse.planner.reduced import reduced

GRACE = 0.5
"""Seconds that a process gets beyond its deadline, to say what it has found."""


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
    if found.arena > capacity:
        if max(problem.lower_bound, *problem.sizes) > capacity:
            return Decision(False, found)
        placed, known = _searched(problem, capacity, budget, processes)
        if placed is None:
            return Decision(False if known else None, found)
        found = placed
    return Decision(True, replace(found, proved=found.arena == problem.lower_bound))


def minimized(problem: Problem, budget: Budget) -> Placement:
    """The smallest arena found, `proved` where it is known that none is smaller."""
    small = reduced(problem)
    if small is None:
        return smallest(problem, budget)
    return small.restored(smallest(small.problem, budget))


def _searched(
    problem: Problem, capacity: int, budget: Budget, processes: int
) -> tuple[Placement | None, bool]:
    """A placement that fits, if one is found, and whether the question is answered."""
    small = reduced(problem)
    if small is None or len(small.problem.sizes) > exact.MAX_ITEMS:
        return _answered(lambda allowed: exact.within(problem, capacity, allowed), budget)
    units = capacity // small.unit
    short = Budget(min(NODES, budget.nodes), budget.deadline)
    found, known = _answered(lambda allowed: exact.within(small.problem, units, allowed), short)
    if not known and budget.nodes > NODES:
        found, known = _answered(
            lambda allowed: raced(small.problem, units, allowed, processes), budget
        )
    return None if found is None else small.restored(found), known


def _answered(
    search: Callable[[Budget], Placement | None], budget: Budget
) -> tuple[Placement | None, bool]:
    """The placement that a search finds, and whether its question is answered; Ctrl-C leaves it
    open.
    """
    try:
        found = search(budget)
    except KeyboardInterrupt:
        budget.exhausted = True
        return None, False
    return found, found is not None or not budget.exhausted


# The race --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaceAnswer:
    """A placement that fits, or None: there is none if `decided`, else none was found in time."""

    placement: Placement | None
    decided: bool


def raced(problem: Problem, capacity: int, budget: Budget, processes: int) -> Placement | None:
    """A placement of at most `capacity` bytes, by several searches that race in separate processes.

    None if there is none, or if the budget is exhausted, also by Ctrl-C. The problem needs live
    ranges. Every search gets a process, even if `processes` is smaller.
    """
    deadline = budget.deadline if budget.deadline is not None else math.inf
    context = multiprocessing.get_context("spawn")
    running: dict[Connection, BaseProcess] = {}
    end = time.time() + deadline - time.monotonic()  # a clock that processes share everywhere
    try:
        with _interrupts_ignored():
            for number in range(max(processes, 1 + cpsat.available())):
                ours, theirs = context.Pipe(duplex=False)
                arguments = (theirs, problem, capacity, end, number)
                runner: BaseProcess = context.Process(target=_run, args=arguments, daemon=True)
                runner.start()
                theirs.close()
                running[ours] = runner
        answer = _first_answer(dict(running), deadline)
    except KeyboardInterrupt:
        answer = RaceAnswer(None, decided=False)
    finally:
        for runner in running.values():
            runner.kill()
            runner.join()
    budget.exhausted = not answer.decided
    return answer.placement


def _first_answer(running: dict[Connection, BaseProcess], deadline: float) -> RaceAnswer:
    """The first decided answer of the racing processes; undecided if none comes before the
    deadline.
    """
    while running:
        ready = wait(list(running), _seconds_until(deadline + GRACE))
        if not ready:
            break
        for connection in [one for one in running if one in ready]:
            del running[connection]
            try:
                answer = connection.recv()
            except EOFError:  # it was killed, for want of memory maybe
                continue
            if answer.decided:
                return RaceAnswer(answer.placement, decided=True)
    return RaceAnswer(None, decided=False)


def _seconds_until(deadline: float) -> float | None:
    return None if deadline == math.inf else max(deadline - time.monotonic(), 0)


def _run(out: Connection, problem: Problem, capacity: int, end: float, number: int) -> None:
    """The body of one racing process: searches, and sends its answer through `out`.

    The answer is small enough for the pipe to take at once.
    """
    budget = Budget(sys.maxsize, time.monotonic() + end - time.time())
    if number == 0 and cpsat.available():
        found = cpsat.within(problem, capacity, budget, workers=1)
    else:
        seed = number - cpsat.available()
        found = exact.within_by_turns(problem, capacity, budget, seed)
    out.send(RaceAnswer(found, decided=found is not None or not budget.exhausted))
    out.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes begun here leave Ctrl-C to their parent."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread, to which alone signals come
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
