"""Accesses that later ones are compared with: each, and runs of them as they were noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.checker.layout import ByteSet, meeting
from smemreuse.checker.machine.order import Order
from smemreuse.checker.traced import ANYONE, TracedAccess

RUN = 32
"""Accesses that are compared with a later one together, before each by itself."""


@dataclass(frozen=True)
class Recent:
    """An access to common bytes, with the epoch of each warp in which it made it; 0 is never.

    `bits`: those who know all of these know that it is over, whatever their clocks say.
    """

    traced: TracedAccess
    touched: ByteSet
    epochs: np.ndarray
    bits: int = 0

    def again(self, later: Recent) -> Recent:
        """The same access made again, later: what happens after the later one happens after
        both."""
        bits = self.bits | later.bits if self.bits and later.bits else 0
        return Recent(later.traced, self.touched, np.maximum(self.epochs, later.epochs), bits)

    def conflict(self, traced: TracedAccess, theirs: ByteSet, order: Order) -> TracedAccess | None:
        """This access, if it conflicts with a later one: another thread, a common byte, no order.

        `theirs` are the bytes of the later access, as indices in this one's buffer. The conflict is
        certain only if the threads that touched the byte are known.
        """
        mine = self.traced
        if not (traced.is_write or mine.is_write) or not self.touched.meets(theirs):
            return None
        common = None if self.is_over(order, traced.warps) else meeting(mine.where, theirs.where)
        if common is None:
            return None
        unordered = self._unordered(order.inserted, traced)
        earlier, later = mine.by_thread[common[0]], traced.by_thread[common[1]]
        different = (earlier != later) | (earlier == ANYONE)

        def held_by(which: np.ndarray, of_several: Callable[..., np.ndarray]) -> np.ndarray:
            pairs = _by_warps(which, traced.warps, mine.warps, of_several)
            held: np.ndarray = different & pairs[later // 32, earlier // 32]
            return held

        perhaps = held_by(unordered, np.any)
        if not perhaps.any():
            return None
        surely = held_by(unordered & self._unordered(order.clock, traced), np.all)
        # What a warp does together the same lane may do both times.
        by_warp = mine.by_warp or traced.by_warp
        certain = mine.certain and bool(surely.any()) and not by_warp
        known = (earlier != ANYONE) & (later != ANYONE)
        # An uncertain conflict may involve other lanes than those that are surely unordered.
        lanes = surely if certain else perhaps
        across = lanes & known & (earlier // 32 != later // 32)
        return replace(mine, certain=certain, in_warp=not across.any())

    def _unordered(self, clock: np.ndarray, traced: TracedAccess) -> np.ndarray:
        """For each warp of a later access and each warp whether this comes before by a clock."""
        found: np.ndarray = (self.epochs >= clock[traced.warps]) & (self.epochs > 0)
        return found

    def is_over(self, order: Order, warps: np.ndarray) -> bool:
        """Whether some warps know by its bits that it is."""
        return self.bits != 0 and not self.bits & ~order.known_to_all(warps).copies

    def is_past(self, order: Order, everyone: np.ndarray, first: np.ndarray) -> bool:
        """Whether it comes before all that any warp does from now on; `first` are the clocks that
        all of them have reached."""
        earlier = (self.epochs < first) | (self.epochs == 0)
        return self.is_over(order, everyone) or bool(earlier.all())


def _by_warps(
    unordered: np.ndarray,
    later: np.ndarray,
    earlier: np.ndarray,
    of_several: Callable[..., np.ndarray],
) -> np.ndarray:
    """For each later and each earlier warp whether they are not ordered.

    In the last row and column, where `ANYONE` is looked up, for any or all of those that take part.
    """
    count = unordered.shape[1]
    pairs = np.zeros((count + 1, count + 1), dtype=bool)
    pairs[later, :count] = unordered
    pairs[later, count] = of_several(pairs[np.ix_(later, earlier)], axis=1)
    pairs[count] = of_several(pairs[later], axis=0)
    return pairs


@dataclass(frozen=True)
class NotedRun:
    """Accesses noted one after the other, the latest epochs of any of them, and the bytes that are
    read, or written, by any, as bits."""

    entries: tuple[Recent, ...]
    epochs: np.ndarray
    read: int = 0
    written: int = 0

    def also(self, entry: Recent) -> NotedRun:
        is_write, bits = entry.traced.is_write, entry.touched.bits
        return NotedRun(
            (*self.entries, entry),
            np.maximum(self.epochs, entry.epochs),
            self.read | (0 if is_write else bits),
            self.written | (bits if is_write else 0),
        )


class NotedRuns:
    """Accesses in the order in which they were noted, some of them out of date.

    Most accesses touch bytes that nothing else has touched since the last barrier, as the stores of
    an unrolled loop do: that is then seen of a whole run at once.
    """

    def __init__(self, entries: Iterable[Recent] = ()):
        self._runs: list[NotedRun] = []
        self._count = 0
        for entry in entries:
            self.add(entry)

    def __len__(self) -> int:
        return self._count

    def copy(self) -> NotedRuns:
        twin = NotedRuns()
        twin._runs, twin._count = list(self._runs), self._count
        return twin

    def add(self, entry: Recent) -> None:
        if self._count % RUN == 0:
            self._runs.append(NotedRun((), np.zeros_like(entry.epochs)))
        self._runs[-1] = self._runs[-1].also(entry)
        self._count += 1

    def since(self, first: np.ndarray) -> Iterator[NotedRun]:
        """The runs whose accesses are not all before these epochs."""
        return (run for run in self._runs if (run.epochs >= first).any())

    def met(self, theirs: ByteSet, is_write: bool, first: np.ndarray) -> set[int]:
        """The identities of the accesses that may touch some of these bytes, not before `first`,
        and that a write, or a read, must come after."""
        bits = theirs.bits
        return {
            id(entry)
            for run in self.since(first)
            if run.written & bits or (is_write and run.read & bits)
            for entry in run.entries
        }
