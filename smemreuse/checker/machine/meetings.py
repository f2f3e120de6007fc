"""Barriers of threads: which threads meet, and what that orders (rule 6)."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.findings import Findings
from smemreuse.checker.machine.mbarriers import LastMeeting
from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import counted

_ALL_LANES = 2**32 - 1


class BarrierMeetings:
    """What barriers of threads do to the state."""

    def __init__(self, vectors: Vectors, state: State, values: Values, findings: Findings):
        self._vectors = vectors
        self._state = state
        self._values = values
        self._findings = findings

    def barrier(self, threads: Threads) -> None:
        """These threads meet; what a warp's other threads do is not ordered by that."""
        full = self._vectors.full_warps(threads.ids)
        if len(full) < len(self._vectors.warps(threads.ids)):
            self._findings.forked = True  # those of the others meet too, and are not followed
        self._meet(full)

    def _meet(self, warps: np.ndarray) -> None:
        self._state.order.barrier(warps)
        self._state.proxies.fences.barrier(warps)

    def assume_barrier(self, threads: Threads, *, optimistic: bool = False) -> None:
        """A later pass may insert a barrier of these threads here; for `optimistic` see
        `check_plan`."""
        self._state.order.assume_barrier(
            self._vectors.full_warps(threads.ids), optimistic=optimistic
        )

    def meet(self, call: Call, meeting: Meeting, agent: Agent) -> None:
        """A barrier of threads; a named one orders those who meet."""
        threads, group = agent.threads, meeting.group
        if group is Group.NAMED and not (meeting.arrives and meeting.waits):
            raise Uncovered(f"`{call.op}` is not followed")
        if group is Group.NOBODY:
            return
        if not (meeting.arrives and meeting.waits):
            self._findings.forked = True  # what it orders together with its other half is left out
            return
        if group is Group.WARP:
            if self._meets_whole(call, meeting, threads):
                warps = self._vectors.full_warps(threads.ids)
                for index in range(len(warps)):
                    self._meet(warps[index : index + 1])
            else:
                self._findings.forked = True  # it may order some lanes, and none are followed
            return
        count = counted(call, meeting) if group is Group.NAMED else None
        if count is None:
            self.barrier(threads)
        elif self._values(count, threads) == threads.count:
            self._meet_by_name(self._name(call, meeting, threads), threads)
        else:
            raise Uncovered("a named barrier is shared by several arms")

    def _name(self, call: Call, meeting: Meeting, threads: Threads) -> Value:
        """The number of a named barrier; 0, the block's, where the operation names none."""
        at = meeting.identity
        if at is None or at >= len(call.args):
            return 0
        return self._vectors.uniform(self._values(call.args[at], threads))

    def _meet_by_name(self, name: Value, threads: Threads) -> None:
        """A barrier is complete when as many threads have come, whichever they are. They are these
        where these were the last to use it, or know that the last use is over."""
        if not isinstance(name, int):
            raise Uncovered("the number of a named barrier is not known")
        order, barriers = self._state.order, self._state.barriers
        last = barriers.last_meeting(name)
        known = order.known_to_all(self._vectors.warps(threads.ids)).phase(name)
        group = threads.ids.tobytes()
        if last.group != group and known < last.number:
            raise Misused(f"several groups of threads may be at named barrier {name} at once")
        barriers.meetings[name] = LastMeeting(last.number + 1, group)
        full = self._vectors.full_warps(threads.ids)
        self._meet(full)
        order.note_phase(full, name, last.number + 1)

    def fence(self, agent: Agent, *, assumed: bool = False) -> None:
        """A proxy fence: later accesses by the async proxy happen after earlier generic ones
        (rule 11)."""
        if not agent.partly:
            ids, order = agent.threads.ids, self._state.order
            full = self._vectors.full_warps(ids)
            self._findings.fences(agent, full)
            self._state.proxies.fences.fence(ids, full, order, assumed=assumed)

    def _meets_whole(self, call: Call, meeting: Meeting, threads: Threads) -> bool:
        """Whether a barrier of a warp is for all of its lanes."""
        operands = call.args
        if meeting.mask is None or meeting.mask >= len(operands):
            return True
        mask = self._values(operands[meeting.mask], threads)
        return isinstance(mask, int) and mask % 2**32 == _ALL_LANES
