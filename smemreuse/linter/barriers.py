"""Hazards of barriers: divergence, deadlock, and waits that come too late.

A parity tells a phase from those next to it, and no more (rule 13). A thread that looks for phase
`n` while the phase after it is complete waits for another one. So the next phase must not end
before all who wait for this one have looked: what ends it has to come after their wait.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.findings import Waiting
from smemreuse.checker.machine.mbarriers import Barrier, Slot
from smemreuse.checker.machine.order import Order
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Block, Stmt, walk_statements
from smemreuse.linter import mends, words
from smemreuse.linter.collected import KEEP_PACE, Collected, LintContext
from smemreuse.results.hazards import Hazard, HazardKind, Site
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.table import calls_of, counted


@dataclass(frozen=True)
class PassedWait:
    """Threads that have waited until `needed` phases of an mbarrier were complete.

    `epochs` are the epochs of their `warps` then. A warp that knows `key` knows that they waited.
    """

    needed: int
    waited: Waiting
    agent: Agent
    site: Site
    warps: np.ndarray
    epochs: np.ndarray
    key: tuple[object, ...]


class OvertakenWaits(Collected):
    """Waits on an mbarrier's parity that the phase after the awaited one may overtake (rule 13)."""

    def __init__(self, known: LintContext, layout: ByteLayout, body: Block) -> None:
        super().__init__(known, layout, body)
        self._looked: dict[Slot, list[PassedWait]] = {}

    def passes(self, waited: Waiting, agent: Agent, order: Order) -> None:
        """Records threads that pass a wait; a hazard if a later phase may already be complete."""
        barrier, ids = waited.barrier, agent.threads.ids
        key = ("looked", waited.slot, barrier.initialized, ids.tobytes())
        warps = np.unique(ids // 32)
        # Threads of a part of a warp know of no phases but those that they have waited for.
        known = max(waited.known, order.known_to_all(warps).phase(key) - 1)
        needed = barrier.earliest(waited.parity, known)
        stmt = self._statement_of(waited.call)
        site = Site.of(stmt, agent.loops)
        looked = PassedWait(needed, waited, agent, site, warps, order.epochs[warps].copy(), key)
        if barrier.phase > needed:
            self._overtaken(looked)
        else:
            self._looked.setdefault(waited.slot, []).append(looked)
        order.note_phase(warps, key, needed + 1)

    def completes(self, slot: Slot, barrier: Barrier) -> None:
        """A phase is complete: reports earlier waits that nothing orders before it, and drops the
        others.
        """
        handed, left = barrier.completed[-1], []
        for one in self._looked.get(slot, ()):
            if one.key[2] != barrier.initialized:
                continue
            if one.needed >= barrier.phase:
                left.append(one)
            elif (handed.clocks[-1][one.warps] > one.epochs).all():
                continue
            elif handed.known.phase(one.key) > one.needed:
                self._known.assumed.setdefault(KEEP_PACE)
            else:
                self._overtaken(one)
        self._looked[slot] = left

    def _overtaken(self, looked: PassedWait) -> None:
        """Adds the hazard of one wait that may look after the next phase is over."""
        storage, index = looked.waited.slot
        name, site = f"{storage.name}[{index}]", looked.site
        who = words.threads(looked.agent.threads.ids)
        hazard = Hazard(
            HazardKind.BARRIER_DEADLOCK,
            False,
            site,
            (storage.name,),
            f"{who} wait at {site} until {looked.needed} phases of {name} are over, and nothing "
            "keeps the next one from being over before they look: they would wait for another",
            mends.look_in_time(name, site),
            agents=(who,),
        )
        self._add(hazard, self._statement_of(looked.waited.call))

    def _statement_of(self, call: Call) -> Stmt:
        """The statement of the kernel that contains this very call."""
        return next(
            stmt
            for stmt in walk_statements(self._known.body)
            if any(one is call for one in calls_of(stmt))
        )


class WaitingHazards(OvertakenWaits):
    """Threads that wait in vain, or reach a barrier that other threads do not reach."""

    def __init__(self, known: LintContext, layout: ByteLayout, body: Block) -> None:
        super().__init__(known, layout, body)
        self._waiting: dict[int, tuple[Agent, Waiting]] = {}
        self._meetings = np.zeros(len(known.vectors.everyone), dtype=np.int64)
        self._met: dict[int, Stmt] = {}
        self._begun: dict[Slot, tuple[Stmt, Agent, dict[int, int]]] = {}

    def meets(self, stmt: Stmt, call: Call, meeting: Meeting, agent: Agent) -> None:
        """Records threads at a barrier of the block: every thread must arrive, equally often."""
        named = meeting.group is Group.NAMED and counted(call, meeting) is not None
        if named or meeting.group not in (Group.BLOCK, Group.NAMED):
            return
        ids, everyone = np.unique(agent.threads.ids), self._known.vectors.everyone
        here = self._meetings[ids]
        late_ids = np.setdiff1d(ids, ids[here == here.max()])
        if len(late_ids):
            self._diverge(self._met.get(int(here.max()), stmt), late_ids, certain=not agent.partly)
        elif agent.partly:
            self._diverge(stmt, everyone[:0], certain=False)
        self._meetings[ids] = here.max() + 1
        if len(ids) < len(everyone):
            self._met.setdefault(int(here.max()) + 1, stmt)

    def ends(self) -> None:
        """At the kernel's end, adds the hazard of threads that wait for others which met fewer
        barriers.

        A thread may have ended before that and counts no more then, so the hazard is never certain.
        """
        most = int(self._meetings.max(initial=0))
        missing = np.flatnonzero(self._meetings < most)
        if len(missing):
            stmt = self._met.get(most)
            if stmt is not None:
                self._diverge(stmt, missing, certain=False)

    def _diverge(self, stmt: Stmt, missing: np.ndarray, *, certain: bool) -> None:
        """Adds the hazard of a barrier that `missing` threads do not reach; empty if data decide
        which.
        """
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
        """Adds a race if threads use an mbarrier in no order with its initialization by others."""
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
        """Adds the hazard that what a barrier orders depends on the schedule."""
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
        """Adds the deadlock of all threads waiting.

        It is certain in every schedule if all threads know of all completed phases.
        """
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
