"""Hazards of barriers: divergence, and deadlock."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.arrivals import Came, Mismatch, MismatchKind, Pairings, Resource
from smemreuse.checker.machine.events import Waiting
from smemreuse.checker.machine.order import Order
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Stmt
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.collected import Key, LintContext
from smemreuse.linter.followers import goes_on_with, signals
from smemreuse.linter.overtaken import OvertakenWaits
from smemreuse.results.hazards import Act, Hazard, HazardKind, HazardOrigin
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Effect, Group, Signal
from smemreuse.semantics.table import mbarrier_of
from smemreuse.versions.thread_sync.branch_barriers import SharedNumber

_MENDS = {
    MismatchKind.NOT_NAMED: mends.name_lanes,
    MismatchKind.AFTER_OTHERS: mends.come_in_one_order,
}


class WaitingHazards(OvertakenWaits):
    """Threads that wait in vain, or reach a barrier that other threads do not reach."""

    def __init__(self, known: LintContext, layout: ByteLayout, block: Mapping[Var, int]) -> None:
        super().__init__(known, layout, block)
        self._came: dict[Resource, dict[int, Stmt]] = {}
        self._missing: dict[Resource, set[int]] = {}
        self._behind: dict[Resource, list[Key]] = {}
        self._named: dict[int, Site] = {}
        self._open: set[Resource] = set()
        self._begun: dict[Slot, tuple[Stmt, Agent, np.ndarray, np.ndarray]] = {}

    def meets(self, stmt: Stmt, came: Came, agent: Agent) -> None:
        """Notes who comes to a barrier of all threads; a hazard if others may miss it (rule 12)."""
        if came.named is not None:
            self._meets_by_name(stmt, came.named, came.mismatch, agent)
        elif came.mismatch is not None:
            at = self._last(came.mismatch.resource, stmt)
            is_open = came.mismatch.kind is MismatchKind.OPEN and not agent.partly
            self._mismatched(at if is_open else stmt, came.mismatch)
        if agent.partly or agent.threads.count < len(self._known.vectors.everyone):
            for one in came.barriers:
                here = dict.fromkeys(agent.threads.ids.tolist(), stmt)
                self._came[one] = {**self._came.get(one, {}), **here}

    def _meets_by_name(
        self, stmt: Stmt, name: int, mismatch: Mismatch | None, agent: Agent
    ) -> None:
        """Threads come to a named barrier of theirs; a hazard if others may be there at once."""
        site, other = Site.of(stmt, agent.loops), self._named.get(name)
        self._named[name] = site
        if mismatch is None:
            return
        who = words.threads(agent.threads.ids)
        others = words.threads(mismatch.who) if len(mismatch.who) else "other threads"
        there = f" (from {other})" if other is not None else ""
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE,
            mismatch.certain,
            site,
            (),
            f"{words.does(who, 'come')} to named barrier {name} at {site} while {others} may be at "
            f"it{there}: it releases whichever threads come first",
            mends.different_numbers(site, other),
            other=other,
            agents=(others, who),
            acts=(
                Act("is at", words.runs(mismatch.who)),
                Act("is at", words.runs(agent.threads.ids)),
            ),
            mechanism=mechanisms.NAMED,
        )
        self._add(hazard, stmt)

    def meets_in_part(self, earlier: Stmt, stmt: Stmt, agent: Agent) -> None:
        """Adds the hazard of a barrier of all threads that the compiler puts into a branch of some.

        It is never certain here: those who do not come may have ended by then.
        """
        one, two = Site.of(earlier, agent.loops), Site.of(stmt, agent.loops)
        missing = np.setdiff1d(self._known.vectors.everyone, agent.threads.ids)
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE,
            False,
            two,
            (),
            f"{words.missing(missing)} not reach the barrier of all threads that the compiler "
            f"inserts between {one} and {two}, whose accesses collide",
            mends.recognizable_branch(one, two),
            other=one,
            agents=(words.threads(agent.threads.ids), words.threads(missing)),
            origin=HazardOrigin.COMPILER,
        )
        self._add(hazard, stmt)

    def ends(self, pairings: Pairings) -> None:
        """At the kernel's end, adds the hazard of threads that have come to a barrier less often
        than others.

        A thread may have ended before that and counts no more then, so the hazard is never certain.
        Nor is that of those who were behind, and have come to other barriers by the end as often as
        any wait for them: CUDA leaves it undefined, and barriers that count arrivals let all pass.
        """
        waiting = {one for one, last in pairings.uneven() if not (last and last.lets_all_pass)}
        for resource in self._behind.keys() - waiting:
            for key in self._behind[resource]:
                hazard = self._known.hazards[key]
                witness = (
                    f"{hazard.witness}; but they reach other barriers as often as the others wait"
                )
                self._known.hazards[key] = replace(hazard, certain=False, witness=witness)
        for one, arrivals in pairings.uneven():
            stmts = self._came.get(one)
            if one is Group.WARP or not stmts:
                continue
            last = next(reversed(stmts.values()))
            if arrivals is None:
                self._mismatched(last, Mismatch(MismatchKind.OPEN, one))
            else:
                arrived = arrivals.arrived
                who, ahead = np.flatnonzero(arrived < arrived.max()), int(arrived.argmax())
                self._mismatched(last, Mismatch(MismatchKind.MISSING, one, who, ahead))

    def _last(self, resource: Resource, stmt: Stmt) -> Stmt:
        """Where some of the threads came to a barrier last; `stmt` if they never did."""
        return next(reversed(self._came.get(resource, {0: stmt}).values()))

    def _mismatched(self, stmt: Stmt, mismatch: Mismatch) -> None:
        """Adds the hazard of a barrier that may be passed without those whom it is for, once."""
        kind, resource, who = mismatch.kind, mismatch.resource, mismatch.who
        if kind is MismatchKind.OPEN:
            if resource not in self._open:
                self._open.add(resource)
                self._diverge(stmt, who, certain=False)
        elif kind is MismatchKind.MISSING:
            reported = self._missing.setdefault(resource, set())
            if not reported.issuperset(who.tolist()):
                reported.update(who.tolist())
                came = self._came.get(resource, {})
                stmt = stmt if mismatch.ahead is None else came.get(mismatch.ahead, stmt)
                added = self._diverge(stmt, who, certain=mismatch.certain)
                self._behind.setdefault(resource, []).extend([] if added is None else [added])
        elif kind is MismatchKind.PART_OF_A_WARP:
            self._diverge(stmt, who, certain=mismatch.certain)
        else:
            self._undefined(stmt, mismatch)

    def _undefined(self, stmt: Stmt, mismatch: Mismatch) -> None:
        """Adds the hazard of threads for which a barrier does nothing that is defined."""
        site, who = Site.of(stmt), words.threads(mismatch.who)
        named = mismatch.kind is MismatchKind.NOT_NAMED
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE if named else HazardKind.BARRIER_DEADLOCK,
            mismatch.certain,
            site,
            (),
            f"{words.does(who, 'come')} to {site}, and {mismatch.kind.value}",
            _MENDS.get(mismatch.kind, mends.wait_for_each_arrival)(site),
            agents=(who,),
            mechanism=mechanisms.of_mismatch(mismatch.kind, stmt),
        )
        self._add(hazard, stmt)

    def _diverge(self, stmt: Stmt, missing: np.ndarray, *, certain: bool) -> Key | None:
        """Adds the hazard of a barrier that `missing` threads do not reach; empty if data decide
        which. Returns its key if it is kept."""
        site = Site.of(stmt)
        who = words.missing(missing)
        witness = f"{who} not reach the barrier {site}, where the others wait for them"
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE,
            certain,
            site,
            (),
            witness,
            mends.converge(site),
            agents=(words.threads(missing),) if len(missing) else (),
            acts=(Act("never come to it", words.runs(missing)),) if len(missing) else (),
            mechanism=mechanisms.of_barrier(stmt),
        )
        return self._add(hazard, stmt)

    def uses(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent, order: Order) -> None:
        """Adds a race if threads use an mbarrier in no order with its initialization by others."""
        super().uses(stmt, effect, slot, agent, order)
        ids = agent.threads.ids
        warps = np.unique(ids // 32)
        if effect.signals is Signal.INITIALIZE:
            self._begun[slot] = (stmt, agent, warps, order.epochs[warps])
        if slot not in self._begun:
            return
        begun, by, others, epochs = self._begun[slot]
        if np.array_equal(np.unique(ids), np.unique(by.threads.ids)):
            return
        clocks = order.inserted, order.clock
        ordered, may_be = ((one[np.ix_(warps, others)] > epochs).all() for one in clocks)
        if ordered:
            return
        name = f"{slot[0].name}[{slot[1]}]"
        one = Site.of(begun, by.loops)
        two = Site.of(stmt, agent.loops, mbarrier_of(stmt))
        agents = words.threads(by.threads.ids), words.threads(ids)
        verb = "initializes" if by.threads.count == 1 else "initialize"
        hazard = Hazard(
            HazardKind.RACE,
            not agent.partly and not may_be,
            two,
            (slot[0].name,),
            f"{agents[0]} {verb} {name} at {one}, and nothing orders that before {agents[1]} use "
            f"it at {two}",
            mends.barrier(one, two, self._known.vectors.everyone),
            other=one,
            agents=agents,
            mechanism=mechanisms.USED,
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
            f"{words.does(who, 'come')} to {site}: {reason}",
            mends.count_for_one_phase(site),
            agents=(who,),
        )
        self._add(hazard, stmt)

    def stuck(self, waits: Collection[Waiting]) -> None:
        """Adds the deadlock of all threads waiting.

        It is certain in every schedule if all threads know of all completed phases, and those who
        do not wait, since they have done with the branch, signal nothing behind it.
        """
        certain = all(
            one.known == one.barrier.phase and one.barrier.expected is not None for one in waits
        )
        there = np.concatenate([one.agent.threads.ids for one in waits])
        if len(np.unique(there)) < len(self._known.vectors.everyone):
            certain = certain and not any(
                signals(stmt, one.slot[0])
                for one in waits
                for stmt in goes_on_with(one.stmt, self._known.tree)
            )
        for waiting in waits:
            agent, stmt = waiting.agent, waiting.stmt
            barrier, (storage, index) = waiting.barrier, waiting.slot
            name = f"{storage.name}[{index}]"
            site = Site.of(stmt, agent.loops, mbarrier_of(stmt))
            who = words.threads(agent.threads.ids)
            lacking = (barrier.expected or 0) - barrier.arrived
            due = f" and {barrier.bytes_due:,} bytes" if barrier.bytes_due > 0 else ""
            witness = (
                f"{words.does(who, 'wait')} for the end of phase {barrier.phase} of {name} at "
                f"{site}, which needs {lacking} more arrivals{due}, but all threads wait"
            )
            hazard = Hazard(
                HazardKind.BARRIER_DEADLOCK,
                certain,
                site,
                (storage.name,),
                witness,
                mends.complete(name, waiting.parity, lacking, site),
                agents=(who,),
                acts=(
                    words.act(f"wait for phase {barrier.phase} of {name}", None, agent.threads.ids),
                ),
                mechanism=mechanisms.of_lack(lacking),
            )
            self._add(hazard, stmt)


def numbered_alike(shared: SharedNumber) -> tuple[Key, Hazard]:
    """The hazard of two barriers to which the compiler gives one number: possible, for it is not
    known whether both groups of threads are ever there at once."""
    first, second = shared.one, shared.two
    one, two = Site.of(first.stmt), Site.of(second.stmt)
    others, who = words.threads(first.threads), words.threads(second.threads)
    witness = (
        f"the barrier of {who} that the compiler inserts before {two} gets number {shared.number}, "
        f"as has that of {others} at {one}: where both are there, it releases whichever threads "
        "come first"
    )
    hazard = Hazard(
        HazardKind.BARRIER_DIVERGENCE,
        False,
        two,
        (),
        witness,
        mends.one_scope(two, one),
        other=one,
        agents=(others, who),
        acts=(Act("is at", words.runs(first.threads)), Act("is at", words.runs(second.threads))),
        origin=HazardOrigin.COMPILER,
        mechanism=mechanisms.NAMED,
    )
    return (hazard.kind, second.stmt, frozenset()), hazard
