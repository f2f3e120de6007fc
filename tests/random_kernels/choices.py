"""Where random kernels take their choices from, and how a failing kernel is made smaller.

A choice is a whole number between two others, both included. Hypothesis makes them where it is to
look for a counterexample by itself; a seed makes them where many kernels are wanted fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias, TypeVar

from smemreuse.ir.expr import Var

Pick: TypeAlias = Callable[[int, int], int]
Choices: TypeAlias = list[int]
T = TypeVar("T")


class Grower:
    """Grows something out of choices."""

    def __init__(self, pick: Pick):
        self.pick = pick
        self.names = 0

    def chance(self, one_in: int) -> bool:
        return self.pick(1, one_in) == one_in

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.pick(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of `options`, each as often as its weight says."""
        number = self.pick(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            number -= weight
            if number < 0:
                return option
        raise AssertionError("unreachable")

    def shuffle(self, items: list[T]) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = self.pick(0, last)
            items[last], items[other] = items[other], items[last]

    def var(self, prefix: str) -> Var:
        self.names += 1
        return Var(f"{prefix}{self.names}")


# Seeds, and making smaller --------------------------------------------------------------------


def uneven(random: Random) -> Pick:
    """Choices of which low ones are likelier, as they are those of small kernels."""

    def pick(low: int, high: int) -> int:
        return low + int((high - low + 1) * random.random() ** 1.6)

    return pick


class Recorder:
    """Makes choices, from a list as far as it goes, and remembers them."""

    def __init__(self, source: Pick | None = None, given: Choices | None = None):
        self.made: Choices = []
        self._source = source
        self._given = given or []

    def pick(self, low: int, high: int) -> int:
        if len(self.made) < len(self._given):
            choice = min(max(self._given[len(self.made)], low), high)
        else:
            choice = self._source(low, high) if self._source is not None else low
        self.made.append(choice)
        return choice


def source_of(seed: int) -> Pick:
    """Choices that are always the same, even ones for an even seed."""
    random = Random(seed)
    return uneven(random) if seed % 2 else random.randint


def run_seed(seed: int, check: Callable[[Pick], None]) -> None:
    """Runs `check` on the choices of a seed.

    Raises what it raises, on choices as few as are found to fail in the same way: with an error of
    the same type, and of the same first line.
    """
    recorder = Recorder(source_of(seed))
    try:
        check(recorder.pick)
    except Exception as error:
        way = _way(error)

        def failure(choices: Choices) -> Exception | None:
            try:
                check(Recorder(given=choices).pick)
            except Exception as found:
                return found
            return None

        smaller = shrink(recorder.made, lambda choices: _way(failure(choices)) == way)
        raise (failure(smaller) or error) from error


def _way(error: Exception | None) -> tuple[type | None, str]:
    return type(error), str(error).partition("\n")[0]


def shrink(choices: Choices, fails: Callable[[Choices], bool], budget: int = 1_000) -> Choices:
    """Fewer and lower choices with which it still fails."""
    smaller = True
    while smaller:
        smaller = False
        size = max(len(choices) // 2, 1)
        while size:
            start = 0
            while start < len(choices):
                for candidate in _lower(choices, start, size):
                    budget -= 1
                    if budget < 0:
                        return choices
                    if fails(candidate):
                        choices, smaller = candidate, True
                        break
                else:
                    start += size
            size //= 2
    return choices


def _lower(choices: Choices, start: int, size: int) -> Iterator[Choices]:
    """Without some choices, with the lowest in their place, or with one that is lower."""
    before, some, after = choices[:start], choices[start : start + size], choices[start + size :]
    yield before + after
    if any(some):
        yield before + [0] * len(some) + after
    for one in some if size == 1 else ():
        yield from ([*before, lower, *after] for lower in (one // 2, one - 1) if lower > 0)
