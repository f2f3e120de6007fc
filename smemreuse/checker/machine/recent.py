"""Accesses that later ones are compared with: each, and runs of them as they were noted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
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
        if order.alone.any():
            # Of a warp of which threads have arrived by themselves the others have not.
            by_others = held_by(unordered & self._unordered(order.of_warps, traced), np.all)
            surely |= by_others & (earlier != ANYONE) & ~order.alone[earlier]
        # What a warp does together the same lane may do both times.
        by_warp = mine.by_warp or traced.by_warp
        certain = mine.certain and bool(surely.any()) and not by_warp
        known = (earlier != ANYONE) & (later != ANYONE)
        # An uncertain conflict may involve other lanes than those that are surely unordered.
        lanes = surely if certain else perhaps
        across = lanes & known & (earlier // 32 != later // 32)
        which = next(one for one in (across, lanes & known, lanes) if one.any())
        shown = int(common[0][np.argmax(which)])
        return replace(
            mine,
            certain=certain,
            in_warp=not across.any(),
            event=mine.event if mine.events is None else int(mine.events[shown]),
            shown=int(mine.where[shown]),
        )

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

    @staticmethod
    def of(entries: Sequence[Recent]) -> NotedRun:
        read = written = 0
        for entry in entries:
            if entry.traced.is_write:
                written |= entry.touched.bits
            else:
                read |= entry.touched.bits
        return NotedRun(tuple(entries), _latest(entries), read, written)

    def __or__(self, later: NotedRun) -> NotedRun:
        """These accesses and later ones."""
        return NotedRun(
            (*self.entries, *later.entries),
            np.maximum(self.epochs, later.epochs),
            self.read | later.read,
            self.written | later.written,
        )


class NotedRuns:
    """Accesses in the order in which they were noted, some of them out of date.

    Most accesses touch bytes that nothing else has touched since the last barrier, as the stores of
    an unrolled loop do: that is then seen of a whole run at once. `_new` are those that are not in
    a run yet, since nothing has been asked.
    """

    def __init__(self, entries: Iterable[Recent] = ()):
        self._runs: list[NotedRun] = []
        self._new = list(entries)
        self._count = len(self._new)

    def __len__(self) -> int:
        return self._count

    def copy(self) -> NotedRuns:
        twin = NotedRuns(self._new)
        twin._runs, twin._count = list(self._runs), self._count
        return twin

    def add(self, entry: Recent) -> None:
        self._new.append(entry)
        self._count += 1

    def _take_in(self) -> None:
        """Puts the new ones into runs."""
        if self._new and self._runs and len(self._runs[-1].entries) < RUN:
            room = RUN - len(self._runs[-1].entries)
            self._runs[-1] |= NotedRun.of(self._new[:room])
            del self._new[:room]
        for at in range(0, len(self._new), RUN):
            self._runs.append(NotedRun.of(self._new[at : at + RUN]))
        self._new.clear()

    def met(self, theirs: ByteSet, is_write: bool, first: np.ndarray) -> set[int]:
        """The identities of the accesses that may touch some of these bytes, not before `first`,
        and that a write, or a read, must come after."""
        self._take_in()
        bits = theirs.bits
        return {
            id(entry)
            for run in self._runs
            if (run.epochs >= first).any()
            if run.written & bits or (is_write and run.read & bits)
            for entry in run.entries
        }


def are_since(entries: Collection[Recent], first: np.ndarray) -> np.ndarray:
    """Which of some accesses are not before these epochs."""
    epochs = np.array([one.epochs for one in entries])
    found: np.ndarray = np.any(epochs >= first, axis=1)
    return found


def _latest(entries: Sequence[Recent]) -> np.ndarray:
    if len(entries) == 1:
        return entries[0].epochs
    found: np.ndarray = np.array([one.epochs for one in entries]).max(axis=0)
    return found
