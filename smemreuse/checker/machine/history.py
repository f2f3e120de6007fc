"""Which bytes that two buffers share were accessed when, to tell ordered accesses from races.

The history is an over-approximation: where there are too many accesses to keep each, the oldest are
merged into one, of all their bytes, by unknown threads, in the latest epochs. An access is dropped
only if it happens before everything that any warp does from now on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout, ByteSet, meeting
from smemreuse.checker.machine.order import Order
from smemreuse.checker.traced import ANYONE, AccessKey, TracedAccess
from smemreuse.ir.kernel import Buffer

RECENT = 48
"""Accesses of a pair of buffers that are kept separately; of more, the older half is merged."""

RECENT_OF_ITSELF = 16 * RECENT
"""Of one buffer with itself, of which all accesses come together."""

BufferPair = tuple[Buffer, Buffer]


@dataclass(frozen=True)
class Older:
    """The key of the older reads, or writes, that have been made one."""

    is_write: bool


Key = AccessKey | Older

OLDER = (Older(False), Older(True))


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


class Seen:
    """The accesses of one buffer to the bytes that it shares with another one, oldest first.

    `reads` and `writes` are the latest epochs in which there were any, to have a quick answer.
    """

    def __init__(self, warps: int, most: int = RECENT):
        self.reads = np.zeros(warps, np.int64)
        self.writes = np.zeros(warps, np.int64)
        self._recent: dict[Key, Recent] = {}
        self._stack: tuple[list[Recent], np.ndarray] | None = None
        self._most = most

    def copy(self) -> Seen:
        twin = Seen(0, self._most)
        twin.reads, twin.writes = self.reads.copy(), self.writes.copy()
        twin._recent = dict(self._recent)
        return twin

    def joined(self, other: Seen) -> Seen:
        """The join after a branch: the accesses of both sides."""
        twin = self.copy()
        twin.reads = np.maximum(twin.reads, other.reads)
        twin.writes = np.maximum(twin.writes, other.writes)
        for key, entry in other._recent.items():
            mine = twin._recent.get(key)
            if mine is None:
                twin._recent[key] = entry
            elif mine is not entry:
                is_made = isinstance(key, Older)
                twin._recent[key] = _united([mine, entry]) if is_made else mine.again(entry)
        is_back = any(self._recent.get(one) is not other._recent.get(one) for one in OLDER)
        if is_back and len(twin._recent) > twin._most // 2:
            twin._summarize()  # what one side has made one is there again
        return twin

    def without_past(self, first: np.ndarray) -> Seen:
        """The same without the accesses that come before all that any warp does from now on, whose
        clocks have all reached `first`."""
        if not self._recent or not first.any():
            return self
        entries, epochs = self._stacked()
        is_open = (epochs >= np.maximum(first, 1)).any(axis=1)
        if is_open.all():
            return self
        twin = Seen(len(first), self._most)
        for key, entry, stays in zip(self._recent, entries, is_open.tolist(), strict=True):
            if stays:
                twin.note_latest(entry)
                twin._recent[key] = entry
        return twin

    def note_latest(self, entry: Recent) -> None:
        """Counts an access among the latest ones."""
        latest = self.writes if entry.traced.is_write else self.reads
        np.maximum(latest, entry.epochs, out=latest)

    def note(self, key: Key, entry: Recent, order: Order) -> None:
        """Remembers an access; `key` tells which ones are the same but for when."""
        self.note_latest(entry)
        self._stack = None
        before = self._recent.pop(key, None)
        self._recent[key] = entry if before is None else before.again(entry)
        if len(self._recent) > self._most:
            self._drop_past(order)
        if len(self._recent) > self._most:
            self._summarize()

    def against(self, is_write: bool) -> np.ndarray:
        """The latest epochs in which there was what a write, or a read, must come after."""
        return np.maximum(self.writes, self.reads) if is_write else self.writes

    def is_before(self, traced: TracedAccess, order: Order) -> bool:
        """Whether all that an access must come after is known to be before it, by whose it is."""
        latest = self.against(traced.is_write)
        return not (latest >= order.surely_past(traced.warps)).any()

    def conflicts(
        self, traced: TracedAccess, theirs: ByteIndices, order: Order
    ) -> Iterator[TracedAccess]:
        """What an access is not ordered after, of other threads and to the same bytes."""
        if not len(theirs) or self.is_before(traced, order):
            return
        touched = ByteSet(theirs)
        entries, epochs = self._stacked()
        is_open = (epochs >= order.surely_past(traced.warps)).any(axis=1)
        for at in np.flatnonzero(is_open).tolist():
            found = entries[at].conflict(traced, touched, order)
            if found is not None:
                yield found

    def _stacked(self) -> tuple[list[Recent], np.ndarray]:
        """The accesses, and the epochs of each, a row for each access."""
        if self._stack is None:
            entries = list(self._recent.values())
            self._stack = (entries, np.array([entry.epochs for entry in entries]))
        return self._stack

    def _drop_past(self, order: Order) -> None:
        first, everyone = order.inserted.min(axis=0), np.arange(len(order.known))
        self._recent = {
            key: entry
            for key, entry in self._recent.items()
            if not entry.is_past(order, everyone, first)
        }

    def _summarize(self) -> None:
        """Makes the older accesses one read and one write."""
        entries = list(self._recent.items())
        kept = self._most // 2
        older, self._recent = dict(entries[:-kept]), dict(entries[-kept:])
        for is_write in (False, True):
            key = Older(is_write)
            alike = [entry for entry in older.values() if entry.traced.is_write is is_write]
            if key in self._recent:
                alike.append(self._recent.pop(key))
            if alike:
                self._recent = {key: _united(alike), **self._recent}


def _all_of(numbers: list[np.ndarray]) -> np.ndarray:
    """Those that occur anywhere, in order: as `np.unique`, for the small numbers of threads."""
    occur = np.zeros(max(int(one.max(initial=-1)) for one in numbers) + 1, dtype=bool)
    for one in numbers:
        occur[one] = True
    found: np.ndarray = np.flatnonzero(occur)
    return found


def _united(entries: list[Recent]) -> Recent:
    """Several accesses as one, that is any of them; a byte's thread only where they agree."""
    begin = min(int(entry.traced.where[0]) for entry in entries)
    end = max(int(entry.traced.where[-1]) for entry in entries) + 1
    threads = np.full(end - begin, ANYONE)
    touched = np.zeros(end - begin, dtype=bool)
    for entry in entries:
        at = entry.traced.where - begin
        agree = ~touched[at] | (threads[at] == entry.traced.by_thread)
        threads[at] = np.where(agree, entry.traced.by_thread, ANYONE)
        touched[at] = True
    where = np.flatnonzero(touched) + begin
    epochs = np.max([entry.epochs for entry in entries], axis=0)
    ids = _all_of([entry.traced.ids for entry in entries])
    last = entries[-1].traced
    made = replace(
        last,
        where=where,
        by_thread=threads[touched],
        certain=False,
        ids=ids,
        warps=_all_of([ids // 32]),
        footprint=None,
        starts=None,
    )
    bits = 0
    if all(entry.bits for entry in entries):
        for entry in entries:
            bits |= entry.bits
    return Recent(made, ByteSet(where), epochs, bits)


class History:
    """The accesses of each buffer to the bytes that it shares with each other one; and where it is
    not its own partner, those that refill it."""

    def __init__(self, layout: ByteLayout, warps: int):
        self.layout = layout
        self.warps = warps
        self.seen = {
            (one, two): Seen(warps, RECENT_OF_ITSELF if one in others else RECENT)
            for one, others in layout.partners.items()
            for two in {one, *others}
        }

    def copy(self) -> History:
        return self._with({pair: seen.copy() for pair, seen in self.seen.items()})

    def joined(self, other: History, mine: Order, theirs: Order) -> History:
        """The join after a branch: the accesses of both sides, but those that are past by the order
        of their side."""
        first, second = mine.inserted.min(axis=0), theirs.inserted.min(axis=0)
        return self._with(
            {
                pair: seen.without_past(first).joined(other.seen[pair].without_past(second))
                for pair, seen in self.seen.items()
            }
        )

    def _with(self, seen: dict[BufferPair, Seen]) -> History:
        twin = object.__new__(History)
        twin.layout, twin.warps, twin.seen = self.layout, self.warps, seen
        return twin

    def note(
        self,
        traced: TracedAccess,
        order: Order,
        bits: int = 0,
    ) -> None:
        """Remembers an access, in the present epochs of its warps, for what comes after it."""
        epochs = np.zeros(self.warps, np.int64)
        epochs[traced.warps] = order.epochs[traced.warps]
        key = traced.key
        partners = self.layout.partners[traced.buffer]
        for partner in (*partners, traced.buffer) if traced.refills else partners:
            part = self.layout.part_in(traced.buffer, partner, traced.where)
            if part.start < part.stop:
                common = traced.part(part)
                entry = Recent(common, ByteSet(common.where), epochs, bits)
                self.seen[traced.buffer, partner].note(key, entry, order)

    def is_before(self, traced: TracedAccess, partner: Buffer, order: Order) -> bool:
        """Whether all accesses of a partner are before one, to whatever bytes."""
        return self.seen[partner, traced.buffer].is_before(traced, order)

    def conflicts(
        self,
        traced: TracedAccess,
        partner: Buffer,
        theirs: ByteIndices,
        order: Order,
    ) -> Iterator[TracedAccess]:
        """The accesses of a partner that one to its bytes `theirs` is not ordered after."""
        return self.seen[partner, traced.buffer].conflicts(traced, theirs, order)
