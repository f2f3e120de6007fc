"""Performs accesses: checks their order, updates the memory, and records them (rules 2 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smemreuse.checker.budget import PAIR, Work
from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.layout import ByteIndices, meeting, shifted
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.machine.mbarriers import MBARRIER_BYTES
from smemreuse.checker.machine.state import State
from smemreuse.checker.traced import ANYONE, TracedAccess, best_first
from smemreuse.checker.values.descriptors import Holder, Holders
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.footprints import Footprints, Located
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Load
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.results.rules import Rule
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine, Proxy
from smemreuse.semantics.evaluate import Threads, Value


class Accesses:
    """The accesses of a trace to the buffers of a layout."""

    def __init__(
        self,
        footprints: Footprints,
        holders: Holders,
        work: Work,
        state: State,
        values: Values,
        findings: Findings,
    ):
        self._layout = state.memory.layout
        self._by_statement = values.program_slice.accesses
        self._vectors = values.vectors
        self._footprints = footprints
        self._holders = holders
        self._work = work
        self._state = state
        self._values = values
        self._findings = findings
        self._warps = self._vectors.warps(self._vectors.everyone)
        self._bits = 0  # so many asynchronous accesses have one each

    def perform(self, stmt: Stmt, agent: Agent) -> None:
        """Performs the accesses of a statement itself, without those of nested statements."""
        self.perform_some(stmt, self._by_statement.get(stmt, ()), agent)

    def perform_some(self, stmt: Stmt, accesses: Sequence[MemoryAccess], agent: Agent) -> None:
        """Performs some of a statement's accesses."""
        if not accesses:
            return
        for access in accesses:
            self._work.do(self._cost(access, agent.threads))
        event = self._findings.event(stmt, agent.loops, agent.threads.ids)
        try:
            for access in accesses:
                self._perform(access, agent, event)
        except Misused as reason:
            self._findings.misused(stmt, agent, reason)
            raise

    def _cost(self, access: MemoryAccess, threads: Threads) -> int:
        """About how much is to be done for an access: for its bytes, and for each partner."""
        if access.descriptor is not None:
            return PAIR  # only noted
        partners = self._layout.partners[access.buffer]
        pending = self._state.engines.pending
        if access.buffer in partners:
            reads = access.access is Access.READ
            flying = sum(one.traced.is_write or not reads for one in pending.get(access.buffer, ()))
            if access.engine is Engine.WGMMA:
                reach = access.footprint.size + 8 * PAIR  # the same for all threads
            else:
                reach = self._layout.reach(access.buffer, access.footprint, threads)
            return reach + 2 * PAIR + PAIR // 2 * flying
        flying = sum(len(pending.get(partner, ())) for partner in partners)
        reach = self._layout.reach(access.buffer, access.footprint, threads)
        return reach * (1 + flying) + PAIR * (1 + len(partners))

    def _perform(self, access: MemoryAccess, agent: Agent, event: int) -> None:
        """Performs one access of a statement by the agent's threads. `event` names it in a witness.
        Raises `Uncovered`."""
        threads, decided = self._guarded(access, agent.threads)
        if not threads.count:
            return
        if access.uncovered:
            raise Uncovered(f"{access.uncovered}, and gets {self._layout.names[access.buffer]}")
        start = self._start(access, threads)
        located = self._located(access, start, threads)
        certain = access.certain and decided and located is not None
        anywhere = self._footprints.whole(self._layout.sizes[access.buffer])
        where, by_thread, leaves = anywhere if located is None else located
        if leaves or start is None:
            pointed = None if access.pointed is None else self._values(access.pointed, threads)
            outside = start if start is None else self._start(access, agent.threads)
            self._findings.outside(access, pointed if start is None else outside, agent, event)
        certain = certain and not leaves
        if access.descriptor is not None and access.engine is not Engine.UNKNOWN_ASYNC:
            self._describe(access.descriptor, access.buffer, where)
            return
        ids, warps = threads.ids, self._vectors.warps(threads.ids)
        for is_write in _directions(access.access):
            traced = TracedAccess(
                access.buffer,
                where,
                by_thread,
                is_write,
                certain and not agent.partly,
                ids,
                warps,
                event,
                access.proxy,
                footprint=access.footprint,
                starts=start,
                by_warp=access.by_warp,
                atomic=access.atomic,
            )
            if is_write and len(self._state.memory.lost(traced)):
                traced = replace(traced, refills=True)
            if self._state.barriers.in_memory and not access.signals:
                self._require_no_mbarrier(traced)
            self._check(traced, agent)
            if agent.accesses is not None:
                agent.accesses.note(traced, certain)
                if access.engine is not Engine.THREAD:
                    agent.forget_accesses()
            if is_write:
                for observer in self._findings.observers:
                    observer.written(traced, threads, self._values)
            bit = self._remember(traced, access.engine)
            if access.engine is Engine.TMA_LOAD:
                self._report(bit, access.barrier, threads)

    def _guarded(self, access: MemoryAccess, threads: Threads) -> tuple[Threads, bool]:
        """The threads for which no guard of an access is known to come out otherwise, and whether
        all guards are known."""
        decided = True
        for condition, way in access.guards:
            value = self._vectors.evaluate(condition, threads)
            if isinstance(value, np.ndarray):
                holds, fails = self._vectors.masks(value)
                threads = self._vectors.where(threads, holds if way else fails)
            elif value is None:
                decided = False
            elif bool(value) is not way:
                return replace(threads, ids=threads.ids[:0]), True
        return threads, decided

    def _describe(self, made: Holder, buffer: Buffer, where: ByteIndices) -> None:
        """Notes that a descriptor stands for these bytes: operations that get it read them
        later."""
        unknown = self._holders.lost(made)
        if unknown:
            raise Uncovered(f"{unknown}, and gets one of {self._layout.names[buffer]}")
        self._state.descriptors.describe(made, buffer, where)

    def read_described(self, call: Call, engine: Engine, stmt: Stmt, agent: Agent) -> None:
        """An operation reads what descriptors among its operands stand for, from now until that is
        waited for (rule 5). One access is recorded for each group."""
        ids, warps = agent.threads.ids, self._vectors.warps(agent.threads.ids)
        made, event = self._holders.in_expr(call), self._findings.event(stmt, agent.loops, ids)
        for buffer, where in list(self._state.descriptors.described_by(made)):
            _, by_thread, _ = self._footprints.whole(len(where))
            traced = TracedAccess(
                buffer,
                where,
                by_thread,
                False,
                False,
                ids,
                warps,
                event,
                Proxy.ASYNC,
            )
            self._check(traced, agent)
            if not self._state.engines.issuing(engine, buffer, where, ids):
                self._remember(traced, engine)

    def _located(self, access: MemoryAccess, start: Value, threads: Threads) -> Located | None:
        """The bytes accessed, and by which thread each; None if not known."""
        if start is None:
            return None
        return self._footprints(access, start, threads.ids, self._layout.sizes[access.buffer])

    def are_same_bytes(self, one: MemoryAccess, two: MemoryAccess, threads: Threads) -> bool:
        """Whether each thread makes both accesses to the same bytes, and no other thread to
        these."""
        first, second = (
            self._located(access, self._start(access, threads), threads) for access in (one, two)
        )
        if first is None or second is None or first[2] or second[2]:
            return False
        is_same = all(map(np.array_equal, first[:2], second[:2]))
        return is_same and bool((first[1] != ANYONE).all())

    def are_own_bytes(self, one: MemoryAccess, two: MemoryAccess, threads: Threads) -> bool:
        """The same, of threads that are there once for each iteration of a loop: whether in each
        they make both accesses to the same bytes, and to others than in all other iterations."""
        first, second = self._start(one, threads), self._start(two, threads)
        located = self._located(one, first, threads)
        if first is None or second is None or located is None:
            return False
        size = one.footprint.count * one.footprint.size
        return (
            len(located[0]) == threads.count * size
            and bool(np.all(np.equal(first, second)))
            and self.are_same_bytes(one, two, threads)
        )

    def are_free(self, write: MemoryAccess, threads: Threads) -> bool:
        """Whether all that was done to the bytes of a write happens before it."""
        located = self._located(write, self._start(write, threads), threads)
        if located is None:
            return False
        ids, warps = threads.ids, self._vectors.warps(threads.ids)
        traced = TracedAccess(write.buffer, *located[:2], True, True, ids, warps, 0, write.proxy)
        known = self._state.order.known_to_all(warps).copies
        partners = self._layout.partners[write.buffer]
        return all(self._is_over(traced, partner, known) for partner in partners)

    def _is_over(self, traced: TracedAccess, partner: Buffer, known: int) -> bool:
        """Whether all that a partner's accesses did to bytes happens before a write to them."""
        history, order = self._state.history, self._state.order
        theirs = self._layout.in_other(traced.buffer, partner, traced.where)
        flying = self._state.engines.in_flight(partner, known)
        return not any(meeting(other.where, theirs) for _, other in flying) and not any(
            True for _ in history.conflicts(traced, partner, theirs, order)
        )

    def _start(self, access: MemoryAccess, threads: Threads) -> Value:
        start = access.footprint.start
        return None if start is None else self._values(start, threads)

    def _check(self, traced: TracedAccess, agent: Agent) -> None:
        """Checks an access: earlier accesses must happen before it, and a read must find its value.
        A write then changes the memory."""
        memory = self._state.memory
        known = self._state.order.known_to_all(traced.warps).copies
        for partner in self._layout.partners[traced.buffer]:
            self._require_order(traced, partner, known)
            self._require_fence(traced, partner)
        if traced.is_write:
            memory.write(traced)
            return
        arm = agent.accesses
        own = None if arm is None else traced.where[arm.filled_by_reader(traced)]
        self._findings.reads(traced, memory, own)
        is_described = traced.footprint is None  # so that any byte of the buffer may be meant
        if not is_described and traced.buffer not in self._layout.partners[traced.buffer]:
            self._require_refilled(traced, known)

    def _remember(self, traced: TracedAccess, engine: Engine) -> int:
        """Records an access for later ones: as done, or as in flight with a bit of its own, which
        is returned (0 if done)."""
        order = self._state.order
        if engine is Engine.THREAD:
            self._state.history.note(traced, order)
            self._state.proxies.note(traced, order)
            return 0
        bit = 1 << self._bits
        self._bits += 1
        known = order.known_to_all(self._warps).copies
        to_these = order.known_to_all(traced.warps).copies
        self._state.engines.issue(engine, traced, bit, known, to_these)
        return bit

    def _report(self, bit: int, barrier: Load | None, threads: Threads) -> None:
        """A TMA load counts as complete for those who have waited for its mbarrier's phase."""
        slot = self._values.slot(barrier, threads)
        if slot is not None:
            self._state.barriers[slot].copies |= bit

    # Order --------------------------------------------------------------------------------------

    def _require_no_mbarrier(self, traced: TracedAccess) -> None:
        """Raises `Misused` for bytes of a valid mbarrier that are accessed as data."""
        for storage, start in self._state.barriers.in_memory:
            if storage is traced.buffer:
                bytes_ = traced.where
            elif storage in self._layout.partners[traced.buffer]:
                bytes_ = self._layout.in_other(traced.buffer, storage, traced.where)
            else:
                continue
            if ((start <= bytes_) & (bytes_ < start + MBARRIER_BYTES)).any():
                index = start // MBARRIER_BYTES
                raise Misused(f"{storage.name} has an mbarrier, number {index}, in bytes of data")

    def _require_order(self, traced: TracedAccess, partner: Buffer, known: int) -> None:
        """Rules 4 to 6: earlier accesses of `partner` to these bytes must have happened before.

        `known` are the bits of asynchronous accesses that are known to be over.
        """
        history, order = self._state.history, self._state.order
        in_flight = [
            (bit, other)
            for bit, other in self._state.engines.in_flight(partner, known)
            if traced.is_write or other.is_write
        ]
        if not in_flight and history.is_before(traced, partner, order):
            return
        part = self._layout.part_in(traced.buffer, partner, traced.where)
        if part.start >= part.stop:
            return
        mine = traced.part(part)
        if self._findings.loose:  # a barrier that others come to elsewhere may order these
            mine = replace(mine, certain=False)
        theirs = shifted(mine.where, self._layout.shift(traced.buffer, partner))
        earlier = history.conflicts(mine, partner, theirs, order)
        self._findings.unordered(Rule.BARRIER, mine, partner, best_first(mine, earlier))
        if in_flight:
            self._require_over(mine, partner, theirs, in_flight)

    def _require_over(
        self,
        mine: TracedAccess,
        partner: Buffer,
        theirs: ByteIndices,
        in_flight: Sequence[tuple[int, TracedAccess]],
    ) -> None:
        """Rule 5: whoever touches bytes of an asynchronous access knows that it is over. What some
        of the threads know is asked of those that touch its bytes."""
        known = self._state.order.known_to_any(mine.warps)
        touched = self._layout.byte_set(theirs)
        met = [
            (bit, replace(other, certain=False) if self._may_hear(mine, bit) else other)
            for bit, other in in_flight
            if self._layout.byte_set(other.where).meets(touched)
        ]
        flying = (other for bit, other in met if not bit & known)
        self._findings.unordered(Rule.IN_FLIGHT, mine, partner, best_first(mine, flying))
        for bit, other in met:
            both = meeting(other.where, theirs) if bit & known else None
            late = None if both is None else self._late(mine, both[1], bit)
            if late is not None:
                self._findings.unordered(Rule.IN_FLIGHT, late, partner, iter((other,)))

    def _may_hear(self, traced: TracedAccess, bit: int) -> bool:
        """Whether some of those who access may know by a barrier that is yet to be put in that what
        has this bit is over: others know it."""
        order = self._state.order
        knows = np.array([bool(one.copies & bit) for one in order.known])
        lacking = traced.warps[~knows[traced.warps]]
        heard = order.clock[np.ix_(lacking, knows)] > order.sure[np.ix_(lacking, knows)]
        return bool(heard.any())

    def _late(self, traced: TracedAccess, at: np.ndarray, bit: int) -> TracedAccess | None:
        """An access to those of its bytes `at` whose threads do not know a bit, or are not known;
        None if there are none."""
        by_thread = traced.by_thread[at]
        knows = [bool(one.copies & bit) for one in self._state.order.known]
        late = at[(by_thread == ANYONE) | ~np.array(knows)[by_thread // 32]]
        if not len(late):
            return None
        return replace(traced, where=traced.where[late], by_thread=traced.by_thread[late])

    def _require_refilled(self, traced: TracedAccess, known: int) -> None:
        """Rule 2: where a partner has overwritten what is read, the buffer's own write since then
        happens before. A race within the buffer, but it may be harmless without the partner, where
        what is written is what was there."""
        buffer, state = traced.buffer, self._state
        earlier = state.history.conflicts(traced, buffer, traced.where, state.order)
        self._findings.stale(Rule.BARRIER, traced, earlier)
        flying = (
            other
            for _, other in state.engines.in_flight(buffer, known)
            if other.refills and meeting(other.where, traced.where) is not None
        )
        self._findings.stale(Rule.IN_FLIGHT, traced, flying)

    def _require_fence(self, traced: TracedAccess, partner: Buffer) -> None:
        """Rule 11: a proxy fence stands between generic accesses and what is written now, and
        between generic writes and what is read now of the same buffer."""
        if traced.proxy is Proxy.GENERIC or not (traced.is_write or partner is traced.buffer):
            return
        other = self._state.proxies.unfenced(traced, partner)
        if other is not None and self._state.proxies.may_be_fenced(
            traced, partner, self._state.order
        ):
            other = replace(other, certain=False)
        if other is None:
            # Copies of threads that an mbarrier tells to be over are generic accesses all the same.
            theirs = self._layout.in_other(traced.buffer, partner, traced.where)
            copies = self._state.engines.of(Engine.CP_ASYNC, partner)
            other = next((one for one in copies if meeting(one.where, theirs)), None)
        if other is not None:
            self._findings.unfenced(traced, other)


def _directions(access: Access) -> tuple[bool, ...]:
    """An access as a sequence of reads (False) and writes (True)."""
    if access is Access.READ_WRITE:
        return (False, True)
    return (access is Access.WRITE,)
