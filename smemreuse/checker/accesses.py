"""Performing an access: what it requires, loses and overwrites; it is remembered (rules 2 to 6)."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Findings
from smemreuse.checker.footprints import Footprints, Located
from smemreuse.checker.history import RECENT, Seen
from smemreuse.checker.layout import ByteIndices, Layout, meeting
from smemreuse.checker.state import State
from smemreuse.checker.traced import TracedAccess, by_anyone
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import Buffer
from smemreuse.results.rules import Rule
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine, Proxy
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
            traced = TracedAccess(
                access.buffer, where, by_thread, is_write, certain, ids, warps, event, access.proxy
            )
            self._check(traced)
            if access.engine is Engine.TMA_LOAD:
                self._issue_load(traced, access.barrier, threads)
            else:
                self._remember(traced, access.engine)

    def read_in_flight(
        self, buffer: Buffer, where: ByteIndices, threads: Threads, event: int
    ) -> None:
        """The read behind a descriptor happens now, and lasts until `warpgroup_wait` (rule 5)."""
        ids, warps = threads.ids, self._vectors.warps(threads.ids)
        nobody = by_anyone(len(where))
        traced = TracedAccess(buffer, where, nobody, False, False, ids, warps, event, Proxy.ASYNC)
        self._check(traced)
        self._remember(traced, Engine.WGMMA)

    def _located(self, access: MemoryAccess, threads: Threads) -> Located | None:
        """The bytes accessed, and by which thread each; None if not known."""
        if access.footprint.start is None:
            return None
        start = self._values(access.footprint.start, threads)
        if start is None:
            return None
        return self._footprints(access, start, threads.ids, self._layout.sizes[access.buffer])

    def _whole(self, buffer: Buffer) -> Located:
        size = self._layout.sizes[buffer]
        return np.arange(size), by_anyone(size), False

    def _check(self, traced: TracedAccess) -> None:
        """What must have come before has, and what is read is there; a write changes that."""
        memory = self._state.memory
        for partner in self._layout.partners[traced.buffer]:
            self._require_order(traced, partner)
            self._require_fence(traced, partner)
        if traced.is_write:
            memory.write(traced)
        else:
            lost = memory.lost(traced)
            if len(lost):
                self._findings.lost(traced, lost, memory.shadows[traced.buffer])

    def _remember(self, traced: TracedAccess, engine: Engine) -> None:
        """For those that come after it: as done, or as in flight."""
        if engine is Engine.THREAD:
            epochs = self._state.order.epochs[traced.warps]
            self._state.history.note(traced, epochs)
            self._state.proxies.generic.note(traced, epochs)
        else:
            self._state.engines.issue(engine, traced)

    def _issue_load(self, traced: TracedAccess, barrier: Load | None, threads: Threads) -> None:
        """A TMA load counts as complete for those who have waited for its mbarrier's phase."""
        bit = 1 << self._loads
        self._loads += 1
        self._state.history.note_load(traced, bit)
        slot = self._values.slot(barrier, threads)
        if slot is not None:
            self._state.barriers[slot].loads |= bit

    # Order --------------------------------------------------------------------------------------

    def _require_order(self, traced: TracedAccess, partner: Buffer) -> None:
        """Rules 4 to 6: earlier accesses of `partner` to these bytes must have happened before."""
        part = self._layout.part_in(traced.buffer, partner, traced.where)
        if part.start >= part.stop:
            return
        history, order = self._state.history, self._state.order
        theirs = traced.where[part] + self._layout.shift(traced.buffer, partner)
        seen = history.seen[partner, traced.buffer]
        if seen.recent:
            latest = seen.against(traced.is_write)
            unordered = (latest >= order.clock[traced.warps]) & (latest > 0)
            if unordered.any():
                other = self._racing(seen, traced, theirs, traced.by_thread[part])
                if other is not None:
                    self._findings.race(Rule.BARRIER, traced, partner, other, traced.certain)
        loads = history.loads.get((partner, traced.buffer), 0)
        if loads & ~order.known_to_all(traced.warps):
            self._findings.race(Rule.IN_FLIGHT, traced, partner, None, traced.certain)
        for pending in self._state.engines.pending:
            flying = pending.traced
            if flying.buffer is partner and (traced.is_write or flying.is_write):
                if meeting(flying.where, theirs) is not None:
                    sure = traced.certain and flying.certain
                    self._findings.race(Rule.IN_FLIGHT, traced, partner, flying.event, sure)

    def _require_fence(self, traced: TracedAccess, partner: Buffer) -> None:
        """Rule 11: a proxy fence stands between generic accesses and what is written now."""
        other = self._state.proxies.unfenced(traced, partner)
        if other is not None:
            self._findings.unfenced(traced, partner, other)

    def _racing(
        self, seen: Seen, traced: TracedAccess, theirs: ByteIndices, by_thread: np.ndarray
    ) -> int | None:
        """An unordered access to the same byte by another thread; None if there is none.

        `theirs`: the bytes that are touched, as the other buffer's, and by which thread.
        """
        clock = self._state.order.clock[traced.warps]
        oldest = None
        for recent in seen.recent:
            if not (traced.is_write or recent.is_write):
                continue
            oldest = recent.event if oldest is None else oldest
            if (recent.epochs >= clock[:, recent.warps]).any():
                if _different_threads(recent.where, recent.threads, theirs, by_thread):
                    return recent.event
        if len(seen.recent) >= RECENT:
            # Something older may be unordered too; it is no longer known byte by byte.
            first = min(int(recent.epochs.min()) for recent in seen.recent)
            latest = seen.against(traced.is_write)
            if ((latest >= clock) & (latest < first) & (latest > 0)).any():
                return oldest
        return None


def _directions(access: Access) -> tuple[bool, ...]:
    """Whether it writes, for each of an access's parts in order."""
    if access is Access.READ_WRITE:
        return (False, True)
    return (access is Access.WRITE,)


def _different_threads(
    one: ByteIndices, one_threads: np.ndarray, two: ByteIndices, two_threads: np.ndarray
) -> bool:
    """Whether some byte of both is accessed by other threads in the one than in the other."""
    common = meeting(one, two)
    if common is None:
        return False
    a, b = one_threads[common[0]], two_threads[common[1]]
    return bool(((a != b) | (a < 0)).any())
