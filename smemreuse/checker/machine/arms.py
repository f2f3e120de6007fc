"""What the threads of an arm access if they take it, where data decide for each one by itself.

Both arms are executed as if all threads took each. Where the accesses of either arm to a byte are
those of one thread alone, that is what happens, whichever it takes: no other thread comes there at
the same time, and what it writes in both arms is written. Of other bytes nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout
from smemreuse.checker.traced import ANYONE, TracedAccess
from smemreuse.ir.kernel import Buffer

NOBODY = ANYONE - 1

ByBuffer = dict[Buffer, np.ndarray]
"""For each byte of a buffer a thread, `ANYONE` or `NOBODY`."""


@dataclass
class ArmAccesses:
    """The accesses of one arm: who `touched` each byte of each buffer, who `wrote` it, and who has
    surely `filled` it with a value of that buffer, if in the arm at all.

    `once`: each thread is in the arm once; not so where iterations run together, in each of which
    it may take another one. `around` is the arm that this one is in. `known` is False where not all
    accesses are on record: of loops whose length is not known, or of which iterations are left out,
    and of asynchronous operations.
    """

    layout: ByteLayout
    once: bool = True
    touched: ByBuffer = field(default_factory=dict)
    wrote: ByBuffer = field(default_factory=dict)
    filled: ByBuffer = field(default_factory=dict)
    known: bool = True
    around: ArmAccesses | None = None

    def note(self, traced: TracedAccess, certain: bool) -> None:
        """Puts an access on record; `certain` if its threads surely do it once they are here."""
        self._add(self.touched, traced.buffer, traced.where, traced.by_thread)
        if not traced.is_write:
            return
        self._add(self.wrote, traced.buffer, traced.where, traced.by_thread)
        if certain and self.once:
            self._of(self.filled, traced.buffer)[traced.where] = traced.by_thread

    def filled_by_reader(self, read: TracedAccess) -> np.ndarray:
        """Of each byte that is read here, whether the thread that reads it has filled it, since it
        took this arm or one around it."""
        found = np.zeros(len(read.where), dtype=bool)
        arm: ArmAccesses | None = self
        while arm is not None:
            filled = arm.filled.get(read.buffer)
            if filled is not None and arm.known:
                found |= (filled[read.where] == read.by_thread) & (read.by_thread >= 0)
            arm = arm.around
        return found

    def _of(self, record: ByBuffer, buffer: Buffer) -> np.ndarray:
        found = record.get(buffer)
        if found is None:
            size = self.layout.sizes[buffer]
            found = record[buffer] = np.full(size, NOBODY, dtype=np.int32)
        return found

    def _add(
        self, record: ByBuffer, buffer: Buffer, where: ByteIndices, threads: np.ndarray
    ) -> None:
        """Adds threads to those on record for some bytes: two that differ are anyone."""
        who = self._of(record, buffer)
        before = who[where]
        same = (before == NOBODY) | (before == threads)
        who[where] = np.where(same, threads, np.where(threads == NOBODY, before, ANYONE))

    def add_branch(self, one: ArmAccesses, two: ArmAccesses) -> None:
        """Adds what the threads of this arm do in the two arms of a branch within."""
        self.known = self.known and one.known and two.known
        for arm in (one, two):
            self._add_all(self.touched, arm.touched)
            self._add_all(self.wrote, arm.wrote)
        for buffer, where, threads in filled_by_both(one, two) if self.once else ():
            self._of(self.filled, buffer)[where] = threads

    def _add_all(self, record: ByBuffer, added: ByBuffer) -> None:
        for buffer, threads in added.items():
            self._add(record, buffer, np.arange(len(threads)), threads)


def filled_by_both(
    one: ArmAccesses, two: ArmAccesses
) -> Iterator[tuple[Buffer, ByteIndices, np.ndarray]]:
    """The bytes that a thread fills in both arms, whichever it takes, while no partner is written
    there: each with the thread."""
    if not (one.known and two.known):
        return
    for buffer, threads in one.filled.items():
        theirs = two.filled.get(buffer)
        if theirs is None:
            continue
        same = (threads == theirs) & (threads >= 0)
        for partner in one.layout.partners.get(buffer, ()):
            for arm in (one, two) if partner is not buffer else ():
                same[_in_other(arm.layout, arm.wrote, partner, buffer)] = False
        where = np.flatnonzero(same)
        if len(where):
            yield buffer, where, threads[where]


def _in_other(layout: ByteLayout, record: ByBuffer, partner: Buffer, buffer: Buffer) -> ByteIndices:
    """The bytes of a buffer in which a partner has something on record."""
    threads = record.get(partner)
    if threads is None:
        return np.zeros(0, dtype=np.int64)
    return layout.in_other(partner, buffer, np.flatnonzero(threads != NOBODY))


def conflict(one: ArmAccesses, buffer: Buffer, two: ArmAccesses, partner: Buffer) -> bool:
    """Whether a thread in the first arm may access a byte of `buffer` that another one in the
    second accesses as one of `partner`, and either writes it."""
    if not (one.known and two.known):
        return True
    return _meet(one.layout, one.wrote.get(buffer), two.touched.get(partner), buffer, partner) or (
        _meet(one.layout, one.touched.get(buffer), two.wrote.get(partner), buffer, partner)
    )


def _meet(
    layout: ByteLayout,
    mine: np.ndarray | None,
    theirs: np.ndarray | None,
    buffer: Buffer,
    partner: Buffer,
) -> bool:
    if mine is None or theirs is None:
        return False
    begin, end = layout.common(buffer, partner)
    shift = layout.shift(buffer, partner)
    mine, theirs = mine[begin:end], theirs[begin + shift : end + shift]
    both = (mine != NOBODY) & (theirs != NOBODY)
    return bool((both & ((mine != theirs) | (mine == ANYONE))).any())
