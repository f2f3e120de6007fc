"""Hazards of order: races, missing waits, missing fences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from smemreuse.checker.layout import meeting
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.engines import Pending
from smemreuse.checker.machine.events import AccessEvent
from smemreuse.checker.machine.naming import OR_EARLIER
from smemreuse.checker.machine.state import State
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Load, Var, walk
from smemreuse.ir.kernel import Block, Buffer, If, Stmt, Store, expressions_of, walk_statements
from smemreuse.ir.labels import label
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.accumulators import targets_of
from smemreuse.linter.collected import SAME_VALUE, Collected
from smemreuse.linter.contention import contention_of_two
from smemreuse.linter.fence_places import fence_place
from smemreuse.linter.pairs import Clash, clash
from smemreuse.linter.undecided import Open
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import evaluated_effect

IN_STEP = "; lanes of one warp alone race, which mostly run in step, but CUDA does not promise it"
"""Code that relies on that may mean to, as reductions written for one warp do."""


class OrderHazards(Collected):
    """Finds hazards of order: two accesses of which one must happen before the other."""

    _fenced_in_part = False

    def fences(self, agent: Agent, full: np.ndarray) -> None:
        warps = np.unique(agent.threads.ids // 32)
        self._fenced_in_part = self._fenced_in_part or len(full) < len(warps)

    def unordered(
        self, rule: Rule, traced: TracedAccess, partner: Buffer, earlier: Iterator[TracedAccess]
    ) -> None:
        """Adds one hazard: the first that is not harmless. Who reads in any of them is noted."""
        later, races = self._events[traced.event].stmt, None
        for found in earlier:
            if races is not None and races.has(found, traced):
                continue
            if not self._race(rule, traced, found):
                continue
            if rule is Rule.IN_FLIGHT:
                return
            races = self._races_at(later, traced.buffer)
            races.note(found, traced)
            if not races.is_known:
                return

    def _race(self, rule: Rule, traced: TracedAccess, found: TracedAccess) -> bool:
        """Adds the hazard of two unordered accesses, or of one still in flight, and returns
        whether it is one: some are harmless.
        """
        in_warp, certain = found.in_warp, found.certain and traced.certain
        earlier, later = self._events[found.event], self._events[traced.event]
        is_one = not found.of_several  # of several the statement tells nothing
        if found.atomic and traced.atomic:
            return False
        if traced.buffer in self._known.registers and not _is_in_register(rule, later.stmt):
            return False
        if is_one and found.event == traced.event and evaluated_effect(later.stmt) is not None:
            return False  # what one operation does to itself is its own affair
        in_flight = rule is Rule.IN_FLIGHT
        kind = HazardKind.MISSING_WAIT if in_flight else HazardKind.RACE
        are_writes = is_one and found.is_write and traced.is_write
        again = are_writes and self._stores_again(earlier, later)
        if again and in_flight:
            return False
        certain = certain and again is not None
        if in_flight and self._is_known(kind, certain, later.stmt, traced.buffer):
            return True
        met = clash(found, traced, in_warp=in_warp)
        if met is None and not in_flight:
            return False
        replicated = met is not None and met.replicated and isinstance(earlier.stmt, Store)
        if replicated and not in_flight and self._have_stored(found, earlier.stmt, later.stmt):
            self._known.assume(SAME_VALUE, self._layout.names[traced.buffer], later.stmt.line)
            return False
        if again:
            return False
        in_step = in_warp and not in_flight and (met is None or met.is_in_warp)
        certain = certain and not in_step
        if met is None or met.earlier is None:
            certain = certain and in_flight
        if self._is_known(kind, certain, later.stmt, traced.buffer):
            return True
        name = self._layout.names[traced.buffer]
        everyone = np.union1d(found.ids, traced.ids)
        if found.of_several and earlier.ids is not None:
            found = replace(found, ids=earlier.ids)
        agents = _agents(earlier.stmt, later.stmt, found, traced, met)
        one, two = self._site(found.event), self._site(traced.event)
        first, second = (
            words.does(who, _verb(access))
            for who, access in zip(agents, (found, traced), strict=True)
        )
        order = "and is not waited for when" if in_flight else "and nothing orders that before"
        bytes_ = "its registers"
        if traced.buffer not in self._known.registers:
            is_one = met is not None and met.earlier is not None
            bytes_ = f"byte {met.byte}" if met and is_one else _in_common(found, traced)
        it = words.pronoun(bytes_)
        witness = f"{first} {bytes_} of {name} at {one}, {order} {second} {it} at {two}"
        witness += OR_EARLIER if found.of_several else ""
        witness += IN_STEP if in_step and np.isin(found.warps, traced.warps).any() else ""
        engine = words.engine_of(earlier.stmt)
        mend = (
            mends.wait(engine, name, one, two) if in_flight else mends.barrier(one, two, everyone)
        )
        hazard = Hazard(
            kind,
            certain,
            two,
            (name,),
            witness,
            mend,
            other=one,
            bytes=met.bytes if met is not None else None,
            agents=agents,
            acts=(
                words.act(
                    f"{_verb(found)}s {bytes_} of {name}", met.earlier if met else None, found.ids
                ),
                words.act(
                    f"{_verb(traced)}s {bytes_} of {name}", met.later if met else None, traced.ids
                ),
            ),
            mechanism=mechanisms.of_accesses(
                (earlier.stmt, found.is_write), (later.stmt, traced.is_write)
            ),
            contention=contention_of_two(kind, earlier.stmt, later.stmt, traced.buffer),
        )
        open_ = self._doubtful(traced.buffer, earlier.stmt, later.stmt)
        self._add(hazard, later.stmt, traced.buffer, notes_reads=True, what=open_)
        return True

    def _stores_again(self, earlier: AccessEvent, later: AccessEvent) -> bool | None:
        """Whether a store in a later iteration puts the same values into the same places; None if
        not known. Which thread has which of them is asked of each iteration by itself.
        """
        stmt = earlier.stmt
        if stmt is not later.stmt or not isinstance(stmt, Store):
            return False
        ours, theirs = (_iterations(one.loops) for one in (earlier, later))
        same = {name for name, at in ours.items() if theirs.get(name) == at}
        nodes = list(chain.from_iterable(map(walk, expressions_of(stmt))))
        for node in nodes:
            if isinstance(node, Var) and node in self._known.set_in_body and node.name not in same:
                return False
        loads = [node for node in nodes if isinstance(node, Load)]
        changing = self._known.changing
        kept = all(
            one.buffer.scope == "global" and one.buffer.storage not in changing for one in loads
        )
        return True if kept else None

    def _have_stored(self, found: TracedAccess, store: Stmt, later: Stmt) -> bool:
        """Whether the threads at `later` have executed an earlier store that is theirs, too: data
        may have kept some of them from a scope that `later` is not in."""
        around = {spot.scope for spot in self._known.tree.path(later)}
        return found.certain or all(spot.scope in around for spot in self._known.tree.path(store))

    def unfenced(self, traced: TracedAccess, other: TracedAccess) -> None:
        """Adds the hazard of two accesses through different proxies without a fence between them
        (rule 11).
        """
        earlier, later = self._events[other.event].stmt, self._events[traced.event].stmt
        ids = self._events[other.event].ids
        if other.of_several and ids is not None:
            other = replace(other, ids=ids)
        # Fences of single threads are followed for what others do, not for what they do themselves.
        own = np.isin(traced.ids // 32, other.ids // 32).all() and self._fenced_in_part
        certain = (traced.certain or _surely_reads(later)) and other.certain and not own
        if self._is_known(HazardKind.MISSING_FENCE, certain, later, traced.buffer):
            return
        name = self._layout.names[traced.buffer]
        one, two = self._site(other.event), self._site(traced.event)
        met, bytes_ = clash(other, traced, in_warp=False), _in_common(other, traced)
        agents = (words.agent(earlier, None, other.ids), words.agent(later, None, traced.ids))
        first, second = (
            words.does(who, _verb(access))
            for who, access in zip(agents, (other, traced), strict=True)
        )
        witness = (
            f"{first} {bytes_} of {name} at {one} by the generic proxy, and {second} "
            f"{words.pronoun(bytes_)} at {two} by the async proxy, with no proxy fence between (no "
            "mbarrier is one)"
        )
        witness += OR_EARLIER if other.of_several else ""
        hazard = Hazard(
            HazardKind.MISSING_FENCE,
            certain,
            two,
            (name,),
            witness,
            mends.fence(
                one,
                two,
                other.ids,
                fence_place(self._known.tree, self._known.followed, earlier, later),
                own=bool(np.isin(traced.ids, other.ids).all()),
            ),
            other=one,
            bytes=met.bytes if met is not None else None,
            agents=agents,
            acts=(
                words.act(f"{_verb(other)}s {bytes_} of {name}, generic proxy", None, other.ids),
                words.act(f"{_verb(traced)}s {bytes_} of {name}, async proxy", None, traced.ids),
            ),
            mechanism=mechanisms.of_unfenced((earlier, other.is_write), (later, traced.is_write)),
        )
        open_ = self._doubtful(traced.buffer, earlier, later)
        self._add(hazard, later, traced.buffer, what=open_)

    def _doubtful(self, buffer: Buffer, earlier: Stmt, later: Stmt) -> Open:
        """Those of two statements whose access to a buffer is not certain by itself; an order that
        is not known is none of that."""
        return Open([stmt for stmt in (earlier, later) if self._is_doubtful(stmt, buffer)])

    def _is_doubtful(self, stmt: Stmt, buffer: Buffer) -> bool:
        found = self._known.accesses.get(stmt, ())
        return any(one.buffer is buffer and not one.certain for one in found)

    def in_flight_at_the_end(self, state: State) -> None:
        """At the kernel's end, adds the hazards of TMA: stores that may still read shared memory,
        and loads that may still write it and that no thread has waited for.

        How long a block's shared memory outlives its last thread is up to the hardware.
        """
        everyone = np.arange(len(state.order.known))
        over = state.order.known_to_some(everyone).copies | state.barriers.copies_waited_for_alone
        for buffer, flying in state.engines.pending.items():
            for pending in flying:
                is_write = pending.traced.is_write
                if pending.engine is Engine.TMA_STORE and not is_write:
                    self._outlasts(pending, buffer, "read")
                elif pending.engine is Engine.TMA_LOAD and is_write and pending.bit & ~over:
                    self._outlasts(pending, buffer, "write")

    def _outlasts(self, pending: Pending, buffer: Buffer, verb: str) -> None:
        """Adds the hazard of an access that may be in flight when the kernel has ended."""
        traced = pending.traced
        stmt, site = self._events[traced.event].stmt, self._site(traced.event)
        name = self._layout.names[buffer]
        who = words.agent(stmt, None, traced.ids)
        hazard = Hazard(
            HazardKind.MISSING_WAIT,
            False,
            site,
            (name,),
            f"{who} may still {verb} {name} at {site} when the kernel has ended",
            mends.wait_at_the_end(pending.engine, name, site),
            bytes=(int(traced.where[0]), int(traced.where[-1])),
            agents=(who,),
        )
        self._add(hazard, stmt, buffer)

    def stale(self, rule: Rule, traced: TracedAccess, earlier: Iterator[TracedAccess]) -> None:
        """None of a kernel's own: no other buffer's bytes lie there."""

    def arms(self, stmt: If, one: Buffer, two: Buffer) -> None:
        """Adds the hazard of two arms that threads take at once, if one writes what the other
        accesses.
        """
        writes = [self._touching(arm, one, writing=True) for arm in (stmt.then, stmt.orelse)]
        touches = [self._touching(arm, one, writing=False) for arm in (stmt.then, stmt.orelse)]
        if writes[0] and touches[1]:
            earlier, later = writes[0], touches[1]
        elif touches[0] and writes[1]:
            earlier, later = touches[0], writes[1]
        else:
            return
        if one in self._known.registers:
            return
        name, site = self._layout.names[one], Site.of(later)
        before = Site.of(earlier)
        witness = (
            f"threads may run both branches of `{label(stmt)}` at once, and nothing orders "
            f"{before} in one with {site} in the other, both on {name}"
        )
        everyone = self._known.vectors.everyone
        hazard = Hazard(
            HazardKind.RACE,
            False,
            site,
            (name,),
            witness,
            mends.barrier(before, site, everyone),
            other=before,
        )
        self._add(hazard, later, one)

    def _touching(self, arm: Block, buffer: Buffer, *, writing: bool) -> Stmt | None:
        """The first statement of an arm that accesses a buffer; with `writing`, that writes it."""
        for stmt in walk_statements(arm):
            for access in self._known.accesses.get(stmt, ()):
                if access.buffer is buffer and (access.access is not Access.READ or not writing):
                    return stmt
        return None


def _surely_reads(stmt: Stmt) -> bool:
    """Whether a statement surely reads what descriptors stand for."""
    effect = evaluated_effect(stmt)
    return effect is not None and effect.reads_described


def _is_in_register(rule: Rule, later: Stmt) -> bool:
    """Whether threads use an accumulator while the multiplication that sets it is still under way,
    or overwrite a matrix that it reads.

    A further multiplication of the same kind may accumulate into it all the same.
    """
    return rule is Rule.IN_FLIGHT and not any(targets_of(later))


def _agents(
    earlier: Stmt, later: Stmt, found: TracedAccess, traced: TracedAccess, met: Clash | None
) -> tuple[str, str]:
    one, two = (met.earlier, met.later) if met is not None else (None, None)
    return words.agent(earlier, one, found.ids), words.agent(later, two, traced.ids)


def _iterations(loops: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """The iterations of the loops around an event by the name of their variable, which a loop
    inside another one may have, too; outermost first."""
    found: dict[str, tuple[int, ...]] = {}
    for name, at in loops:
        found[name] = (*found.get(name, ()), at)
    return found


def _in_common(earlier: TracedAccess, later: TracedAccess) -> str:
    """The bytes that all threads of two accesses have in common, from the first to the last."""
    both = meeting(earlier.where, later.where)
    where = later.where if both is None else earlier.where[both[0]]
    return words.span(int(where[0]), int(where[-1]))


def _verb(access: TracedAccess) -> str:
    """What threads do; one thread's takes an s."""
    return "write" if access.is_write else "read"
