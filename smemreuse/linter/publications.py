"""Mbarriers that TMA completes: a fence stands between their initialization and that (rule 11).

`mbarrier.init` writes by the generic proxy, and the bytes of a TMA load count through the
async proxy. So the thread that initializes makes `fence.mbarrier_init` after that, or somebody who
knows of it a proxy fence, and the load comes after this fence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.order import Order
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Stmt
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.barriers import WaitingHazards
from smemreuse.linter.collected import LintContext
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Effect, Signal


@dataclass(frozen=True, eq=False)
class MbarrierFence:
    """A fence for an mbarrier, by threads `ids` in these epochs of their warps."""

    ids: np.ndarray
    warps: np.ndarray
    epochs: np.ndarray

    def is_before(self, ids: np.ndarray, clock: np.ndarray) -> bool:
        """Whether it comes before what these threads do now: all of them have made it, or know of
        it by one of its warps each."""
        if np.isin(ids, self.ids).all():
            return True
        theirs = clock[np.ix_(np.unique(ids // 32), self.warps)]
        return bool((theirs > self.epochs).any(axis=1).all())


@dataclass
class Initialization:
    """Of an mbarrier: where, by whom in which epoch of its warp, and the fences since.

    `perhaps`: data decide about one more, or a barrier that a later pass may put in.
    """

    stmt: Stmt
    agent: Agent
    warps: np.ndarray
    epochs: np.ndarray
    fences: list[MbarrierFence] = field(default_factory=list)
    perhaps: bool = False

    def is_fenced(self, ids: np.ndarray, clock: np.ndarray) -> bool:
        """Whether a fence is before what these threads do now."""
        return any(one.is_before(ids, clock) for one in self.fences)

    def known_to(self, ids: np.ndarray, clock: np.ndarray) -> np.ndarray:
        """Those threads whose warps know of it."""
        known = np.flatnonzero((clock[:, self.warps] > self.epochs).all(axis=1))
        found: np.ndarray = ids[np.isin(ids // 32, known)]
        return found


class PublicationHazards(WaitingHazards):
    """TMA that may find an mbarrier as it was before it was initialized."""

    def __init__(self, known: LintContext, layout: ByteLayout, block: Mapping[Var, int]) -> None:
        super().__init__(known, layout, block)
        self._unfenced: dict[Slot, Initialization] = {}

    def publishes(self, agent: Agent, order: Order, *, heard: bool) -> None:
        """Notes a fence. One that all threads know of is enough, and so is one for those after
        it."""
        ids = agent.threads.ids
        for slot, begun in [*self._unfenced.items()]:
            if begun.is_fenced(self._known.vectors.everyone, order.inserted):
                del self._unfenced[slot]
                continue
            who = np.intersect1d(ids, begun.agent.threads.ids)
            if heard:
                perhaps = np.union1d(who, begun.known_to(ids, order.clock))
                who = np.union1d(who, begun.known_to(ids, order.inserted))
                begun.perhaps |= len(perhaps) > len(who)
            if not len(who) or begun.is_fenced(who, order.inserted):
                continue
            if agent.partly:
                begun.perhaps = True
                continue
            warps = np.unique(who // 32)
            begun.fences.append(MbarrierFence(who, warps, order.epochs[warps].copy()))

    def uses(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent, order: Order) -> None:
        """Adds the hazard of a TMA load that completes an mbarrier without a fence before."""
        super().uses(stmt, effect, slot, agent, order)
        ids = agent.threads.ids
        if effect.signals is Signal.INITIALIZE:
            warps = np.unique(ids // 32)
            self._unfenced[slot] = Initialization(stmt, agent, warps, order.epochs[warps].copy())
        begun = self._unfenced.get(slot)
        if effect.signals is not Signal.COMPLETE_WITH_BYTES or begun is None:
            return
        if begun.is_fenced(ids, order.inserted):
            return
        by, name = begun.agent.threads, f"{slot[0].name}[{slot[1]}]"
        one, two = Site.of(begun.stmt, begun.agent.loops), Site.of(stmt, agent.loops)
        agents = words.threads(by.ids), words.agent(stmt, None, ids)
        hazard = Hazard(
            HazardKind.MISSING_FENCE,
            not begun.perhaps and not begun.is_fenced(ids, order.clock),
            two,
            (slot[0].name,),
            f"{words.does(agents[0], 'initialize')} {name} at {one} by the generic proxy, "
            f"and {words.does(agents[1], 'complete')} it at {two} by the async proxy, with "
            "neither fence.mbarrier_init nor a proxy fence between",
            mends.fence_initialization(one, two, by.ids),
            other=one,
            agents=agents,
            acts=(
                words.act(f"initializes {name}, generic proxy", None, by.ids),
                words.act(f"completes {name}, async proxy", None, ids),
            ),
            mechanism=mechanisms.COMPLETED,
        )
        self._add(hazard, stmt)
