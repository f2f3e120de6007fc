"""Dispatches the operations that order accesses, by their kind (rules 5 and 6)."""

from __future__ import annotations

from collections.abc import Set

from smemreuse.checker.errors import Contended, Misused, Returned, Uncovered
from smemreuse.checker.machine.accesses import Accesses
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.arrivals import BLOCK, MismatchKind
from smemreuse.checker.machine.events import AccessEvent, Findings
from smemreuse.checker.machine.groups import Groups
from smemreuse.checker.machine.meetings import BarrierMeetings
from smemreuse.checker.machine.signals import Signals
from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Values
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Stmt
from smemreuse.ir.source import at_line
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.effects import Effect, Meeting


class Synchronization:
    """What the synchronizing intrinsics do to the state."""

    def __init__(
        self,
        state: State,
        values: Values,
        accesses: Accesses,
        findings: Findings,
        contended: Set[Stmt],
    ):
        self._findings = findings
        self._operations = values.program_slice.operations
        self._state, self._everyone = state, len(values.vectors.everyone)
        self._meetings = BarrierMeetings(state, values, findings, contended)
        self._accesses = accesses
        self._groups = Groups(state, values)
        self._signals = Signals(state, values, findings)
        self.barrier = self._meetings.barrier
        self.assume_barrier = self._meetings.assume_barrier
        self.fence = self._meetings.fence
        self.wait_for_phase = self._signals.wait_for_phase
        self.waiting = self._signals.waiting

    @property
    def block_barrier_is_open(self) -> bool:
        """Whether it is not known who has come how often to the block's barrier."""
        return self._state.pairings[BLOCK] is None

    def comes_in_part(self, earlier: Stmt, stmt: Stmt, agent: Agent) -> None:
        """A later pass puts the block's barrier between two statements of a branch that only these
        threads are in: who passes it, and the next ones, when, is open from here on (rule 12)."""
        if self.block_barrier_is_open:
            return
        self._state.pairings.forget(BLOCK)
        where = f"{AccessEvent(earlier, agent.loops)} and {AccessEvent(stmt, agent.loops)}"
        self._findings.fork(UndecidedKind.BARRIER, stmt)
        self._findings.uneven = self._findings.uneven or (
            f"a barrier of the block will be put between {where}, where only some threads come"
        )
        for observer in self._findings.observers:
            observer.meets_in_part(earlier, stmt, agent)

    def perform(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """What an operation does to the order of accesses, except to wait for a phase."""
        effect = self._operations.effect(call)
        if self._operations.may_signal(call):
            why = f"`{call.op}` is handed an mbarrier, and may signal to it"
            raise Uncovered(effect.unknown or why)
        if effect.returns and not agent.partly and agent.threads.count == self._everyone:
            raise Returned
        if effect.leaves is not None:
            raise Uncovered(f"`{call.op}`{at_line(stmt.line)} is not followed")
        try:
            self._order(call, effect, stmt, agent)
        except Misused as reason:
            self._findings.misused(stmt, agent, reason)
            raise

    def meet_unseen(self, stmt: Stmt, agent: Agent) -> None:
        """Threads carry out a statement, in which there may be barriers and waits that nothing
        tells of. They count as if there were none, and nothing that they may order is certain; the
        others of the block do not come to such barriers (rule 12)."""
        if self._operations.may_order(stmt):
            self._findings.fork(UndecidedKind.OPERATION, stmt)
        if agent.partly or agent.threads.count < self._everyone:
            if self._operations.may_meet_unseen(stmt):
                self._state.pairings.forget_all()

    def meet_within(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """The barriers that threads meet at inside an operation, one after the other."""
        try:
            for meeting in self._operations.effect(call).within:
                self._meet(call, meeting, stmt, agent)
        except Misused as reason:
            self._findings.misused(stmt, agent, reason)
            raise

    def _order(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> None:
        if effect.meeting is not None:
            self._meet(call, effect.meeting, stmt, agent)
        if effect.commits is not None:
            self._groups.commit(effect.commits, agent)
        if effect.waits is not None:
            self._groups.wait(call, effect.waits, agent)
        if effect.reads_described:
            self._accesses.read_described(call, effect.engine, stmt, agent)
        if effect.fences_mbarriers:
            for observer in self._findings.observers:
                observer.publishes(agent, self._state.order, heard=False)
        if effect.mbarrier is not None:
            self._signals.signal(call, effect, stmt, agent)

    def _meet(self, call: Call, meeting: Meeting, stmt: Stmt, agent: Agent) -> None:
        """Threads come to a barrier. Raises `Uncovered` where what it orders is undefined."""
        came = self._meetings.meet(call, meeting, stmt, agent)
        for observer in self._findings.observers:
            observer.meets(stmt, came, agent)
        kind = came.kind
        if kind is None:
            return
        name = "" if came.named is None else f"named barrier {came.named} in "
        why = f"threads come to {name}{AccessEvent(stmt, agent.loops)}, and {kind.value}"
        self._findings.fork(UndecidedKind.BARRIER, stmt)
        self._findings.uneven = self._findings.uneven or why
        if came.mismatch is not None and kind is MismatchKind.SHARED:
            raise Contended(why, came.mismatch.uses)
        if kind in _UNDEFINED:
            raise Uncovered(why)


_UNDEFINED = (MismatchKind.ARRIVED_TWICE, MismatchKind.NOT_ARRIVED)
"""After these, nothing is known of who passes the barrier when."""
