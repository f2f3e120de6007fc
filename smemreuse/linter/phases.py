"""Hazards of single mbarriers: used before anybody has initialized them, asked for no parity."""

from __future__ import annotations

from functools import cached_property

from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.events import Waiting
from smemreuse.checker.machine.order import Order
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.expr import Load, Var
from smemreuse.ir.kernel import Buffer, Stmt, walk_statements
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.collected import ELSEWHERE
from smemreuse.linter.publications import PublicationHazards
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.table import calls_of, effect_of, mbarrier_of, mbarrier_operand


class PhaseHazards(PublicationHazards):
    """Threads that use an mbarrier in no phase that PTX defines."""

    def uses(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent, order: Order) -> None:
        """Adds the hazard of an mbarrier that nobody has initialized by then."""
        super().uses(stmt, effect, slot, agent, order)
        if effect.signals is Signal.INITIALIZE or slot in self._begun:
            return
        if slot[0] not in self._initialized:
            self._known.assume(ELSEWHERE)
            return
        name, site = f"{slot[0].name}[{slot[1]}]", Site.of(stmt, agent.loops, mbarrier_of(stmt))
        who = words.threads(agent.threads.ids)
        hazard = Hazard(
            HazardKind.UNINITIALISED_READ,
            not agent.partly,
            site,
            (slot[0].name,),
            f"{words.does(who, 'use')} {name} at {site}, which nothing has initialized by then",
            mends.initialize(name, site),
            agents=(who,),
            mechanism=mechanisms.UNINITIALIZED,
        )
        self._add(hazard, stmt)

    def passes(self, waited: Waiting, order: Order) -> None:
        """Adds the hazard of a wait for a parity that is none: PTX has 0 for phases of even number
        and 1 for odd ones."""
        super().passes(waited, order)
        if waited.parity in (0, 1):
            return
        storage, index = waited.slot
        agent = waited.agent
        site = Site.of(waited.stmt, agent.loops, mbarrier_of(waited.stmt))
        who = words.threads(agent.threads.ids)
        hazard = Hazard(
            HazardKind.BARRIER_DEADLOCK,
            not agent.partly,
            site,
            (storage.name,),
            f"{words.does(who, 'wait')} at {site} for parity {waited.parity:,} of "
            f"{storage.name}[{index}], but a parity is 0 or 1: any other number is undefined",
            mends.take_a_parity(site),
            agents=(who,),
            mechanism=mechanisms.PARITY,
        )
        self._add(hazard, waited.stmt)

    @cached_property
    def _initialized(self) -> frozenset[Buffer | Var]:
        """The memory of which the kernel initializes some mbarrier."""
        found = set()
        for stmt in walk_statements(self._known.body):
            for call in calls_of(stmt):
                effect = effect_of(call)
                operand = mbarrier_operand(call, effect)
                if effect.signals is Signal.INITIALIZE and isinstance(operand, Load):
                    found.add(operand.buffer.storage)
        return frozenset(found)
