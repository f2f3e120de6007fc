"""Signals to mbarriers, and waits for their phases (rules 5 and 6)."""

from __future__ import annotations

from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.machine.agent import BLOCKED, Agent, Steps
from smemreuse.checker.machine.events import Findings, Waiting
from smemreuse.checker.machine.mbarriers import MBARRIER_BYTES, Announcement, Barrier
from smemreuse.checker.machine.order import Knowledge, ReleasedClocks
from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Slot, Values
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.effects import Effect, Engine, Signal
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.table import mbarrier_operand

ARRIVALS = {
    Signal.ARRIVE: Engine.THREAD,
    Signal.ARRIVE_AND_EXPECT: Engine.THREAD,
    Signal.ARRIVE_WITH_COPIES: Engine.CP_ASYNC,
    Signal.ARRIVE_WITH_MATRICES: Engine.TCGEN05,
}
"""Which engine arrives, once the accesses issued to it so far are over."""


class Signals:
    """What is done to mbarriers. `waiting` are the waits of agents that are blocked now."""

    def __init__(self, state: State, values: Values, findings: Findings):
        self._slice = values.program_slice
        self._vectors = values.vectors
        self._state = state
        self._values = values
        self._findings = findings
        self._warps = len(self._vectors.warps(self._vectors.everyone))
        self.waiting: dict[int, Waiting] = {}

    def wait_for_phase(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> Steps:
        """Waits for an mbarrier's phase to complete, and learns what that hands over.

        Only the earliest phase of that parity counts that is not known to be complete: another
        schedule may end the wait there, even if later phases are complete in this one.
        """
        threads = agent.threads
        slot, parity = self._slot(call, effect, threads), self._count(call, effect, threads)
        if slot is None or parity is None:
            raise Uncovered("an mbarrier's slot or parity is not known")
        barriers, order = self._state.barriers, self._state.order
        self._note_use(stmt, effect, slot, agent)
        self._use(slot, threads)
        noted: tuple[Barrier, int] | None = None
        while (barrier := barriers[slot]).phase % 2 == parity % 2:
            known = self._known(slot, threads)
            if noted is None or noted[0] is not barrier or noted[1] != known:
                self.waiting[id(agent)] = Waiting(stmt, agent, slot, parity, barrier, known)
                noted = (barrier, known)
            yield BLOCKED
            barriers, order = self._state.barriers, self._state.order
        self.waiting.pop(id(agent), None)
        incarnation, known = barriers.incarnation(slot), self._known(slot, threads)
        complete = barriers[slot].earliest(parity, known)
        waited = Waiting(stmt, agent, slot, parity, barriers[slot], known)
        for observer in self._findings.observers:
            observer.passes(waited, order)
        if complete < barriers[slot].phase:
            # Another schedule than the one that is tried has it otherwise.
            self._findings.fork(UndecidedKind.PHASE, stmt)
        if complete:
            warps, full = self._vectors.warps(threads.ids), self._vectors.full_warps(threads.ids)
            handed = barriers[slot].completed[complete - 1]
            if len(full) < len(warps):
                # The threads of other warps learn of it too.
                self._findings.fork(UndecidedKind.LANES, stmt)
                barriers.waited_in_part |= frozenset(warps.tolist()).difference(full.tolist())
                barriers.copies_waited_for_alone |= handed.known.copies
            order.acquire(full, handed, Knowledge(0, {incarnation: complete}))
            self._state.proxies.fences.acquire(full, handed.fenced)

    def _known(self, slot: Slot, threads: Threads) -> int:
        """How many phases of an mbarrier all of these threads know to be complete."""
        incarnation = self._state.barriers.incarnation(slot)
        return self._state.order.known_to_all(self._vectors.warps(threads.ids)).phase(incarnation)

    def signal(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> None:
        """Initializes an mbarrier, announces bytes, arrives, or has bytes come in."""
        threads, signal = agent.threads, effect.signals
        if effect.remote:
            raise Uncovered(f"`{call.op}` reaches another block of the cluster")
        slot = self._slot(call, effect, threads)
        if signal is Signal.HOLD_FOR_COPIES:
            self._state.barriers.ends_with_copies(slot)
            # The phase is complete later, never sooner; whoever waits for it then knows of the
            # copies, which is not followed.
            self._state.engines.may_be_over(Engine.CP_ASYNC, threads.ids, lambda _: True)
            return
        if slot is None:
            raise Uncovered("an mbarrier's slot is not known")
        if agent.partly:
            raise Uncovered("it is not known which threads signal to an mbarrier")
        self._note_use(stmt, effect, slot, agent)
        if signal is Signal.INITIALIZE:
            expected = self._count(call, effect, threads)
            if expected is None:
                raise Uncovered("an mbarrier's arrival count is not known")
            if threads.count > 1:
                raise Misused("several threads initialize one mbarrier")
            if slot[0] in self._slice.untraced_data:
                raise Uncovered(f"{slot[0].name} holds mbarriers and data")
            self._state.barriers.initialize(slot, expected)
            return
        if signal is Signal.INVALIDATE:
            clocks = self._state.order.inserted[self._vectors.warps(threads.ids)]
            self._state.barriers.invalidate(slot, clocks)
            return
        self._require_phase(slot, threads)
        self._use(slot, threads)
        barrier = self._state.barriers[slot]
        barrier.plain &= signal is Signal.ARRIVE
        order, warps = self._state.order, self._vectors.warps(threads.ids)
        if signal is Signal.COMPLETE_WITH_BYTES:
            barrier.bytes_due -= self._load_bytes(stmt) * threads.count
            barrier.hand_over(ReleasedClocks.only(self._warps, order.progress(warps)))
        if signal is Signal.EXPECT:
            epochs = {int(warp): int(order.epochs[warp]) for warp in warps}
            barrier.announced = (*barrier.announced, Announcement(threads.ids, epochs))
        if signal in (Signal.EXPECT, Signal.ARRIVE_AND_EXPECT):
            due = self._count(call, effect, threads)
            if due is None:
                raise Uncovered("the bytes that an mbarrier expects are not known")
            barrier.bytes_due += due * threads.count
        if signal in ARRIVALS:
            barrier.cover_announcements(threads.ids, order.sure[warps])
            times = self._times(call, effect, threads)
            barrier.arrive(times, self._handed(ARRIVALS[signal], effect, threads))
        phase = barrier.phase
        barrier.settle(self._warps)
        if barrier.phase > phase:
            for observer in self._findings.observers:
                observer.completes(slot, barrier, agent)

    def _note_use(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent) -> None:
        for observer in self._findings.observers:
            observer.uses(stmt, effect, slot, agent, self._state.order)

    def _require_phase(self, slot: Slot, threads: Threads) -> None:
        """Raises `Misused` unless all phases before the open one are surely complete: otherwise the
        signal might count for an earlier phase in another schedule. These threads know it, or come
        after all arrivals, and nothing but these ends a phase."""
        barriers, order = self._state.barriers, self._state.order
        warps, barrier = self._vectors.warps(threads.ids), barriers[slot]
        known = order.known_to_all(warps).phase(barriers.incarnation(slot))
        if known < barrier.phase and not barrier.is_ended_before(order.sure[warps]):
            raise Misused("a signal to an mbarrier may come in an earlier phase")

    def _use(self, slot: Slot, threads: Threads) -> None:
        """Notes that these threads use an mbarrier."""
        warps = self._vectors.warps(threads.ids)
        self._state.barriers[slot].used(warps, self._state.order.epochs[warps])

    def _slot(self, call: Call, effect: Effect, threads: Threads) -> Slot | None:
        """The mbarrier of an operation; None if it is not known. Raises `Misused` for one outside
        of its array."""
        slot = self._values.slot(mbarrier_operand(call, effect), threads)
        storage, index = slot or (None, 0)
        if isinstance(storage, Buffer) and storage.size is not None:
            if not 0 <= MBARRIER_BYTES * index <= storage.size - MBARRIER_BYTES:
                raise Misused(f"{storage.name} has no mbarrier {index}")
        return slot

    def _count(self, call: Call, effect: Effect, threads: Threads) -> int | None:
        """The number that a signal to an mbarrier speaks of, if it is known."""
        operands, at = call.args, effect.mbarrier.count if effect.mbarrier else None
        if at is None or at >= len(operands):
            return None
        value = self._values.decide(operands[at], threads)
        return value if isinstance(value, int) else None

    def _times(self, call: Call, effect: Effect, threads: Threads) -> int:
        """How often these threads arrive together."""
        if effect.signals is not Signal.ARRIVE or not effect.mbarrier or not effect.mbarrier.count:
            return threads.count
        each = self._count(call, effect, threads)
        if each is None:
            raise Uncovered("how often an mbarrier is arrived at is not known")
        return each * threads.count

    def _load_bytes(self, stmt: Stmt) -> int:
        """The bytes of a TMA load, which come off what its mbarrier still expects."""
        size = self._slice.load_bytes.get(stmt)
        if size is None:
            raise Uncovered("the size of a TMA load is not known")
        return size

    def _handed(self, engine: Engine, effect: Effect, threads: Threads) -> ReleasedClocks:
        """What an arrival hands over: of threads what they know, and their own accesses only if
        their whole warp arrives. Without a release it is only what has come to its end by then."""
        order, warps = self._state.order, self._vectors.warps(threads.ids)
        if engine is not Engine.THREAD or not effect.mbarrier or not effect.mbarrier.hands_over:
            copies = 0 if engine is Engine.THREAD else self._state.engines.bits(engine, threads.ids)
            return ReleasedClocks.only(self._warps, order.known_to_some(warps) | Knowledge(copies))
        full, fences = self._vectors.full_warps(threads.ids), self._state.proxies.fences
        if len(full):
            return order.release(full).with_fences(fences.release(full))
        return order.release_in_part(threads.ids).with_fences(fences.release_in_part(threads.ids))
