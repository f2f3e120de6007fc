"""Makes a random kernel smaller by making its list of choices smaller."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.soundness.kernels import Pick

Choices = list[int]


class Recorder:
    """Makes choices, from a list as far as it goes, and remembers them."""

    def __init__(self, random: Random | None = None, given: Choices | None = None):
        self.made: Choices = []
        self._random = random
        self._given = given or []

    def pick(self, low: int, high: int) -> int:
        if len(self.made) < len(self._given):
            choice = min(max(self._given[len(self.made)], low), high)
        else:
            choice = self._random.randint(low, high) if self._random is not None else low
        self.made.append(choice)
        return choice


def replay(choices: Choices) -> Pick:
    """The choices again; the lowest where there are none left."""
    return Recorder(given=choices).pick


def shrink(choices: Choices, fails: Callable[[Choices], bool], budget: int = 600) -> Choices:
    """Fewer and lower choices with which it still fails."""
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        size = max(len(choices) // 2, 1)
        while size:
            start = 0
            while start < len(choices):
                for candidate in (
                    choices[:start] + choices[start + size :],
                    choices[:start]
                    + [0] * len(choices[start : start + size])
                    + choices[start + size :],
                ):
                    tries += 1
                    if tries > budget:
                        return choices
                    if candidate != choices and fails(candidate):
                        choices, smaller = candidate, True
                        break
                else:
                    start += size
            size //= 2
    return choices
