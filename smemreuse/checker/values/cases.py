"""The cases in which a kernel is traced whose control flow depends on data.

A condition that is the same for all threads is true or false: each is a case. The length of a loop
is any number: the lengths that are tried are those below which the loop has shown all that it does,
and a large one. Where a loop repeats itself every `unit` rounds, by what is known for all rounds,
and what so many rounds do to mbarriers comes to nothing, any longer one does what a shorter one
does: docs/soundness.md has the argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.values.symbols import Key

SEEN = 3
"""Periods of a loop that are executed before others are left out. A byte may be no one's first,
then its buffer's, then overwritten: one period may be needed to get from each of these to the
next."""

LARGE = 1 << 16
"""The length that stands for all those that are not tried."""

MAX_CASES = 512
"""Cases of one kind of thread block."""

Given = dict[Key, int]
"""The assumptions of a case: outcomes of conditions, and loop lengths, by expression."""


@dataclass
class Need:
    """What lengths are to be tried: a loop repeats itself from `first` on, every `unit` rounds.

    `below` is how far what else depends on the length goes on to change for negative numbers; None
    where there is nothing else.
    """

    first: int = 0
    unit: int = 1
    below: int | None = None

    def lengths(self) -> range:
        """The lengths to be tried, beside the large one. Raises `Uncovered` if too many are."""
        least = 0 if self.below is None else -self.below - self.unit
        end = self.first + SEEN * self.unit
        if end - least > MAX_CASES:
            raise Uncovered("a loop of unknown length takes too long to repeat itself")
        return range(least, end)


@dataclass
class Fork:
    """An unknown condition or length: the values tried for it, and the cases in which it came
    up."""

    is_length: bool
    tried: dict[int, None] = field(default_factory=dict)
    cases: list[Given] = field(default_factory=list)


class Cases:
    """The cases of one kind of thread block; more of them turn up while they are traced.

    After the one in which all conditions hold comes the one in which none does, after that of a
    long loop that of the shortest: what is wrong with a plan most often shows in one of the two.
    With `short_first` the one without a round comes before the long one, which takes more time.
    """

    def __init__(self, *, short_first: bool = False) -> None:
        self._short_first = short_first
        self._open: list[Given] = [{}]
        self._forks: dict[Key, Fork] = {}
        self._needs: dict[Key, Need] = {}
        self._count = 0

    def __iter__(self) -> Iterator[Case]:
        while self._open:
            self._count += 1
            if self._count > MAX_CASES:
                raise Uncovered("data decide on too many ways through the kernel")
            contrary = self._count == 2 and not self._is_of_length(self._open[0])
            given = self._open.pop(0 if contrary else self._opposite() if self._count == 2 else -1)
            yield Case(self, given, usual=not contrary)

    def _is_of_length(self, case: Given) -> bool:
        """Whether the last assumption of a case is a length, not the outcome of a condition."""
        return self._forks[next(reversed(case))].is_length

    def _opposite(self) -> int:
        """The index of the open case whose last assumption is least (largest with
        `short_first`)."""
        farthest = max if self._short_first else min
        return farthest(range(len(self._open)), key=lambda at: [*self._open[at].values()][-1])

    def fork_length(self, key: Key, given: Given) -> int:
        """Chooses a length for a loop of unknown length; other lengths become cases of their
        own."""
        first, other = (0, LARGE) if self._short_first else (LARGE, LARGE)
        self.fork(key, given, first, True)
        self._try(key, range(other, other + 1))
        return first

    def fork(self, key: Key, given: Given, first: int, is_length: bool) -> None:
        """Splits the present case on an unknown value: `first` is tried now, the others later."""
        fork = self._forks.setdefault(key, Fork(is_length, {first: None}))
        fork.cases.append(dict(given))
        self._open += [{**given, key: value} for value in reversed(fork.tried) if value != first]
        if not is_length:
            self._try(key, range(2))

    def is_length(self, key: Key) -> bool:
        """Whether the value assumed for an expression is a loop length."""
        return self._forks[key].is_length

    def _try(self, key: Key, values: range) -> None:
        fork = self._forks[key]
        for value in reversed(values):  # the shortest loops come first
            if value not in fork.tried:
                fork.tried[value] = None
                self._open += [{**given, key: value} for given in fork.cases]

    def need(self, key: Key, first: int, period: int, below: int | None = None) -> None:
        """From `first` on, only a length's remainder modulo `period` matters."""
        need = self._needs.setdefault(key, Need())
        need.first, need.unit = max(need.first, first), math.lcm(need.unit, period)
        if below is not None:
            need.below = max(need.below or 0, below)
        if need.first + (SEEN + 1) * need.unit > LARGE:
            raise Uncovered("a loop of unknown length takes too long to repeat itself")
        self._try(key, need.lengths())


class Case:
    """The assumptions of one trace. A condition without one is assumed to hold if `usual`, else not
    to hold."""

    def __init__(
        self, cases: Cases | None = None, given: Given | None = None, *, usual: bool = True
    ):
        self._cases = cases or Cases()
        self._first = int(usual)
        self.given: Given = dict(given or {})

    def length(self, key: Key) -> int:
        """The rounds of a loop in this case."""
        if key not in self.given:
            self.given[key] = self._cases.fork_length(key, self.given)
        return self.given[key]

    def truth(self, key: Key) -> int:
        """Whether a condition holds in this case."""
        if key not in self.given:
            self._cases.fork(key, self.given, self._first, False)
            self.given[key] = self._first
        return self.given[key]

    def need(self, key: Key, first: int, period: int, below: int | None = None) -> None:
        """As `Cases.need`."""
        self._cases.need(key, first, period, below)

    def is_length(self, key: Key) -> bool:
        """Whether the value assumed for an expression is a loop length."""
        return self._cases.is_length(key)

    @property
    def lengths(self) -> Given:
        """The loop lengths that are assumed."""
        return {key: value for key, value in self.given.items() if self.is_length(key)}
