"""What a trace of a kernel of itself finds: each hazard once, at the statement where it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.agent import Agent
from smemreuse.checker.findings import Event, Findings, Waiting
from smemreuse.checker.layout import ByteIndices, Layout
from smemreuse.checker.memory import UNWRITTEN, Shadow
from smemreuse.checker.traced import ANYONE, TracedAccess
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Var
from smemreuse.ir.kernel import Block, Buffer, If, Stmt, Store, walk_statements
from smemreuse.ir.labels import label
from smemreuse.lint import mends, words
from smemreuse.lint.guards import Guards
from smemreuse.lint.pairs import Clash, clash, touching
from smemreuse.results.hazards import Hazard, HazardKind, Mend, Site
from smemreuse.results.rules import Rule
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine, Group, Meeting
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import calls_of, effect_of, evaluated_effect

SAME_VALUE = (
    "threads that store to one byte in one statement store the same value, where values are not "
    "known (a replicated fragment)"
)
WHOLE_OPERANDS = (
    "an operand that names more of a buffer than has been written reads only what has been written"
)

Key = tuple[HazardKind, Stmt, frozenset[Buffer]]


@dataclass
class Known:
    """What the traces of one lint have in common, and what they have found."""

    body: Block
    accesses: Mapping[Stmt, tuple[MemoryAccess, ...]]
    guards: Guards
    vectors: Vectors
    hazards: dict[Key, Hazard] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)


class Hazards(Findings):
    """The findings of one trace of a kernel of itself."""

    def __init__(self, known: Known, layout: Layout, body: Block) -> None:
        super().__init__(layout, body)
        self._known = known
        self._waiting: dict[int, tuple[Agent, Waiting]] = {}
        self._meetings = np.zeros(len(known.vectors.everyone), dtype=np.int64)
        self._met: dict[int, Stmt] = {}
        self.block: Mapping[Var, int] = {}

    # Memory ---------------------------------------------------------------------------------------

    def unwritten(self, traced: TracedAccess, where: ByteIndices, shadow: Shadow) -> None:
        """Rule 2, of a kernel of itself: what is read was never written, or may not have been."""
        stmt = self._events[traced.event].stmt
        surely = where[shadow.held[where] == UNWRITTEN]
        effect = evaluated_effect(stmt)
        named = effect is not None and effect.reads_described
        if not traced.certain and len(where) < len(traced.where):
            self._known.assumed.setdefault(WHOLE_OPERANDS)
            return
        whole = named and len(surely) == len(traced.where)
        certain = (traced.certain and len(surely) > 0) or whole
        bytes_read = surely if certain else where
        name = self._layout.names[traced.buffer]
        who = self._reader(traced, int(bytes_read[0]))
        site = self._site(traced.event)
        verb = "which nothing has written" if certain else "which nothing may have written"
        span = (int(bytes_read[0]), int(bytes_read[-1]))
        witness = f"{who} reads byte {span[0]} of {name} at {site}, {verb} by then"
        self._add(
            Hazard(
                HazardKind.UNINITIALISED_READ,
                certain,
                site,
                (name,),
                witness,
                mends.initialise(name, span, site),
                bytes=span,
                agents=(who,),
            ),
            stmt,
            traced.buffer,
        )

    def _reader(self, traced: TracedAccess, byte: int) -> str:
        stmt = self._events[traced.event].stmt
        threads = touching(traced, byte)
        return words.agent(stmt, int(threads[0]) if threads is not None else None, traced.ids)

    def written(self, traced: TracedAccess, threads: Threads, values: object) -> None:
        """Several threads write to one byte in one statement: a race, if their values differ."""
        stmt = self._events[traced.event].stmt
        if not (traced.by_thread == ANYONE).any() or not isinstance(stmt, Store):
            return
        assert callable(values)
        value = values(stmt.value, threads)
        if isinstance(value, int) or not traced.certain:
            return
        if not isinstance(value, np.ndarray) or traced.starts is None:
            self._known.assumed.setdefault(SAME_VALUE)
            return
        pair = _disagreeing(traced, value)
        if pair is None:
            return
        byte, one, two = pair
        name, site = self._layout.names[traced.buffer], self._site(traced.event)
        agents = (f"thread {one}", f"thread {two}")
        witness = (
            f"threads {one} and {two} write different values to byte {byte} of {name} at {site}, "
            "in no order"
        )
        hazard = Hazard(
            HazardKind.RACE,
            True,
            site,
            (name,),
            witness,
            mends.one_writer(name, site),
            other=site,
            bytes=(byte, byte),
            agents=agents,
        )
        self._add(hazard, stmt, traced.buffer)

    def outside(self, access: MemoryAccess, start: Value, agent: Agent, event: int) -> None:
        """An index leads out of the buffer, for a thread that no condition around it keeps away."""
        stmt, size = self._events[event].stmt, self._layout.sizes[access.buffer]
        if start is None:
            return
        starts = np.broadcast_to(np.asarray(start), (agent.threads.count,))
        footprint = access.footprint
        reach = (footprint.count - 1) * footprint.stride
        first = starts + min(reach, 0)
        last = starts + max(reach, 0) + footprint.size - 1
        beyond = (first < 0) | (last >= size)
        kept = self._known.guards.allowed(stmt, access, agent.threads)
        if kept is not None:
            beyond = beyond & kept
        if not beyond.any():
            return
        at = int(np.argmax(beyond))
        certain = (access.certain or kept is not None) and not agent.partly
        name, site = self._layout.names[access.buffer], self._site(event)
        byte = int(first[at]) if first[at] < 0 else int(last[at])
        who = words.agent(stmt, int(agent.threads.ids[at]), agent.threads.ids)
        verb = "reads" if access.access is Access.READ else "writes"
        witness = f"{who} {verb} byte {byte} of {name}, which has {size:,}, at {site}"
        hazard = Hazard(
            HazardKind.OUT_OF_BOUNDS,
            certain,
            site,
            (name,),
            witness,
            mends.stay_inside(name, size, site),
            bytes=(int(first[at]), int(last[at])),
            agents=(who,),
        )
        self._add(hazard, stmt, access.buffer)

    # Order ----------------------------------------------------------------------------------------

    def race(
        self,
        rule: Rule,
        traced: TracedAccess,
        partner: Buffer,
        other: int,
        certain: bool,
        *,
        in_warp: bool = False,
        found: TracedAccess | None = None,
    ) -> None:
        """Two accesses of which neither comes before the other, or one that is still in flight."""
        earlier, later = self._events[other], self._events[traced.event]
        if found is None or _in_order_of_itself(earlier.stmt, later.stmt, found, traced):
            return
        told = clash(found, traced, in_warp=in_warp)
        in_flight = rule is Rule.IN_FLIGHT
        if told is None and not in_flight:
            return
        if told is not None and told.replicated and not in_flight:
            self._known.assumed.setdefault(SAME_VALUE)
            return
        if certain and in_warp and not in_flight and self._converged(other, traced.event):
            certain = False
        if told is None or told.earlier is None:
            certain = certain and in_flight
        name = self._layout.names[traced.buffer]
        agents = _agents(earlier.stmt, later.stmt, found, traced, told)
        one, two = self._site(other), self._site(traced.event)
        verbs = [("writes" if access.is_write else "reads") for access in (found, traced)]
        byte = told.byte if told is not None else int(traced.where[0])
        order = "not waited for when" if in_flight else "in no order with which"
        what = f"{agents[0]} {verbs[0]} byte {byte} of {name} at {one}"
        witness = f"{what}, {order} {agents[1]} {verbs[1]} it at {two}"
        engine = words.engine_of(earlier.stmt)
        mend = (
            mends.wait(engine, name, one, two)
            if in_flight
            else mends.barrier(one, two, np.union1d(found.ids, traced.ids))
        )
        hazard = Hazard(
            HazardKind.MISSING_WAIT if in_flight else HazardKind.RACE,
            certain,
            two,
            (name,),
            witness,
            mend,
            other=one,
            bytes=told.bytes if told is not None else None,
            agents=agents,
        )
        self._add(hazard, later.stmt, traced.buffer)

    def unfenced(self, traced: TracedAccess, partner: Buffer, other: TracedAccess) -> None:
        """Rule 11, of a kernel of itself."""
        earlier, later = self._events[other.event].stmt, self._events[traced.event].stmt
        name = self._layout.names[traced.buffer]
        one, two = self._site(other.event), self._site(traced.event)
        told = clash(other, traced, in_warp=False)
        byte = told.byte if told is not None else int(traced.where[0])
        # Fences of single threads are followed for what others do, not for what they do themselves.
        certain = (
            (traced.certain or evaluated_describes(later))
            and other.certain
            and not np.isin(traced.ids // 32, other.ids // 32).all()
        ) or (other.certain and traced.certain and len(other.ids) > len(traced.ids))
        agents = (words.agent(earlier, None, other.ids), words.agent(later, None, traced.ids))
        verbs = [("writes" if access.is_write else "reads") for access in (other, traced)]
        witness = (
            f"{agents[0]} {verbs[0]} byte {byte} of {name} at {one} through the generic proxy, and "
            f"{agents[1]} {verbs[1]} it at {two} through the async proxy, with no fence between"
        )
        hazard = Hazard(
            HazardKind.MISSING_FENCE,
            certain,
            two,
            (name,),
            witness,
            mends.fence(one, two, other.ids),
            other=one,
            bytes=told.bytes if told is not None else None,
            agents=agents,
        )
        self._add(hazard, later, traced.buffer)

    def lost(self, traced: TracedAccess, lost: ByteIndices, shadow: Shadow) -> None:
        """Nobody else's value takes the place of a buffer's own."""

    def arms(self, stmt: If, one: Buffer, two: Buffer) -> None:
        """Threads may be in both arms, of which one writes what the other accesses."""
        writes = [self._touching(arm, one, writing=True) for arm in (stmt.then, stmt.orelse)]
        touches = [self._touching(arm, one, writing=False) for arm in (stmt.then, stmt.orelse)]
        if writes[0] and touches[1]:
            earlier, later = writes[0], touches[1]
        elif touches[0] and writes[1]:
            earlier, later = touches[0], writes[1]
        else:
            return
        name, site = self._layout.names[one], Site(label(later), later.line)
        before = Site(label(earlier), earlier.line)
        witness = (
            f"threads may be in both arms of `{label(stmt)}`, and in one of them {before} is in no "
            f"order with {site} in the other, both on {name}"
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
        for stmt in walk_statements(arm):
            for access in self._known.accesses.get(stmt, ()):
                if access.buffer is buffer and (access.access is not Access.READ or not writing):
                    return stmt
        return None

    def leaves(self, buffer: Buffer, number: int) -> None:
        """Told by `outside`."""

    # Barriers -------------------------------------------------------------------------------------

    def meets(self, stmt: Stmt, call: Call, meeting: Meeting, agent: Agent) -> None:
        """All threads of the block have to come to its barrier, and as often as each other."""
        if meeting.group is not Group.BLOCK:
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
        site = Site(label(stmt), stmt.line)
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
            name, site = f"{storage.name}[{index}]", Site(label(stmt), stmt.line, agent.loops)
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

    def _statement_of(self, call: Call) -> Stmt:
        return next(
            stmt
            for stmt in walk_statements(self._known.body)
            if any(one is call for one in calls_of(stmt))
        )

    # Parts ----------------------------------------------------------------------------------------

    def _site(self, number: int) -> Site:
        event: Event = self._events[number]
        return Site(label(event.stmt), event.stmt.line, event.loops)

    def _add(self, hazard: Hazard, stmt: Stmt, *buffers: Buffer) -> None:
        """The first hazard of a kind at a statement and on a buffer, or the first certain one."""
        hazard = replace(
            hazard,
            certain=hazard.certain and not self.forked,
            blocks=tuple((var.name, index) for var, index in self.block.items()),
        )
        key = (hazard.kind, stmt, frozenset(buffers))
        known = self._known.hazards.get(key)
        if known is None or (hazard.certain and not known.certain):
            self._known.hazards[key] = hazard


def evaluated_describes(stmt: Stmt) -> bool:
    """Whether a statement surely reads what descriptors stand for."""
    effect = evaluated_effect(stmt)
    return effect is not None and effect.reads_described


def _in_order_of_itself(
    earlier: Stmt, later: Stmt, found: TracedAccess, traced: TracedAccess
) -> bool:
    """Whether operations need nothing between them: atomics, and one that begins with a barrier of
    all threads that have made the earlier access."""
    one, two = ([effect_of(call) for call in calls_of(stmt)] for stmt in (earlier, later))
    if any(effect.atomic for effect in one) and any(effect.atomic for effect in two):
        return True
    meets = any(effect.rendezvous for effect in two)
    return meets and bool(np.isin(found.ids, traced.ids).all())


def _agents(
    earlier: Stmt, later: Stmt, found: TracedAccess, traced: TracedAccess, told: Clash | None
) -> tuple[str, str]:
    one, two = (told.earlier, told.later) if told is not None else (None, None)
    return words.agent(earlier, one, found.ids), words.agent(later, two, traced.ids)


def _disagreeing(traced: TracedAccess, value: np.ndarray) -> tuple[int, int, int] | None:
    """A byte to which two threads write different values, and those threads."""
    starts = np.broadcast_to(np.asarray(traced.starts), (len(traced.ids),))
    if len(value) != len(starts):
        return None
    order = np.lexsort((value, starts))
    at, told, ids = starts[order], value[order], traced.ids[order]
    apart = (at[1:] == at[:-1]) & (told[1:] != told[:-1]) & (ids[1:] != ids[:-1])
    if not apart.any():
        return None
    index = int(np.argmax(apart))
    return int(at[index]), int(ids[index]), int(ids[index + 1])
