"""Performing an access: what it requires, loses and overwrites; it is remembered (rules 2 to 6)."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Findings
from smemreuse.checker.footprints import Footprints, Touched
from smemreuse.checker.history import RECENT, Seen
from smemreuse.checker.layout import Bytes, Layout, meeting
from smemreuse.checker.state import State
from smemreuse.checker.touch import Touch, by_anyone
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.evaluate import Threads


class Accesses:
    """The accesses of a trace to the buffers of a layout."""

    def __init__(
        self,
        layout: Layout,
        vectors: Vectors,
        footprints: Footprints,
        state: State,
        values: Values,
        findings: Findings,
    ):
        self._layout = layout
        self._vectors = vectors
        self._footprints = footprints
        self._state = state
        self._values = values
        self._findings = findings
        self._loads = 0

    def perform(self, access: MemoryAccess, threads: Threads, partly: bool, event: int) -> None:
        """All that an access of a statement does when threads, or only part of them, make it."""
        if access.uncovered:
            raise Uncovered(f"{access.uncovered}, and gets {self._layout.names[access.buffer]}")
        located = self._located(access, threads)
        certain = access.certain and located is not None and not partly
        where, by_thread, leaves = located if located is not None else self._whole(access.buffer)
        if leaves and certain and access.access is not Access.READ:
            self._findings.leaves(access.buffer, event)
        certain = certain and not leaves
        if access.engine is Engine.WGMMA and access.descriptor is not None:
            self._state.descriptors.setdefault(access.descriptor, {})[access.buffer] = where
            return
        ids, warps = threads.ids, self._vectors.warps(threads.ids)
        for is_write in _directions(access.access):
            touch = Touch(access.buffer, where, by_thread, is_write, certain, ids, warps, event)
            self._check(touch)
            if access.engine is Engine.TMA_LOAD:
                self._issue_load(touch, access.barrier, threads)
            else:
                self._remember(touch, access.engine)

    def read_in_flight(self, buffer: Buffer, where: Bytes, threads: Threads, event: int) -> None:
        """The read behind a descriptor happens now, and lasts until `warpgroup_wait` (rule 5)."""
        ids, warps = threads.ids, self._vectors.warps(threads.ids)
        touch = Touch(buffer, where, by_anyone(len(where)), False, False, ids, warps, event)
        self._check(touch)
        self._remember(touch, Engine.WGMMA)

    def _located(self, access: MemoryAccess, threads: Threads) -> Touched | None:
        """The bytes accessed, and by which thread each; None if not known."""
        if access.footprint.start is None:
            return None
        start = self._values(access.footprint.start, threads)
        if start is None:
            return None
        return self._footprints(access, start, threads.ids, self._layout.sizes[access.buffer])

    def _whole(self, buffer: Buffer) -> Touched:
        size = self._layout.sizes[buffer]
        return np.arange(size), by_anyone(size), False

    def _check(self, touch: Touch) -> None:
        """What must have come before has, and what is read is there; a write changes that."""
        memory = self._state.memory
        for partner in self._layout.partners[touch.buffer]:
            self._require_order(touch, partner)
        if touch.is_write:
            memory.write(touch)
        else:
            lost = memory.lost(touch)
            if len(lost):
                self._findings.lost(touch, lost, memory.shadows[touch.buffer])

    def _remember(self, touch: Touch, engine: Engine) -> None:
        """For those that come after it: as done, or as in flight."""
        if engine is Engine.THREAD:
            self._state.history.note(touch, self._state.order.epochs[touch.warps])
        else:
            self._state.engines.issue(engine, touch)

    def _issue_load(self, touch: Touch, barrier: Load | None, threads: Threads) -> None:
        """A TMA load counts as complete for those who have waited for its mbarrier's phase."""
        bit = 1 << self._loads
        self._loads += 1
        self._state.history.note_load(touch, bit)
        slot = self._values.slot(barrier, threads)
        if slot is not None:
            self._state.barriers[slot].loads |= bit

    # Order --------------------------------------------------------------------------------------

    def _require_order(self, touch: Touch, partner: Buffer) -> None:
        """Rules 4 to 6: earlier accesses of `partner` to these bytes must have happened before."""
        part = self._layout.part_in(touch.buffer, partner, touch.where)
        if part.start >= part.stop:
            return
        history, order = self._state.history, self._state.order
        theirs = touch.where[part] + self._layout.shift(touch.buffer, partner)
        seen = history.seen[partner, touch.buffer]
        if seen.recent:
            latest = seen.against(touch.is_write)
            unordered = (latest >= order.clock[touch.warps]) & (latest > 0)
            if unordered.any():
                other = self._racing(seen, touch, theirs, touch.by_thread[part])
                if other is not None:
                    self._findings.race(6, touch, partner, other, touch.certain)
        loads = history.loads.get((partner, touch.buffer), 0)
        if loads & ~order.known_to_all(touch.warps):
            self._findings.race(5, touch, partner, None, touch.certain)
        for pending in self._state.engines.pending:
            flying = pending.touch
            if flying.buffer is partner and (touch.is_write or flying.is_write):
                if meeting(flying.where, theirs) is not None:
                    sure = touch.certain and flying.certain
                    self._findings.race(5, touch, partner, flying.event, sure)

    def _racing(self, seen: Seen, touch: Touch, theirs: Bytes, by_thread: np.ndarray) -> int | None:
        """An unordered access to the same byte by another thread; None if there is none.

        `theirs`: the bytes that are touched, as the other buffer's, and by which thread.
        """
        clock = self._state.order.clock[touch.warps]
        oldest = None
        for recent in seen.recent:
            if not (touch.is_write or recent.is_write):
                continue
            oldest = recent.event if oldest is None else oldest
            if (recent.epochs >= clock[:, recent.warps]).any():
                if _different_threads(recent.where, recent.threads, theirs, by_thread):
                    return recent.event
        if len(seen.recent) >= RECENT:
            # Something older may be unordered too; it is no longer known byte by byte.
            first = min(int(recent.epochs.min()) for recent in seen.recent)
            latest = seen.against(touch.is_write)
            if ((latest >= clock) & (latest < first) & (latest > 0)).any():
                return oldest
        return None


def _directions(access: Access) -> tuple[bool, ...]:
    """Whether it writes, for each of an access's parts in order."""
    if access is Access.READ_WRITE:
        return (False, True)
    return (access is Access.WRITE,)


def _different_threads(
    one: Bytes, one_threads: np.ndarray, two: Bytes, two_threads: np.ndarray
) -> bool:
    """Whether some byte of both is accessed by other threads in the one than in the other."""
    common = meeting(one, two)
    if common is None:
        return False
    a, b = one_threads[common[0]], two_threads[common[1]]
    return bool(((a != b) | (a < 0)).any())
