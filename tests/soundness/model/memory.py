"""Shared memory of one block or two, under many plans at once, and what was seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.kernel import Buffer
from tests.soundness.model.modes import IllDefined
from tests.soundness.model.order import Order
from tests.soundness.model.program import Shape

POISON = 0xA5
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xBF58476D1CE4E5B9)


def flat(values: np.ndarray) -> np.ndarray:
    """One number for each thread of what it sees in all lanes."""
    mixed = values.astype(np.uint64) * _MIX
    mixed ^= mixed >> np.uint64(29)
    weights = np.arange(1, values.shape[-1] + 1, dtype=np.uint64) * _STEP
    found: np.ndarray = (mixed * weights).sum(axis=-1, dtype=np.uint64)
    return found


def for_each(values: np.ndarray, threads: int) -> np.ndarray:
    """Values (threads or 1, ...) with a row for each of so many threads."""
    if len(values) == threads:
        return values  # most often: `broadcast_to` takes longer than what is done with it
    return np.broadcast_to(values, (threads, *values.shape[1:]))


class Layout:
    """Where each buffer lies in each row: row 0 is the unmerged kernel, the others plans."""

    def __init__(
        self, buffers: Sequence[Buffer], rows: Sequence[Mapping[Buffer, int]], shape: Shape
    ) -> None:
        self.names = [one.name for one in buffers]
        self.sizes = np.array([one.size or 0 for one in buffers] or [0])
        places = [[row.get(one, 0) for one in buffers] or [0] for row in rows]
        arena = int((np.array(places) + self.sizes).max())
        self.width = arena * shape.blocks
        self.count = len(rows)
        starts = np.arange(len(rows)) * self.width
        self.place = np.array(places) + starts[:, None]
        self.base = np.arange(shape.all_threads) // shape.threads * arena
        self.arena = arena
        self.known: dict[object, np.ndarray] = {}
        """Addresses of accesses that are always the same, for all threads."""

    def addresses(
        self, number: int | np.ndarray, offsets: np.ndarray, size: int, base: np.ndarray
    ) -> np.ndarray:
        """Rows, threads, bytes: of `size` bytes at each of the `offsets` (threads, lanes) in the
        buffer of that number, in the blocks whose memory begins at `base` (threads)."""
        sizes = self.sizes[number]
        if offsets.size and (offsets.min() < 0 or (offsets + size > sizes).any()):
            name = self.names[number] if isinstance(number, int) else "its buffer"
            raise IllDefined(f"an access leaves {name}")
        where = offsets[:, :, None] + np.arange(size)
        if isinstance(number, int):
            place = self.place[:, number][:, None, None, None]
        else:
            place = self.place[:, number][:, :, :, None]
        found: np.ndarray = place + where + base[:, None, None]
        return found.reshape(self.count, len(offsets), -1)


@dataclass
class Seen:
    """What the unmerged kernel does, and which rows do something else."""

    differs: np.ndarray
    by_thread: np.ndarray
    unordered: int = 0

    def values(self, ids: np.ndarray, values: np.ndarray, statement: int) -> None:
        """Threads see values (rows or 1, threads or 1, lanes) in the course of a statement."""
        if len(values) > 1:
            self.differs |= (values != values[:1]).any(axis=(1, 2))
        summed = flat(values[0]) + np.uint64(statement)
        self.by_thread[ids] = self.by_thread[ids] * _STEP + summed

    def sometime(self, who: np.ndarray, values: np.ndarray) -> None:
        """As `values`, at a time that does not matter; `who` tells them apart."""
        self.differs |= (values != values[:1]).any(axis=(1, 2))
        summed = (flat(values[0]) + who.astype(np.uint64)) * _MIX
        total = int((summed ^ (summed >> np.uint64(31))).sum(dtype=np.uint64))
        self.unordered = (self.unordered + total) % (1 << 64)

    def control(self, values: np.ndarray) -> np.ndarray:
        """What decides where a thread goes, or which bytes it accesses: as in row 0."""
        if len(values) > 1:
            self.differs |= (values != values[:1]).any(axis=(1, 2))
        first: np.ndarray = values[0]
        return first


class Memory:
    """Bytes of all rows in one array, and which accesses have no fence behind them yet."""

    def __init__(
        self, layout: Layout, seen: Seen, order: Order | None, *, fences: bool, assumed: bool
    ) -> None:
        """With an `order`, that of all accesses of the unmerged kernel is followed."""
        self.layout = layout
        self._order = order
        self._seen = seen
        self._fences = fences
        self._assumed = assumed
        total = layout.count * layout.width
        self._bytes = np.full(total, POISON, dtype=np.uint8)
        self._written = np.zeros(layout.width, dtype=bool)
        self._unfenced_writes = np.zeros(total, dtype=bool)
        self._unfenced_reads = np.zeros(total, dtype=bool)
        self.strict = True
        self.statement = 0
        """Whose accesses these are."""

    def read(self, at: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Rows, threads, bytes; through the generic proxy."""
        if self._order is not None:
            self._order.reads(at[0], ids)
        if self._fences:
            self._unfenced_reads[at] = True
        return self._found(at)

    def _found(self, at: np.ndarray) -> np.ndarray:
        if self.strict and not self._written[at[0]].all():
            raise IllDefined("a byte is read that nobody wrote")
        found: np.ndarray = self._bytes[at]
        return found

    def write(self, at: np.ndarray, data: np.ndarray, ids: np.ndarray) -> None:
        """Through the generic proxy."""
        if self._order is not None:
            self._order.writes(at[0], ids, data[0], self.statement)
        self._put(at, data)
        if self._fences:
            self._unfenced_writes[at] = True

    def issue(self, at: np.ndarray, ids: np.ndarray, data: np.ndarray | None = None) -> None:
        """From here on these bytes are written, or read without `data`."""
        if self._order is not None:
            self._order.begins(at[0], ids, None if data is None else data[0], self.statement)

    def land(self, at: np.ndarray, data: np.ndarray, ids: np.ndarray) -> None:
        """What was issued through the generic proxy is written by now."""
        if self._order is not None:
            self._order.ends(at[0], ids, is_write=True)
        self._put(at, data)
        if self._fences:
            self._unfenced_writes[at] = True

    def _put(self, at: np.ndarray, data: np.ndarray) -> None:
        self._bytes[at] = data
        if self._assumed and (self._bytes[at[0]] != data[0]).any():
            raise IllDefined("two threads write different values to one byte")
        self._written[at[0]] = True

    # The async proxy ----------------------------------------------------------------------------

    def fence(self) -> None:
        """Accesses through the two proxies are in order, those so far before those to come.

        Whoever makes it: one that is not ordered behind an access comes before it in some mode.
        """
        if self._fences:
            self._unfenced_writes[:] = False
            self._unfenced_reads[:] = False

    def begins(self, at: np.ndarray, ids: np.ndarray, data: np.ndarray | None = None) -> None:
        """The async proxy writes these bytes from now on, or reads them without `data`. Without a
        fence it may see them as they were before a write, or write before a read is done (rule 11).
        """
        self.issue(at, ids, data)
        if not self._fences:
            return
        early = self._unfenced_writes[at].any(axis=(1, 2))
        if data is not None:
            early |= self._unfenced_reads[at].any(axis=(1, 2))
        if early[0]:
            raise IllDefined("a fence between the proxies is missing")
        self._seen.differs |= early

    def read_async(self, at: np.ndarray, ids: np.ndarray) -> np.ndarray:
        if self._order is not None:
            self._order.ends(at[0], ids, is_write=False)
        return self._found(at)

    def write_async(self, at: np.ndarray, data: np.ndarray, ids: np.ndarray) -> None:
        if self._order is not None:
            self._order.ends(at[0], ids, is_write=True)
        self._put(at, data)
