"""Waits that come too late: the phase after the one that is waited for is over before they look.

A parity tells a phase from those next to it, and no more. Who looks for phase `n` while the one
behind it is over waits for another. So the phase behind it must not end before everybody has
looked: what ends it has to come behind their wait.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.mbarriers import Barrier, Slot
from smemreuse.checker.machine.order import Order
from smemreuse.checker.verdict.findings import Waiting
from smemreuse.checker.verdict.layout import Layout
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Block, Stmt, walk_statements
from smemreuse.linter import mends, words
from smemreuse.linter.collected import KEEP_PACE, Collected, Known
from smemreuse.results.hazards import Hazard, HazardKind, Site
from smemreuse.semantics.table import calls_of


@dataclass(frozen=True)
class Looked:
    """Threads that have waited until `needed` phases were complete, in these epochs of their warps,
    and by what whoever knows of it is told."""

    needed: int
    waited: Waiting
    agent: Agent
    site: Site
    warps: np.ndarray
    epochs: np.ndarray
    key: tuple[object, ...]


class OvertakenWaits(Collected):
    """Which waits the next phase but one may have come before."""

    def __init__(self, known: Known, layout: Layout, body: Block) -> None:
        super().__init__(known, layout, body)
        self._looked: dict[Slot, list[Looked]] = {}

    def passes(self, waited: Waiting, agent: Agent, order: Order) -> None:
        barrier, ids = waited.barrier, agent.threads.ids
        key = ("looked", waited.slot, barrier.initialized, ids.tobytes())
        warps = np.unique(ids // 32)
        # Threads of a part of a warp are not told of phases, but know what they have waited for.
        known = max(waited.known, order.known_to_all(warps).phase(key) - 1)
        needed = barrier.earliest(waited.parity, known)
        stmt = self._statement_of(waited.call)
        site = Site.of(stmt, agent.loops)
        looked = Looked(needed, waited, agent, site, warps, order.epochs[warps].copy(), key)
        if barrier.phase > needed:
            self._overtaken(looked)
        else:
            self._looked.setdefault(waited.slot, []).append(looked)
        order.note_phase(warps, key, needed + 1)

    def completes(self, slot: Slot, barrier: Barrier) -> None:
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

    def _overtaken(self, looked: Looked) -> None:
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
        return next(
            stmt
            for stmt in walk_statements(self._known.body)
            if any(one is call for one in calls_of(stmt))
        )
