"""What the arena holds, for each buffer that shares bytes, byte by byte (rule 2).

A byte's state is the set of what may be there: nothing that the buffer wrote yet, its latest value,
or what a partner wrote over that. A certain write replaces the set, an uncertain write adds to it,
and a join unites the sets. A larger set claims less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout, as_index
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.kernel import Buffer

UNWRITTEN, HELD, LOST = np.uint8(1), np.uint8(2), np.uint8(4)
"""Elements of a byte's set. No well-defined kernel depends on a byte that it may not have written:
what other buffers wrote there before does not matter."""


@dataclass
class Shadow:
    """The bytes of one buffer: what may be in each, and which events to blame.

    `writer` and `culprit` are of the value that is lost, if one may be: the event that
    wrote it, and the one that overwrote it.
    """

    held: np.ndarray
    writer: np.ndarray
    culprit: np.ndarray

    @staticmethod
    def empty(size: int) -> Shadow:
        """Nothing has been written yet."""
        no_event = np.full(size, -1, dtype=np.int32)
        return Shadow(np.full(size, UNWRITTEN), no_event, no_event.copy())

    def copy(self) -> Shadow:
        return Shadow(self.held.copy(), self.writer.copy(), self.culprit.copy())

    def joined(self, other: Shadow) -> Shadow:
        """The join after a branch."""
        mine_is_lost = self.held & LOST != 0
        return Shadow(
            self.held | other.held,
            np.where(mine_is_lost, self.writer, other.writer),
            np.where(mine_is_lost, self.culprit, other.culprit),
        )

    def same(self, other: Shadow) -> bool:
        return self is other or bool(np.array_equal(self.held, other.held))

    def surely_lost(self, where: ByteIndices) -> ByteIndices:
        """Those of some bytes whose value is lost on every path that leads here."""
        lost: ByteIndices = where[self.held[where] == LOST]
        return lost

    def write(self, at: slice | ByteIndices, certain: bool, event: int) -> None:
        """The buffer's own new value, or perhaps not."""
        held = self.held[at]
        blamed = False if certain else held & LOST != 0
        self.writer[at] = np.where(blamed, self.writer[at], event)
        self.held[at] = HELD if certain else held | HELD

    def clobber(self, at: slice | ByteIndices, certain: bool, event: int) -> None:
        """A partner's new value takes the place of the buffer's, or perhaps not."""
        held = self.held[at]
        there = held & HELD
        self.culprit[at] = np.where((there != 0) & (held & LOST == 0), event, self.culprit[at])
        gone = held | there << np.uint8(1)
        self.held[at] = gone & ~HELD if certain else gone


class Memory:
    """The shadows of all buffers that share bytes. Copies have them in common until one is written
    to."""

    def __init__(self, layout: ByteLayout, shadows: dict[Buffer, Shadow] | None = None):
        self.layout = layout
        self.shadows = shadows or {
            buffer: Shadow.empty(layout.sizes[buffer]) for buffer in layout.partners
        }
        self._own: set[Buffer] = set()

    def copy(self) -> Memory:
        self._own.clear()
        return Memory(self.layout, dict(self.shadows))

    def _changing(self, buffer: Buffer) -> Shadow:
        """The shadow of a buffer, which no copy has in common with this one."""
        if buffer not in self._own:
            self._own.add(buffer)
            self.shadows[buffer] = self.shadows[buffer].copy()
        return self.shadows[buffer]

    def joined(self, other: Memory) -> Memory:
        """Either may be the case: the sets of all bytes are united."""
        self._own.clear()
        other._own.clear()
        shadows = {
            one: mine if mine is other.shadows[one] else mine.joined(other.shadows[one])
            for one, mine in self.shadows.items()
        }
        return Memory(self.layout, shadows)

    def same(self, other: Memory) -> bool:
        """Whether the same may be in all bytes."""
        return all(shadow.same(other.shadows[buffer]) for buffer, shadow in self.shadows.items())

    def write(self, traced: TracedAccess) -> None:
        """A buffer gets a new value, and its partners lose theirs."""
        at = as_index(traced.where)
        self._changing(traced.buffer).write(at, traced.certain, traced.event)
        for partner in self.layout.partners[traced.buffer]:
            if partner is traced.buffer:
                continue
            lost = self.layout.in_other(traced.buffer, partner, traced.where)
            if len(lost):
                self._changing(partner).clobber(as_index(lost), traced.certain, traced.event)

    def fill(self, buffer: Buffer, where: ByteIndices) -> None:
        """Some bytes of a buffer have a value of its own, whichever path was taken."""
        self._changing(buffer).held[as_index(where)] = HELD

    def lost(self, traced: TracedAccess) -> ByteIndices:
        """The bytes read whose value may have been overwritten by a partner."""
        shadow, at = self.shadows[traced.buffer], as_index(traced.where)
        lost: ByteIndices = traced.where[shadow.held[at] & LOST != 0]
        return lost

    def unwritten(self, traced: TracedAccess) -> ByteIndices:
        """The bytes read that may hold what was there before the kernel."""
        held = self.shadows[traced.buffer].held[as_index(traced.where)]
        unwritten: ByteIndices = traced.where[held & UNWRITTEN != 0]
        return unwritten
