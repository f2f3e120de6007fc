"""Which bytes that two buffers share were accessed when, to tell ordered accesses from races.

The history is an over-approximation: where there are too many accesses to keep each, the oldest are
merged into one, of all their bytes, by unknown threads, in the latest epochs. An access is dropped
only if it happens before everything that any warp does from now on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout, ByteSet
from smemreuse.checker.machine.order import Order
from smemreuse.checker.machine.recent import RUN, NotedRuns, Recent, are_since
from smemreuse.checker.traced import ANYONE, AccessKey, TracedAccess
from smemreuse.ir.kernel import Buffer

RECENT = 48
"""Accesses of a pair of buffers that are kept separately; of more, the older half is merged."""

RECENT_OF_ITSELF = 16 * RECENT
"""Of one buffer with itself, of which all accesses come together."""

BufferPair = tuple[Buffer, Buffer]


@dataclass(frozen=True)
class Older:
    """The key of the older reads, or writes, that have been made one: atomic ones, or others."""

    is_write: bool
    atomic: bool

    @staticmethod
    def of(entry: Recent) -> Older:
        return Older(entry.traced.is_write, entry.traced.atomic)


Key = AccessKey | Older

OLDER = tuple(Older(*kind) for kind in product((False, True), repeat=2))


class Seen:
    """The accesses of one buffer to the bytes that it shares with another one, oldest first.

    `reads` and `writes` are the latest epochs in which there were any, to have a quick answer.
    """

    def __init__(self, warps: int, most: int = RECENT):
        self.reads = np.zeros(warps, np.int64)
        self.writes = np.zeros(warps, np.int64)
        self._recent: dict[Key, Recent] = {}
        self._runs = NotedRuns()
        self._most = most

    def copy(self) -> Seen:
        twin = Seen(0, self._most)
        twin.reads, twin.writes = self.reads.copy(), self.writes.copy()
        twin._recent, twin._runs = dict(self._recent), self._runs.copy()
        return twin

    def joined(self, other: Seen) -> Seen:
        """The join after a branch: the accesses of both sides."""
        twin = self.copy()
        twin.reads = np.maximum(twin.reads, other.reads)
        twin.writes = np.maximum(twin.writes, other.writes)
        for key, entry in other._recent.items():
            mine = twin._recent.get(key)
            if mine is entry:
                continue
            if mine is not None:
                is_made = isinstance(key, Older)
                entry = united([mine, entry]) if is_made else mine.again(entry)
            twin._recent[key] = entry
            twin._runs.add(entry)
        is_back = any(self._recent.get(one) is not other._recent.get(one) for one in OLDER)
        if is_back and len(twin._recent) > twin._most // 2:
            twin._summarize()  # what one side has made one is there again
        return twin

    def without_past(self, first: np.ndarray) -> Seen:
        """The same without the accesses that come before all that any warp does from now on, whose
        clocks have all reached `first`."""
        if not self._recent or not first.any():
            return self
        is_open = are_since(self._recent.values(), np.maximum(first, 1))
        if is_open.all():
            return self
        twin = Seen(len(first), self._most)
        pairs = zip(self._recent.items(), is_open.tolist(), strict=True)
        twin._keep({key: entry for (key, entry), stays in pairs if stays})
        for entry in twin._recent.values():
            twin.note_latest(entry)
        return twin

    def note_latest(self, entry: Recent) -> None:
        """Counts an access among the latest ones."""
        latest = self.writes if entry.traced.is_write else self.reads
        np.maximum(latest, entry.epochs, out=latest)

    def note(self, key: Key, entry: Recent, order: Order) -> None:
        """Remembers an access; `key` tells which ones are the same but for when."""
        self.note_latest(entry)
        before = self._recent.pop(key, None)
        self._recent[key] = entry = entry if before is None else before.again(entry)
        self._runs.add(entry)
        if len(self._runs) > 2 * (len(self._recent) + RUN):
            self._keep(self._recent)  # without what is out of date
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
        self, traced: TracedAccess, theirs: ByteSet, order: Order
    ) -> Iterator[TracedAccess]:
        """What an access is not ordered after, of other threads and to the same bytes."""
        if not len(theirs.where) or self.is_before(traced, order):
            return
        first = order.surely_past(traced.warps)
        met = self._runs.met(theirs, traced.is_write, first)
        for entry in list(self._recent.values()) if met else ():
            if id(entry) in met and (entry.epochs >= first).any():
                found = entry.conflict(traced, theirs, order)
                if found is not None:
                    yield found

    def _keep(self, entries: dict[Key, Recent]) -> None:
        self._recent, self._runs = entries, NotedRuns(entries.values())

    def _drop_past(self, order: Order) -> None:
        first, everyone = order.inserted.min(axis=0), np.arange(len(order.known))
        self._keep(
            {
                key: entry
                for key, entry in self._recent.items()
                if not entry.is_past(order, everyone, first)
            }
        )

    def _summarize(self) -> None:
        """Makes the older accesses one read and one write, and one more of each that is atomic."""
        entries = list(self._recent.items())
        kept = self._most // 2
        older, recent = dict(entries[:-kept]), dict(entries[-kept:])
        again = [recent.pop(key) for key in OLDER if key in recent]
        self._keep({**by_kind([*older.values(), *again]), **recent})


def _all_of(numbers: list[np.ndarray]) -> np.ndarray:
    """Those that occur anywhere, in order: as `np.unique`, for the small numbers of threads."""
    occur = np.zeros(max(int(one.max(initial=-1)) for one in numbers) + 1, dtype=bool)
    for one in numbers:
        occur[one] = True
    found: np.ndarray = np.flatnonzero(occur)
    return found


def by_kind(entries: Iterable[Recent]) -> dict[Key, Recent]:
    """Accesses as one read and one write, and one more of each that is atomic."""
    kinds: dict[Key, list[Recent]] = {}
    for entry in entries:
        kinds.setdefault(Older.of(entry), []).append(entry)
    return {kind: united(alike) for kind, alike in kinds.items()}


def united(entries: list[Recent]) -> Recent:
    """Several accesses as one, that is any of them: a byte's thread only where they agree, and the
    last one that touches it."""
    begin = min(int(entry.traced.where[0]) for entry in entries)
    end = max(int(entry.traced.where[-1]) for entry in entries) + 1
    threads = np.full(end - begin, ANYONE)
    touched = np.zeros(end - begin, dtype=bool)
    events = np.zeros(end - begin, np.int64)
    for entry in entries:
        at = entry.traced.where - begin
        agree = ~touched[at] | (threads[at] == entry.traced.by_thread)
        threads[at] = np.where(agree, entry.traced.by_thread, ANYONE)
        touched[at] = True
        events[at] = entry.traced.event if entry.traced.events is None else entry.traced.events
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
        events=events[touched],
    )
    bits = 0
    if all(entry.bits for entry in entries):
        for entry in entries:
            bits |= entry.bits
    return Recent(made, ByteSet(where), epochs, bits)


class History:
    """The accesses of each buffer to the bytes that it shares with each other one; and where it is
    not its own partner, those that refill it. Copies have them in common until one notes more."""

    def __init__(self, layout: ByteLayout, warps: int):
        self.layout = layout
        self.warps = warps
        self.seen = {
            (one, two): Seen(warps, RECENT_OF_ITSELF if one in others else RECENT)
            for one, others in layout.partners.items()
            for two in {one, *others}
        }
        self._own = set(self.seen)

    def copy(self) -> History:
        self._own.clear()
        return self._with(dict(self.seen))

    def joined(self, other: History, mine: Order, theirs: Order) -> History:
        """The join after a branch: the accesses of both sides, but those that are past by the order
        of their side."""
        first, second = mine.inserted.min(axis=0), theirs.inserted.min(axis=0)
        is_same = np.array_equal(first, second)
        self._own.clear()
        other._own.clear()
        joined = {}
        for pair, seen in self.seen.items():
            left, right = seen.without_past(first), other.seen[pair]
            is_left = is_same and right is seen  # neither side has accessed anything
            joined[pair] = left if is_left else left.joined(right.without_past(second))
        return self._with(joined)

    def _with(self, seen: dict[BufferPair, Seen]) -> History:
        twin = object.__new__(History)
        twin.layout, twin.warps, twin.seen, twin._own = self.layout, self.warps, seen, set()
        return twin

    def _changing(self, pair: BufferPair) -> Seen:
        """Those of a pair, which no copy has in common with this one."""
        if pair not in self._own:
            self._own.add(pair)
            self.seen[pair] = self.seen[pair].copy()
        return self.seen[pair]

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
                entry = Recent(common, self.layout.byte_set(common.where), epochs, bits)
                self._changing((traced.buffer, partner)).note(key, entry, order)

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
        touched = self.layout.byte_set(theirs)
        return self.seen[partner, traced.buffer].conflicts(traced, touched, order)
