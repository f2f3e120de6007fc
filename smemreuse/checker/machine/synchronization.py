"""Dispatches the operations that order accesses, by their kind (rules 5 and 6)."""

from __future__ import annotations

from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.machine.accesses import Accesses
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.findings import Findings
from smemreuse.checker.machine.groups import Groups
from smemreuse.checker.machine.meetings import BarrierMeetings
from smemreuse.checker.machine.signals import Signals
from smemreuse.checker.machine.state import State
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.expr import Call, Load, Pointer, walk
from smemreuse.ir.kernel import Stmt
from smemreuse.semantics.effects import Effect, Engine


class Synchronization:
    """What the synchronizing intrinsics do to the state."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        vectors: Vectors,
        state: State,
        values: Values,
        accesses: Accesses,
        findings: Findings,
    ):
        self._findings = findings
        self._operations = program_slice.operations
        self._meetings = BarrierMeetings(vectors, state, values, findings)
        self._groups = Groups(state, values, accesses, findings)
        self._signals = Signals(program_slice, vectors, state, values, findings)
        self.barrier = self._meetings.barrier
        self.assume_barrier = self._meetings.assume_barrier
        self.fence = self._meetings.fence
        self.wait_for_phase = self._signals.wait_for_phase

    def perform(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """What an operation does to the order of accesses, except to wait for a phase."""
        effect = self._operations.effect(call)
        if self._operations.may_signal(call):
            why = f"`{call.op}` is handed an mbarrier, and may signal to it"
            raise Uncovered(effect.unknown or why)
        if effect.engine is Engine.UNKNOWN_ASYNC and not _is_handed_memory(call):
            self._findings.forked = True  # it may be a barrier, and counts as if it were none
        if effect.leaves is not None:
            raise Uncovered(f"`{call.op}` is not followed")
        try:
            self._order(call, effect, stmt, agent)
        except Misused as reason:
            self._findings.misuses(stmt, agent, str(reason))
            raise

    def _order(self, call: Call, effect: Effect, stmt: Stmt, agent: Agent) -> None:
        if effect.meeting is not None:
            self._findings.meets(stmt, call, effect.meeting, agent)
            self._meetings.meet(call, effect.meeting, agent)
        if effect.commits is not None:
            self._groups.commit(effect.commits, agent)
        if effect.waits is not None:
            self._groups.wait(call, effect.waits, agent)
        if effect.reads_described:
            self._groups.read_described(call, effect.engine, stmt, agent)
        if effect.mbarrier is not None:
            self._signals.signal(call, effect, stmt, agent)


def _is_handed_memory(call: Call) -> bool:
    """Whether an operation has anything to work on beside values."""
    return any(isinstance(node, (Pointer, Load)) for operand in call.args for node in walk(operand))
