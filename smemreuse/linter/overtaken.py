"""Waits on an mbarrier that come too late.

A parity tells a phase from those next to it, and no more (rule 13). A thread that looks for phase
`n` while the phase after it is complete waits for another one. So the next phase must not end
before all who wait for this one have looked: what ends it has to come after their wait.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.events import Waiting
from smemreuse.checker.machine.mbarriers import Barrier
from smemreuse.checker.machine.order import NOTHING, Knowledge, Order, Progress
from smemreuse.checker.machine.timestamps import Arm
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.expr import Const, Expr, Load, Pointer, Var, format_expr
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.linter import mends, words
from smemreuse.linter.collected import LANES_TOGETHER, Collected, Key, LintContext, WaitsBehind
from smemreuse.results.hazards import Act, Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Effect
from smemreuse.semantics.table import mbarrier_of


@dataclass(frozen=True, eq=False)
class PassedWait:
    """Threads that have waited until `needed` phases of an mbarrier were complete, in these
    iterations of the `loops` and in these `arms` of branches.

    `epochs` are the epochs of their `warps` then, `steps` the numbers that the wait has for each.
    `signalled` are the warps of which a part has signalled something since; True if all lanes had
    converged before.
    """

    needed: int
    waited: Waiting
    ids: np.ndarray
    loops: tuple[tuple[str, int], ...]
    arms: tuple[Arm, ...]
    warps: np.ndarray
    epochs: np.ndarray
    steps: np.ndarray
    signalled: dict[int, bool] = field(default_factory=dict)

    def late(self, clock: np.ndarray, known: Knowledge) -> np.ndarray:
        """Those of its warps of whose wait nothing is known to somebody with that clock."""
        steps = np.array([known.phase(Progress(warp)) for warp in self.warps.tolist()])
        late: np.ndarray = self.warps[(clock[self.warps] <= self.epochs) & (steps < self.steps)]
        return late

    def in_other_arm(self, agent: Agent) -> bool:
        """Whether the two are in arms of one branch, and no barrier of a later pass may be in that
        of these threads: so none can have come between the wait and what the agent does now."""
        if not self.arms or len(agent.arms) < len(self.arms):
            return False
        *outer, mine = self.arms
        same = all(map(operator.is_, outer, agent.arms))
        return same and not mine.may_meet and mine.is_beside(agent.arms[len(outer)])

    def lanes_left(self, ids: np.ndarray, lanes: np.ndarray) -> list[int]:
        """The warps of which `ids` are some of the threads that have waited, and not all; `lanes`
        are how many of each warp they are."""
        if not lanes[self.warps].any():
            return []
        left = np.setdiff1d(self.ids, ids) // 32
        return [warp for warp in np.unique(left).tolist() if lanes[warp]]


@dataclass(frozen=True, eq=False)
class _Completion:
    """The last arrival of an mbarrier's phase: the threads with `ids`, in iterations of `loops`."""

    stmt: Stmt
    ids: np.ndarray
    loops: tuple[tuple[str, int], ...]

    @property
    def who(self) -> str:
        return words.threads(self.ids)

    @property
    def place(self) -> str:
        site = Site.of(self.stmt, self.loops)
        return site.shortened(str(site))


_Phase = tuple[Slot, int, int]
"""A phase of an mbarrier, after so many initializations of it."""

_MAY_NEVER = "which may never happen: if this is its last wait, nobody ends that phase"
_NEVER = "which never happens"


class OvertakenWaits(Collected):
    """Waits on an mbarrier's parity that the phase after the awaited one may overtake (rule 13).

    Nobody keeps pace: a warp may come to its wait at any later time. What ends the next phase has
    therefore to come after the wait of every warp that waits for this one.
    """

    def __init__(self, known: LintContext, layout: ByteLayout, block: Mapping[Var, int]) -> None:
        super().__init__(known, layout, block)
        self._looked: dict[Slot, list[PassedWait]] = {}
        self._used: dict[Slot, tuple[Stmt, Agent]] = {}
        self._completed: dict[_Phase, _Completion] = {}
        self._hung: dict[Key, _Phase] = {}

    def passes(self, waited: Waiting, order: Order) -> None:
        """Records threads that pass a wait; a hazard if a later phase may already be complete."""
        barrier, agent, ids = waited.barrier, waited.agent, waited.agent.threads.ids
        key = ("looked", waited.slot, barrier.initialized, ids.tobytes())
        warps = np.unique(ids // 32)
        # Threads of a part of a warp know of no phases but those that they have waited for.
        known = max(waited.known, order.known_to_all(warps).phase(key) - 1)
        needed = barrier.earliest(waited.parity, known)
        epochs, steps = order.epochs[warps].copy(), order.step(warps)
        looked = PassedWait(needed, waited, ids, agent.loops, agent.arms, warps, epochs, steps)
        if barrier.phase > needed:
            self._overtaken(looked, warps, certain=False)
        else:
            self._looked.setdefault(waited.slot, []).append(looked)
        order.note_phase(warps, key, needed + 1)

    def uses(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent, order: Order) -> None:
        """Some lanes of a warp signal. That the others have waited by then as they have is sure
        only if all have converged between."""
        self._used[slot] = (stmt, agent)
        ids = agent.threads.ids
        lanes = np.bincount(ids // 32, minlength=len(order.known))
        if not (lanes % 32).any():  # whole warps leave no lane
            return
        for looked in (one for found in self._looked.values() for one in found):
            for warp in looked.lanes_left(ids, lanes):
                if warp not in looked.signalled:
                    surely = self._known.convergence.surely_between(looked.waited.stmt, stmt)
                    looked.signalled[warp] = surely

    def completes(self, slot: Slot, barrier: Barrier, agent: Agent) -> None:
        """A phase is complete: reports earlier waits that nothing orders before it, and drops the
        others.
        """
        handed, left = barrier.completed[-1], []
        stmt, user = self._used[slot]
        ended = (slot, barrier.initialized, barrier.phase - 1)
        self._completed[ended] = _Completion(stmt, user.threads.ids, user.loops)
        for one in self._looked.get(slot, ()):
            if one.waited.barrier.initialized != barrier.initialized:
                continue
            if one.needed >= barrier.phase:
                left.append(one)
                continue
            late = one.late(handed.clocks[-1], handed.known)
            if len(late):
                clock = handed.clocks[-1 if one.in_other_arm(agent) else 0]
                certain = len(one.late(clock, handed.known)) > 0
                self._overtaken(one, late, certain=certain)
            in_part = np.setdiff1d(one.late(handed.clocks[-1], NOTHING), late)
            if not all(one.signalled.get(int(warp), True) for warp in in_part):
                self._known.assume(LANES_TOGETHER)
        self._looked[slot] = left

    def phases_left_open(self, slots: Mapping[Slot, Barrier]) -> None:
        """At the kernel's end, says of the phases that late threads wait for, and that nothing has
        ended, that they never end. Where data decided anything, they may end with other data."""
        for key, (slot, initialized, phase) in self._hung.items():
            barrier = slots[slot]
            hazard = self._known.hazards[key]
            if not self.is_chosen and (barrier.initialized, barrier.phase) == (initialized, phase):
                witness = hazard.witness.replace(_MAY_NEVER, _NEVER)
                self._known.hazards[key] = replace(hazard, witness=witness)

    def _overtaken(self, looked: PassedWait, late: np.ndarray, *, certain: bool) -> None:
        """Adds the hazard of `late` warps, which may look only after the next phase is over.

        It is one hazard for all waits of these warps: they lack the same order in each.
        """
        storage, index = looked.waited.slot
        awaited = mbarrier_of(looked.waited.stmt)
        site = Site.of(looked.waited.stmt, looked.loops, awaited)
        behind = looked.ids[np.isin(looked.ids // 32, late)]
        who = words.threads(behind)
        acting = np.setdiff1d(looked.warps, late)
        name = f"{_named_as(awaited, storage)}[{index}]"
        together = self._known.behind.setdefault(late.tobytes(), WaitsBehind())
        is_new = looked.waited.stmt not in together.sites
        together.sites.setdefault(looked.waited.stmt, site)
        waits = (
            f"for parity {looked.waited.parity} of {name}, which returns at once until phase 0 ends"
        )
        if looked.needed:
            waits = f"for the end of phase {looked.needed - 1} of {name}"
        phase = (looked.waited.slot, looked.waited.barrier.initialized, looked.needed)
        end = self._completed.get(phase)  # none of a round that a fast forward leaves out
        others, place = ("other threads", "") if end is None else (end.who, f" at {end.place}")
        completes = f"phase {looked.needed} of {name}{place}"
        tardy = f"If {who}" if who.startswith("thread ") else f"One of {who} that"
        then = ", it" if who.startswith("thread ") else ""
        hazard = Hazard(
            HazardKind.MISSED_PHASE,
            certain,
            site,
            (storage.name,),
            f"{words.does(who, 'wait')} at {site} {waits}; "
            f"{words.does(others, 'complete')} {completes} without waiting for {who}. {tardy} "
            f"comes later{then} waits for phase {looked.needed + 1} to end, {_MAY_NEVER}",
            mends.look_in_time(
                name, name if awaited is None else format_expr(awaited), site, acting
            ),
            agents=(who, others),
            acts=(
                Act(f"wait {waits}", words.runs(behind)),
                Act(f"complete {completes}", () if end is None else words.runs(end.ids)),
            ),
        )
        key = self._add(hazard, next(iter(together.sites)))
        if key is not None:
            together.mend = hazard.mend
            self._hung[key] = (phase[0], phase[1], looked.needed + 1)
        if is_new or key is not None:
            self._name_all(together)

    def _name_all(self, together: WaitsBehind) -> None:
        """Names in what mends one wait all others of the same warps."""
        key = (HazardKind.MISSED_PHASE, next(iter(together.sites)), frozenset[Buffer]())
        hazard = self._known.hazards[key]
        others = [one for stmt, one in together.sites.items() if stmt is not hazard.site.stmt]
        if others and together.mend is not None:
            mend = mends.likewise(together.mend, others)
            self._known.hazards[key] = replace(hazard, mend=mend)


def _named_as(awaited: Expr | None, storage: Buffer | Var) -> str:
    """The name of mbarriers as the statement that waits has it, where that is all of them."""
    if isinstance(awaited, (Load, Pointer)) and awaited.buffer.elem_offset == Const(0):
        return awaited.buffer.name
    return storage.name
