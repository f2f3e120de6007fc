"""The fewest changes with which a plan is as small as it has to be, for a block more or a limit; or
those with which it gets as small as is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter

from smemreuse.explainer.changes import Changes, Trial, Trials
from smemreuse.planner import Problem

MOST_TOGETHER = 4
"""Changes that are tried together."""
MOST_TRIED = 400
"""Combinations of so many changes that are looked at."""


class Search:
    """Looks for the fewest changes with which an arena is as small as it has to be: each next one
    against what is heaviest. `reaches` tells of an arena, in bytes, and the changes made for it
    whether it is; `most` is the largest that is."""

    def __init__(self, changes: Changes, reaches: Callable[[int, Trials], bool], most: int):
        self._changes = changes
        self._reaches = reaches
        self._most = most
        self._left = MOST_TRIED
        self._cut = False

    @property
    def is_complete(self) -> bool:
        """Whether no larger combination could reach it, either."""
        return not self._cut

    def smallest(self) -> tuple[Trials, int] | None:
        """The fewest changes, of these those with the least to change, and the arena with them."""
        if not self._reaches(self._changes.problem_with(self._changes.all_steps()).lower_bound, ()):
            return None
        for together in range(1, MOST_TOGETHER + 1):
            self._cut = False
            seen: set[frozenset[Trial]] = set()
            found = [*self._reaching((), together, seen)]
            if found:
                return min(found, key=lambda one: (sum(step.weight for step in one[0]), one[1]))
            if not self._cut or self._left <= 0:
                return None
        return None

    def _reaching(
        self, steps: Trials, more: int, seen: set[frozenset[Trial]]
    ) -> Iterator[tuple[Trials, int]]:
        """Combinations that begin with `steps`, have up to so many more, and reach it."""
        if frozenset(steps) in seen:
            return
        seen.add(frozenset(steps))
        if self._left <= 0:
            self._cut = True
            return
        self._left -= 1
        problem = self._changes.problem_with(steps)
        if steps and self._reaches(problem.lower_bound, ()):
            arena = self._changes.packed(steps, self._most)
            if arena is not None and self._reaches(arena, steps):
                yield steps, arena
                return
            problem = self._changes.problem_with(steps)
        for together in _with_one_more(self._changes, steps, problem):
            if not more:
                self._cut = True
                return
            yield from self._reaching(together, more - 1, seen)


def least_known(changes: Changes) -> tuple[Trials, tuple[int, ...]]:
    """Changes of which each next one lowers the arena most, until none does, and the arena after
    each. Others may lower it further: they are not tried in all combinations."""
    steps: Trials = ()
    arenas: tuple[int, ...] = ()
    while len(steps) < MOST_TOGETHER:
        arena, best = (arenas[-1] if arenas else changes.arena_bytes), None
        tried = _with_one_more(changes, steps, changes.problem_with(steps))
        bounded = [(changes.problem_with(one).lower_bound, one) for one in tried]
        for bound, together in sorted(bounded, key=itemgetter(0)):
            if bound >= arena:
                break
            found = changes.packed(together, arena - 1)
            if found is not None:
                arena, best = found, together
        if best is None:
            break
        steps, arenas = best, (*arenas, arena)
    return steps, arenas


def _with_one_more(changes: Changes, steps: Trials, problem: Problem) -> Iterator[Trials]:
    """The changes and each one that may lower what is heaviest then, and can be had with them."""
    for step in changes.steps_against(problem):
        together = (*steps, step)
        again = any(step.stages and step.stages == one.stages for one in steps)
        if not (again or step in steps or changes.spills(together)) and changes.agree(together):
            yield together
