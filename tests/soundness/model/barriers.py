"""Barriers of threads, and mbarriers, as the PTX ISA has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from tests.soundness.model.modes import IllDefined
from tests.soundness.model.order import Clock


@dataclass(eq=False)
class Round:
    """One completion of a barrier: what those who came hand on to those who wait for it."""

    clock: Clock | None = None
    over: bool = False
    warps: set[int] = field(default_factory=set)
    """Those that were counted, by their numbers at the barrier."""

    def take_over(self, clock: Clock | None) -> None:
        if clock is not None:
            self.clock = clock if self.clock is None else np.maximum(self.clock, clock)


Wait: TypeAlias = Callable[[], "Round | None"]
"""The round that is waited for, as soon as it is over."""


def over(awaited: Round) -> Round | None:
    return awaited if awaited.over else None


def _over_at(rounds: Sequence[Round], number: int) -> Round | None:
    return over(rounds[number - 1]) if len(rounds) >= number else None


class Meeting:
    """A barrier that is complete when so many threads have come, whoever they are.

    PTX's `barrier`: whole warps come, each when the last of its threads does. `count` None is all
    threads that are still there.
    """

    def __init__(self, first: int, alive: np.ndarray) -> None:
        """Those that could come are numbered from `first` on; `alive` are not gone yet."""
        self._first = first
        self._come = np.zeros(len(alive), dtype=np.int64)
        self._arrivals = np.zeros(len(alive), dtype=np.int64)
        self._coming = [Round() for _ in range(0, len(alive), 32)]
        self._counted: list[list[Round]] = [[] for _ in range(0, len(alive), 32)]
        self._whole = 0
        self._count: int | None = None
        self.rounds = [Round()]
        """The last one is going on."""
        self.left(alive)

    def left(self, alive: np.ndarray) -> None:
        """Threads have returned."""
        self._gone = ~alive
        for warp in range(-(-len(alive) // 32)):
            self._come_whole(warp)
            self._complete()

    def arrive(self, ids: np.ndarray, count: int | None, clock: Clock | None = None) -> None:
        """Threads of one warp come."""
        if count == len(self._come):
            count = None
        if self._whole and count != self._count:
            raise IllDefined("a barrier for different numbers of threads")
        self._count = count
        here = ids - self._first
        self._come[here] += 1
        self._arrivals[here] += 1
        warp = int(here[0]) // 32
        self._coming[warp].take_over(clock)
        self._come_whole(warp)
        self._complete()

    def waits(self, ids: np.ndarray) -> Iterator[tuple[Wait, np.ndarray]]:
        """What threads of one warp that have just arrived wait for: the round in which the warp is
        counted for that arrival."""
        here = ids - self._first
        counted, arrivals = self._counted[int(here[0]) // 32], self._arrivals[here]
        for number in np.unique(arrivals).tolist():
            yield partial(_over_at, counted, number), ids[arrivals == number]

    def company(self) -> list[list[list[int]]]:
        """With which warps each warp has met, time after time."""
        return [[sorted(one.warps) for one in rounds] for rounds in self._counted]

    def _come_whole(self, warp: int) -> None:
        """Counts a warp if all threads of it have come that are still there."""
        come = self._come[warp * 32 : warp * 32 + 32]
        if come.any() and ((come > 0) | self._gone[warp * 32 : warp * 32 + 32]).all():
            np.maximum(come - 1, 0, out=come)
            self.rounds[-1].take_over(self._coming[warp].clock)
            self.rounds[-1].warps.add(warp)
            self._coming[warp] = Round()
            self._counted[warp].append(self.rounds[-1])
            self._whole += len(come)

    def _expected(self) -> int:
        """All threads that are still there, and those who came to this round and did not wait."""
        warps = np.split(self._gone, range(32, len(self._gone), 32))
        counted = self.rounds[-1].warps
        return sum(len(gone) for at, gone in enumerate(warps) if at in counted or not gone.all())

    def _complete(self) -> None:
        """Begins the next round if all have come."""
        needed = self._expected() if self._count is None else self._count
        if self._whole > needed > 0:
            raise IllDefined("more threads at a barrier than it takes")
        if self._whole and self._whole == needed:
            self._whole = 0
            self.rounds[-1].over = True
            self.rounds.append(Round())


class WarpMeeting:
    """`bar.warp.sync mask`: threads of one warp that name the same mask."""

    def __init__(self, lanes: np.ndarray, mask: int) -> None:
        self._lanes = lanes
        self._named = (mask >> np.arange(len(lanes))) & 1 != 0
        self._come = np.zeros(len(lanes), dtype=np.int64)
        self._going_on = Round()

    def there(self, alive: np.ndarray) -> np.ndarray:
        """Those of its threads that have not returned."""
        found: np.ndarray = self._lanes[alive[self._lanes]]
        return found

    def arrive(self, ids: np.ndarray, alive: np.ndarray, clock: Clock | None = None) -> Round:
        """The round that these threads wait for."""
        awaited = self._going_on
        awaited.take_over(clock)
        inside = ids - self._lanes[0]
        self._come[inside] += 1
        if not self._named[inside].all():
            raise IllDefined("a thread at a barrier that does not name it")
        needed = self._named & alive[self._lanes]
        if (self._come[needed] > 0).all():
            self._come[needed] -= 1
            awaited.over = True
            self._going_on = Round()
        return awaited


class Mbarrier:
    """Pending arrivals and bytes of the phase that is going on."""

    def __init__(self, count: int) -> None:
        self.initialize(count)

    def initialize(self, count: int) -> None:
        """In its first phase, whatever was before."""
        if count < 1:
            raise IllDefined("an mbarrier for no arrivals")
        self.count = self.pending = count
        self.bytes = self.phase = 0
        self._coming = Round()
        self.last = Round(over=True)
        """The phase before the one going on; it hands on what all phases so far have."""

    def arrive(self, arrivals: int, expected: int = 0, clock: Clock | None = None) -> None:
        """Each announces `expected` bytes first."""
        self._coming.take_over(clock)
        for _ in range(arrivals):
            self.bytes += expected
            if self.pending == 0:
                raise IllDefined("more arrivals in a phase than it takes")
            self.pending -= 1
            self._complete()

    def expect(self, count: int) -> None:
        """Bytes are announced."""
        self.bytes += count

    def take(self, count: int, clock: Clock | None = None) -> None:
        """Announced bytes have come."""
        self._coming.take_over(clock)
        self.bytes -= count
        self._complete()

    def hold(self) -> None:
        """One arrival more is due in this phase (`cp.async.mbarrier.arrive` without `noinc`)."""
        self.pending += 1

    def _complete(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            self.last = Round(self._coming.clock, over=True)

    def passes(self, parity: int) -> bool:
        """Whether the phase of that parity is complete: the one going on has the other."""
        if parity not in (0, 1):
            raise IllDefined("a wait for a number that is no parity")
        return self.phase % 2 != parity

    def over(self, parity: int) -> Round | None:
        return self.last if self.passes(parity) else None
