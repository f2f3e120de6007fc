"""Barriers of threads: who meets, and what is ordered by that (rule 6)."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.agent import Agent
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.state import State
from smemreuse.checker.values import Values
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.table import counted

_ALL_LANES = 2**32 - 1


class Meetings:
    """What barriers of threads do to the state."""

    def __init__(self, vectors: Vectors, state: State, values: Values):
        self._vectors = vectors
        self._state = state
        self._values = values

    def barrier(self, threads: Threads) -> None:
        """These threads meet; what a warp's other threads do is not ordered by that."""
        self._meet(self._vectors.full_warps(threads.ids))

    def _meet(self, warps: np.ndarray) -> None:
        self._state.order.barrier(warps)
        self._state.proxies.fences.barrier(warps)

    def meet(self, call: Call, meeting: Meeting, agent: Agent) -> None:
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
                    self._meet(warps[index : index + 1])
            return
        count = counted(call, meeting) if group is Group.NAMED else None
        if count is not None and self._values(count, threads) != threads.count:
            raise Uncovered("a named barrier is shared by several arms")
        self.barrier(threads)

    def fence(self, agent: Agent, *, for_others: bool = True) -> None:
        """What the async proxy does comes behind generic accesses of before (rule 11)."""
        if not agent.partly:
            ids, order = agent.threads.ids, self._state.order
            full = self._vectors.full_warps(ids)
            self._state.proxies.fences.fence(ids, full, order, for_others=for_others)

    def _meets_whole(self, call: Call, meeting: Meeting, threads: Threads) -> bool:
        """Whether a barrier of a warp is for all of its lanes."""
        operands = call.args
        if meeting.mask is None or meeting.mask >= len(operands):
            return True
        mask = self._values(operands[meeting.mask], threads)
        return isinstance(mask, int) and mask % 2**32 == _ALL_LANES
