"""Which bytes that two buffers share were accessed when, to tell ordered accesses from races."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.layout import ByteIndices, Layout
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.kernel import Buffer

RECENT = 24
"""Accesses of a pair of buffers that are kept byte by byte; older ones count as any thread's."""

BufferPair = tuple[Buffer, Buffer]


@dataclass(frozen=True)
class Recent:
    """An access kept byte by byte, to tell threads that overwrite their own bytes from a race."""

    is_write: bool
    where: ByteIndices
    threads: np.ndarray
    warps: np.ndarray
    epochs: np.ndarray
    event: int


@dataclass
class Seen:
    """The latest epoch in which each warp accessed the bytes that two buffers share; 0 is never."""

    reads: np.ndarray
    writes: np.ndarray
    recent: list[Recent] = field(default_factory=list)

    def copy(self) -> Seen:
        return Seen(self.reads.copy(), self.writes.copy(), list(self.recent))

    def note(self, access: Recent) -> None:
        latest = self.writes if access.is_write else self.reads
        latest[access.warps] = np.maximum(latest[access.warps], access.epochs)
        self.recent = [*self.recent[-(RECENT - 1) :], access]

    def against(self, is_write: bool) -> np.ndarray:
        """The latest epochs in which there was what a write, or a read, must come after."""
        return np.maximum(self.writes, self.reads) if is_write else self.writes


class History:
    """The accesses of each buffer to the bytes that it shares with each other one."""

    def __init__(self, layout: Layout, warps: int):
        self.layout = layout
        self.seen = {
            (one, two): Seen(np.zeros(warps, np.int64), np.zeros(warps, np.int64))
            for one, others in layout.partners.items()
            for two in others
        }
        self.loads: dict[BufferPair, int] = {}  # bits of TMA loads into common bytes

    def copy(self) -> History:
        twin = object.__new__(History)
        twin.layout = self.layout
        twin.seen = {pair: seen.copy() for pair, seen in self.seen.items()}
        twin.loads = dict(self.loads)
        return twin

    def joined(self, other: History) -> History:
        """Either may be the case: all that may have happened has."""
        twin = self.copy()
        for pair, seen in other.seen.items():
            mine = twin.seen[pair]
            mine.reads = np.maximum(mine.reads, seen.reads)
            mine.writes = np.maximum(mine.writes, seen.writes)
            had = {id(entry) for entry in mine.recent}
            mine.recent += [entry for entry in seen.recent if id(entry) not in had]
        for pair, bits in other.loads.items():
            twin.loads[pair] = twin.loads.get(pair, 0) | bits
        return twin

    def note(self, traced: TracedAccess, epochs: np.ndarray) -> None:
        """Remembers an access, in these epochs of its warps, for what comes after it."""
        for partner in self.layout.partners[traced.buffer]:
            part = self.layout.part_in(traced.buffer, partner, traced.where)
            where, threads = traced.where[part], traced.by_thread[part]
            if len(where):
                recent = Recent(traced.is_write, where, threads, traced.warps, epochs, traced.event)
                self.seen[traced.buffer, partner].note(recent)

    def note_load(self, traced: TracedAccess, bit: int) -> None:
        """Remembers a TMA load, which no barrier of threads orders."""
        for partner in self.layout.partners[traced.buffer]:
            part = self.layout.part_in(traced.buffer, partner, traced.where)
            if part.start < part.stop:
                pair = (traced.buffer, partner)
                self.loads[pair] = self.loads.get(pair, 0) | bit
