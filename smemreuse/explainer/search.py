"""The fewest changes with which a plan is as small as it has to be, for a block more or a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from smemreuse.explainer.changes import Changes, Trial, Trials

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
        for step in self._changes.steps_against(problem):
            again = any(step.stages and step.stages == one.stages for one in steps)
            together = (*steps, step)
            if again or step in steps or self._changes.spills(together):
                continue
            if not self._changes.agree(together):
                continue
            if not more:
                self._cut = True
                return
            yield from self._reaching(together, more - 1, seen)
