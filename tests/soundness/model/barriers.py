"""Barriers of threads, and mbarriers, as the PTX ISA has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.soundness.model.modes import IllDefined
from tests.soundness.model.order import Clock


class _HandsOn:
    """What those who come hand on, and those who wait are handed."""

    def __init__(self) -> None:
        self._handed: Clock | None = None
        self.passed: Clock | None = None
        """What is handed on by those for whom one has waited that goes on now."""

    def take_over(self, clock: Clock | None) -> None:
        if clock is not None:
            handed = self._handed
            self._handed = clock if handed is None else np.maximum(handed, clock)

    def hand_on(self, *, all_before: bool = False) -> None:
        """A round is complete; with `all_before` it goes on from the rounds before it."""
        self.passed = self._handed
        if not all_before:
            self._handed = None


class Meeting(_HandsOn):
    """A barrier that is complete when so many threads have come, whoever they are.

    PTX's `barrier`: whole warps come, each when the last of its threads does. `count` None is all
    threads that are still there.
    """

    def __init__(self, first: int, alive: np.ndarray) -> None:
        """Those that could come are numbered from `first` on; `alive` are not gone yet."""
        super().__init__()
        self._first = first
        self._come = np.zeros(len(alive), dtype=np.int64)
        self._arrivals = np.zeros(len(alive), dtype=np.int64)
        self._counted: list[list[int]] = [[] for _ in range(0, len(alive), 32)]
        self._whole = 0
        self._count: int | None = None
        self.round = 0
        self.left(alive)

    def left(self, alive: np.ndarray) -> None:
        """Threads have returned."""
        self._gone = ~alive
        self._there = sum(
            len(warp) for warp in np.split(alive, range(32, len(alive), 32)) if warp.any()
        )
        for warp in range(-(-len(alive) // 32)):
            self._come_whole(warp)
        self._complete()

    def arrive(self, ids: np.ndarray, count: int | None, clock: Clock | None = None) -> None:
        self.take_over(clock)
        if count == len(self._come):
            count = None
        if self._whole and count != self._count:
            raise IllDefined("a barrier for different numbers of threads")
        self._count = count
        here = ids - self._first
        self._come[here] += 1
        self._arrivals[here] += 1
        for warp in set((here // 32).tolist()):
            self._come_whole(warp)
        self._complete()

    def passing(self, ids: np.ndarray) -> Callable[[], bool]:
        """Whether threads that have just arrived may go on: each when the round is over in which
        its warp has been counted for that arrival."""
        here = ids - self._first
        asked = set(zip((here // 32).tolist(), self._arrivals[here].tolist(), strict=True))
        return lambda: all(
            len(self._counted[warp]) >= number and self._counted[warp][number - 1] < self.round
            for warp, number in asked
        )

    def _come_whole(self, warp: int) -> None:
        """Counts a warp if all threads of it have come that are still there."""
        come = self._come[warp * 32 : warp * 32 + 32]
        if come.any() and ((come > 0) | self._gone[warp * 32 : warp * 32 + 32]).all():
            np.maximum(come - 1, 0, out=come)
            self._counted[warp].append(self.round)
            self._whole += len(come)

    def _complete(self) -> None:
        """Begins the next round if all have come."""
        needed = self._there if self._count is None else self._count
        if self._whole > needed > 0:
            raise IllDefined("more threads at a barrier than it takes")
        if self._whole and self._whole == needed:
            self._whole = 0
            self.round += 1
            self.hand_on()


class WarpMeeting(_HandsOn):
    """`bar.warp.sync mask`: threads of one warp."""

    def __init__(self, lanes: np.ndarray) -> None:
        super().__init__()
        self._lanes = lanes
        self._come = np.zeros(len(lanes), dtype=np.int64)
        self.round = 0

    def there(self, alive: np.ndarray) -> np.ndarray:
        """Those of its threads that have not returned."""
        found: np.ndarray = self._lanes[alive[self._lanes]]
        return found

    def arrive(
        self, ids: np.ndarray, mask: int, alive: np.ndarray, clock: Clock | None = None
    ) -> None:
        self.take_over(clock)
        inside = ids - self._lanes[0]
        self._come[inside] += 1
        named = (mask >> np.arange(len(self._lanes))) & 1 != 0
        if not named[inside].all():
            raise IllDefined("a thread at a barrier that does not name it")
        needed = named & alive[self._lanes]
        if (self._come[needed] > 0).all():
            self._come[needed] -= 1
            self.round += 1
            self.hand_on()


class Mbarrier(_HandsOn):
    """Pending arrivals and bytes of the phase that is going on."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.initialize(count)

    def initialize(self, count: int) -> None:
        """In its first phase, whatever was before."""
        if count < 1:
            raise IllDefined("an mbarrier for no arrivals")
        self.count = self.pending = count
        self.bytes = self.phase = 0

    def arrive(self, arrivals: int, expected: int = 0, clock: Clock | None = None) -> None:
        """Each announces `expected` bytes first."""
        self.take_over(clock)
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
        self.take_over(clock)
        self.bytes -= count
        self._complete()

    def hold(self) -> None:
        """One arrival more is due in this phase (`cp.async.mbarrier.arrive` without `noinc`)."""
        self.pending += 1

    def _complete(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            self.hand_on(all_before=True)

    def passes(self, parity: int) -> bool:
        """Whether the phase of that parity is complete: the one going on has the other."""
        if parity not in (0, 1):
            raise IllDefined("a wait for a number that is no parity")
        return self.phase % 2 != parity
