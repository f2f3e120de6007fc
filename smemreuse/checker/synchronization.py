"""The operations that order accesses: barriers, waits, groups, arrivals (rules 5 and 6)."""

from __future__ import annotations

from smemreuse.checker.accesses import Accesses
from smemreuse.checker.agent import BLOCKED, Agent, Steps
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Findings
from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.mbarriers import Barrier
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.state import State
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.expr import Call, Expr, Load, Pointer, walk
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.semantics.effects import Effect, Engine, Group, Meeting, Signal, Wait
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import (
    counted,
    effect_of,
    is_mbarrier,
    mbarrier_operand,
)

_ALL_LANES = 2**32 - 1


class Synchronization:
    """What the synchronizing intrinsics do to the state."""

    def __init__(
        self,
        relevance: Relevance,
        vectors: Vectors,
        state: State,
        values: Values,
        accesses: Accesses,
        findings: Findings,
    ):
        self._relevance = relevance
        self._vectors = vectors
        self._state = state
        self._values = values
        self._accesses = accesses
        self._findings = findings
        self._warps = len(vectors.warps(vectors.everyone))

    def perform(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """What an operation does to the order of accesses, except to wait for a phase."""
        effect = effect_of(call)
        if effect.unknown and any(map(is_mbarrier, call.args)):
            raise Uncovered(effect.unknown)
        if effect.leaves is not None:
            raise Uncovered(f"`{call.op}` is not followed")
        if effect.meeting is not None:
            self._meet(call, effect.meeting, agent)
        if effect.commits is not None:
            self._commit(effect.commits, agent)
        if effect.waits is not None:
            self._wait_groups(call, effect.waits, agent)
        if effect.reads_described:
            self._read_described(call, stmt, agent)
        if effect.mbarrier is not None:
            self._signal(call, effect, stmt, agent)

    # Barriers of threads ------------------------------------------------------------------------

    def barrier(self, threads: Threads) -> None:
        """These threads meet; what a warp's other threads do is not ordered by that."""
        self._state.order.barrier(self._vectors.full_warps(threads.ids))

    def _meet(self, call: Call, meeting: Meeting, agent: Agent) -> None:
        """A barrier of threads; a named one orders those who meet."""
        threads, group = agent.threads, meeting.group
        if group is Group.NAMED and not (meeting.arrives and meeting.waits):
            raise Uncovered(f"`{call.op}` is not followed")
        if group is Group.NOBODY or not (meeting.arrives and meeting.waits):
            return
        if group is Group.WARP:
            if self._meets_whole(call, meeting, threads):
                warps = self._vectors.full_warps(threads.ids)
                for index in range(len(warps)):
                    self._state.order.barrier(warps[index : index + 1])
            return
        count = counted(call, meeting) if group is Group.NAMED else None
        if count is not None and self._values(count, threads) != threads.count:
            raise Uncovered("a named barrier is shared by several arms")
        self.barrier(threads)

    def _meets_whole(self, call: Call, meeting: Meeting, threads: Threads) -> bool:
        """Whether a barrier of a warp is for all of its lanes."""
        operands = call.args
        if meeting.mask is None or meeting.mask >= len(operands):
            return True
        mask = self._values(operands[meeting.mask], threads)
        return isinstance(mask, int) and mask % 2**32 == _ALL_LANES

    # Groups -------------------------------------------------------------------------------------

    def _commit(self, engine: Engine, agent: Agent) -> None:
        """Closes a group, for each thread its own."""
        ids = agent.threads.ids
        counted = [] if agent.partly else self._vectors.full_warps(ids).tolist()
        self._state.engines.commit(engine, self._vectors.warps(ids).tolist(), counted)

    def _wait_groups(self, call: Call, wait: Wait, agent: Agent) -> None:
        """The oldest groups are done, if it is known how many, and for whom."""
        ids, operands = agent.threads.ids, call.args
        keep: Value = 0
        if wait.keep is not None and wait.keep < len(operands):
            keep = self._values(operands[wait.keep], agent.threads)
        if not isinstance(keep, int):
            return
        if agent.partly:
            return
        warps, full = self._vectors.warps(ids).tolist(), self._vectors.full_warps(ids).tolist()
        epochs = self._state.order.epochs
        for traced in self._state.engines.wait(wait.engine, keep, ids, warps, full):
            self._state.history.note(traced, epochs[traced.warps])

    def _read_described(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """Reads what its descriptors stand for."""
        event = -1
        for node in walk(call):
            if isinstance(node, (Pointer, Load)):
                behind = self._state.descriptors.get(node.buffer.storage, {})
                for buffer, where in behind.items():
                    if event < 0:
                        event = self._findings.event(stmt, agent.loops)
                    if not self._reads_already(buffer, where, agent.threads):
                        self._accesses.read_in_flight(buffer, where, agent.threads, event)

    def _reads_already(self, buffer: Buffer, where: ByteIndices, threads: Threads) -> bool:
        """Whether the batch being issued has this read in flight already."""
        batch = self._state.engines.queue(Engine.WGMMA, int(threads.ids[0]) // 32).uncommitted
        return any(one.traced.buffer is buffer and one.traced.where is where for one in batch)

    # Mbarriers ----------------------------------------------------------------------------------

    def wait_for_phase(self, call: Call, effect: Effect, threads: Threads) -> Steps:
        """Waits for an mbarrier's phase to complete, and learns what that hands over."""
        operand, parity = mbarrier_operand(call, effect), self._count(call, effect, threads)
        barrier = self._barrier(operand, threads)
        if barrier is None or parity is None:
            raise Uncovered("an mbarrier's slot or parity is not known")
        while barrier.phase % 2 == parity % 2:
            yield BLOCKED
            barrier = self._barrier(operand, threads)
            assert barrier is not None
        if barrier.completed is not None:
            full = self._vectors.full_warps(threads.ids)
            self._state.order.acquire(full, *barrier.completed)

    def _barrier(self, operand: Expr | None, threads: Threads) -> Barrier | None:
        slot = self._values.slot(operand, threads)
        return None if slot is None else self._state.barriers[slot]

    def _count(self, call: Call, effect: Effect, threads: Threads) -> int | None:
        """The number that a signal to an mbarrier speaks of, if it is known."""
        operands, at = call.args, effect.mbarrier.count if effect.mbarrier else None
        value = self._values(operands[at], threads) if at is not None else None
        return value if isinstance(value, int) else None

    def _signal(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> None:
        """Initializes an mbarrier, announces bytes, arrives, or has bytes come in."""
        threads, signal = agent.threads, effect.signals
        if signal in (Signal.ARRIVE_WITH_COPIES, Signal.HOLD_FOR_COPIES):
            return  # it counts as one that never arrives
        barrier = self._barrier(mbarrier_operand(call, effect), threads)
        if barrier is None:
            raise Uncovered("an mbarrier's slot is not known")
        if signal is Signal.INITIALIZE:
            barrier.expected = self._count(call, effect, threads)
            if barrier.expected is None:
                raise Uncovered("an mbarrier's arrival count is not known")
            return
        if signal is Signal.COMPLETE_WITH_BYTES:
            self._take_off(barrier, stmt, threads)
        if signal in (Signal.EXPECT, Signal.ARRIVE_AND_EXPECT):
            due = self._count(call, effect, threads)
            if due is None:
                raise Uncovered("the bytes that an mbarrier expects are not known")
            barrier.bytes_due += due * threads.count
        if signal in (Signal.ARRIVE, Signal.ARRIVE_AND_EXPECT):
            self._arrive(barrier, threads)
        barrier.settle(self._warps)

    def _take_off(self, barrier: Barrier, stmt: Stmt, threads: Threads) -> None:
        """The bytes of a TMA load come off what its mbarrier still expects."""
        size = self._relevance.load_bytes.get(stmt)
        if size is None:
            raise Uncovered("the size of a TMA load is not known")
        barrier.bytes_due -= size * threads.count

    def _arrive(self, barrier: Barrier, threads: Threads) -> None:
        """Threads hand over what they know; their own accesses only if their whole warp arrives."""
        full = self._vectors.full_warps(threads.ids)
        order = self._state.order
        if len(full):
            handed, known = order.release(full)
        else:
            handed, known = order.release_in_part(self._vectors.warps(threads.ids))
        barrier.arrive(threads.count, handed, known)
