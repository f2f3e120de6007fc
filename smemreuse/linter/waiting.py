"""Hazards of barriers: threads that do not come to one, phases of mbarriers that never end."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.mbarriers import Slot
from smemreuse.checker.machine.order import Order
from smemreuse.checker.verdict.findings import Waiting
from smemreuse.checker.verdict.layout import Layout
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Block, Stmt
from smemreuse.linter import mends, words
from smemreuse.linter.collected import Known
from smemreuse.linter.overtaking import OvertakenWaits
from smemreuse.results.hazards import Hazard, HazardKind, Site
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.table import counted


class WaitingHazards(OvertakenWaits):
    """Who waits for whom."""

    def __init__(self, known: Known, layout: Layout, body: Block) -> None:
        super().__init__(known, layout, body)
        self._waiting: dict[int, tuple[Agent, Waiting]] = {}
        self._meetings = np.zeros(len(known.vectors.everyone), dtype=np.int64)
        self._met: dict[int, Stmt] = {}
        self._begun: dict[Slot, tuple[Stmt, Agent, dict[int, int]]] = {}

    def meets(self, stmt: Stmt, call: Call, meeting: Meeting, agent: Agent) -> None:
        """All threads of the block have to come to its barrier, and as often as each other."""
        named = meeting.group is Group.NAMED and counted(call, meeting) is not None
        if named or meeting.group not in (Group.BLOCK, Group.NAMED):
            return
        ids, everyone = np.unique(agent.threads.ids), self._known.vectors.everyone
        here = self._meetings[ids]
        behind = np.setdiff1d(ids, ids[here == here.max()])
        if len(behind):
            self._diverge(self._met.get(int(here.max()), stmt), behind, certain=not agent.partly)
        elif agent.partly:
            self._diverge(stmt, everyone[:0], certain=False)
        self._meetings[ids] = here.max() + 1
        if len(ids) < len(everyone):
            self._met.setdefault(int(here.max()) + 1, stmt)

    def ends(self) -> None:
        """The kernel is over: who has come to fewer barriers than others was waited for in vain.

        It may have ended before that, and counts no more then.
        """
        most = int(self._meetings.max(initial=0))
        missing = np.flatnonzero(self._meetings < most)
        if len(missing):
            stmt = self._met.get(most)
            if stmt is not None:
                self._diverge(stmt, missing, certain=False)

    def _diverge(self, stmt: Stmt, missing: np.ndarray, *, certain: bool) -> None:
        site = Site.of(stmt)
        who = words.threads(missing) if len(missing) else "some threads, as data decide,"
        verb = "do" if len(missing) > 1 else "does"
        witness = f"{who} {verb} not come to the barrier {site}, where the others wait for them"
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE,
            certain,
            site,
            (),
            witness,
            mends.converge(site),
            agents=(words.threads(missing),) if len(missing) else (),
        )
        self._add(hazard, stmt)

    def initializes(self, stmt: Stmt, slot: Slot, agent: Agent, order: Order) -> None:
        warps = np.unique(agent.threads.ids // 32)
        self._begun[slot] = (stmt, agent, {int(warp): int(order.epochs[warp]) for warp in warps})

    def uses(self, call: Call, slot: Slot, agent: Agent, order: Order) -> None:
        """Whoever uses an mbarrier comes behind its initialization, or did it alone."""
        if slot not in self._begun:
            return
        begun, by, epochs = self._begun[slot]
        ids = agent.threads.ids
        if np.array_equal(np.unique(ids), np.unique(by.threads.ids)):
            return
        warps = np.unique(ids // 32)
        late = [warp for warp, epoch in epochs.items() if (order.clock[warps, warp] <= epoch).any()]
        if not late:
            return
        stmt = self._statement_of(call)
        name = f"{slot[0].name}[{slot[1]}]"
        one = Site.of(begun, by.loops)
        two = Site.of(stmt, agent.loops)
        agents = words.threads(by.threads.ids), words.threads(ids)
        verb = "initializes" if by.threads.count == 1 else "initialize"
        hazard = Hazard(
            HazardKind.RACE,
            not agent.partly,
            two,
            (slot[0].name,),
            f"{agents[0]} {verb} {name} at {one}, in no order with which {agents[1]} use it at "
            f"{two}",
            mends.barrier(one, two, self._known.vectors.everyone),
            other=one,
            agents=agents,
        )
        self._add(hazard, stmt)

    def misuses(self, stmt: Stmt, agent: Agent, reason: str) -> None:
        """What a barrier orders depends on the schedule: it may be nothing of what is meant."""
        site, who = Site.of(stmt, agent.loops), words.threads(agent.threads.ids)
        hazard = Hazard(
            HazardKind.RACE,
            False,
            site,
            (),
            f"{who} come to {site}: {reason}",
            mends.count_for_one_phase(site),
            agents=(who,),
        )
        self._add(hazard, stmt)

    def waits(self, agent: Agent, waiting: Waiting) -> None:
        self._waiting[id(agent)] = (agent, waiting)

    def goes_on(self, agent: Agent) -> None:
        self._waiting.pop(id(agent), None)

    def stuck(self) -> None:
        """Everybody waits. It is so in every schedule if all know of all phases that are over."""
        certain = all(
            one.known == one.barrier.phase and one.barrier.expected is not None
            for _, one in self._waiting.values()
        )
        for agent, waiting in self._waiting.values():
            stmt = self._statement_of(waiting.call)
            barrier, (storage, index) = waiting.barrier, waiting.slot
            name, site = f"{storage.name}[{index}]", Site.of(stmt, agent.loops)
            who = words.threads(agent.threads.ids)
            lacking = (barrier.expected or 0) - barrier.arrived
            due = f" and {barrier.bytes_due:,} bytes" if barrier.bytes_due > 0 else ""
            witness = (
                f"{who} wait for the end of phase {barrier.phase} of {name} at {site}, which "
                f"{lacking} more arrivals{due} would end: everybody waits"
            )
            hazard = Hazard(
                HazardKind.BARRIER_DEADLOCK,
                certain,
                site,
                (storage.name,),
                witness,
                mends.complete(name, waiting.parity, lacking, site),
                agents=(who,),
            )
            self._add(hazard, stmt)
