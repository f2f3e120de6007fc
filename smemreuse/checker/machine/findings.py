"""What is wrong with a plan: which rule a pair of buffers breaks, and the witness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.convergence import Convergence
from smemreuse.checker.machine.events import AccessEvent, Findings
from smemreuse.checker.machine.memory import Memory
from smemreuse.checker.machine.naming import OR_EARLIER, runs
from smemreuse.checker.machine.naming import agent as agent_of
from smemreuse.checker.traced import TracedAccess, met_at
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Block, Buffer, If
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site
from smemreuse.results.verdict import Violation, WitnessAct
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Value
from smemreuse.semantics.undeclared import declare_it

HOW_STALE = {
    Rule.BARRIER: "is not ordered before",
    Rule.IN_FLIGHT: "is not waited for before",
}

ONLY_CONVERGED = "with a shuffle or a vote between them, which orders no memory"


@dataclass(frozen=True)
class PairFinding:
    """A violation of a pair of buffers; `certain` if some execution surely shows it."""

    violation: Violation
    certain: bool
    pair: frozenset[Buffer]


class Violations(Findings):
    """The violations of a plan: one finding for each rule and pair of buffers, a certain one if
    there is any; and the writes that surely leave their buffers."""

    def __init__(self, layout: ByteLayout, body: Block = ()) -> None:
        super().__init__()
        self.found: dict[tuple[Rule, frozenset[str]], PairFinding] = {}
        self.left: dict[Buffer, str] = {}
        self._layout = layout
        self._body = body
        self._convergence: Convergence | None = None

    def reads(self, traced: TracedAccess, memory: Memory, own: ByteIndices | None = None) -> None:
        """A read may find bytes whose value has been overwritten."""
        lost = memory.lost(traced)
        if not len(lost):
            return
        buffer, shadow = traced.buffer, memory.shadows[traced.buffer]
        sure = shadow.surely_lost(lost)
        certain = traced.certain and len(sure) > 0
        byte = int(sure[0] if certain else lost[0])
        owner = self._owner_at(buffer, byte)
        if not self._is_new(Rule.LOOP_CARRIED, buffer, owner, certain):
            return
        reader, culprit = map(self._describe, (traced.event, int(shadow.culprit[byte])))
        number = int(shadow.writer[byte])
        written = "written earlier" if number < 0 else f"written by {self._describe(number)}"
        name = self._layout.names[buffer]
        verb = "overwrote" if certain else "may have overwritten"
        witness = f"{reader} reads byte {byte} of {name}, {written}; {culprit} {verb} it"
        if not certain:
            numbers = (traced.event, int(shadow.writer[byte]), int(shadow.culprit[byte]))
            witness = self._declaring(witness, *numbers)
        there = byte + self._layout.shift(buffer, owner)
        acts = (
            *self._acts(number, "writes", byte, buffer),
            *self._acts(int(shadow.culprit[byte]), "writes", there, owner),
            *self._acts(traced.event, "reads", byte, buffer, traced.by_thread_of(byte)),
        )
        self._report(Rule.LOOP_CARRIED, buffer, owner, witness, certain, acts)

    def unordered(
        self, rule: Rule, traced: TracedAccess, partner: Buffer, earlier: Iterator[TracedAccess]
    ) -> None:
        if not self._is_new(rule, traced.buffer, partner, traced.certain):
            return
        other = next(earlier, None)
        if other is None:
            return
        certain = traced.certain and other.certain
        if not self._is_new(rule, traced.buffer, partner, certain):
            return
        names = self._layout.names
        why = "is not waited for before" if rule is Rule.IN_FLIGHT else "is not ordered before"
        witness = (
            f"{self._describe(other.event)} on {names[partner]} {why} "
            f"{self._describe(traced.event)} on {names[traced.buffer]}, which shares its bytes"
        )
        witness += OR_EARLIER if other.of_several else ""
        if rule is Rule.IN_FLIGHT and not certain:
            witness = self._declaring(witness, other.event)
        if rule is Rule.BARRIER and self.uneven:
            witness = f"{witness}: {self.uneven} (rule 12)"
        if certain and other.in_warp and self._converged(other.event, traced.event):
            certain, witness = False, f"{witness}: lanes of a warp, {ONLY_CONVERGED}"
        self._report(rule, traced.buffer, partner, witness, certain, self._pair(other, traced))

    def stale(self, rule: Rule, traced: TracedAccess, earlier: Iterator[TracedAccess]) -> None:
        """Not certain: it takes a race within the buffer, which lint tells."""
        other = next(earlier, None)
        if other is None:
            return
        buffer, common = traced.buffer, np.intersect1d(other.where, traced.where)
        partner = self._owner_at(buffer, int(common[0]))
        if not self._is_new(rule, buffer, partner, False):
            return
        name, its = self._layout.names[buffer], self._layout.names[partner]
        witness = (
            f"{self._describe(other.event)} writes {name} again where {its} has its bytes, and "
            f"{HOW_STALE[rule]} {self._describe(traced.event)}, which may still find {its} there"
        )
        witness += OR_EARLIER if other.of_several else ""
        witness = self._declaring(witness, other.event, traced.event)
        acts = self._pair(other, traced)
        self._report(rule, buffer, partner, witness, False, acts)

    def _converged(self, earlier: int, later: int) -> bool:
        """Whether lanes have to wait for each other between two events."""
        if self._convergence is None:
            self._convergence = Convergence(self._body)
        events = self._events[earlier], self._events[later]
        return self._convergence.between(*(event.stmt for event in events))

    def unfenced(self, traced: TracedAccess, other: TracedAccess) -> None:
        """Whether an async write overtakes is the hardware's choice, so this is never certain."""
        if not self._is_new(Rule.PROXY, traced.buffer, other.buffer, False):
            return
        names = self._layout.names
        witness = (
            f"no proxy fence stands between {self._describe(other.event)} on "
            f"{names[other.buffer]} and {self._describe(traced.event)} on "
            f"{names[traced.buffer]}, which shares its bytes"
        )
        witness += OR_EARLIER if other.of_several else ""
        acts = self._pair(other, traced)
        self._report(Rule.PROXY, traced.buffer, other.buffer, witness, False, acts)

    def arms(self, stmt: If, one: Buffer, two: Buffer) -> None:
        names = f"{self._layout.names[one]} and {self._layout.names[two]}"
        witness = (
            f"threads may be in both branches of {AccessEvent(stmt, ())}, where {names} share bytes"
        )
        self._report(Rule.DIVERGENT_ARMS, one, two, witness, False)

    def outside(self, access: MemoryAccess, start: Value, agent: Agent, event: int) -> None:
        """Notes a write that surely goes out of bounds; which bytes it then changes is not
        known."""
        buffer = access.buffer
        if self.is_chosen or buffer in self.left or access.access is Access.READ:
            return
        if access.certain and start is not None and not agent.partly:
            name, size = self._layout.names[buffer], self._layout.sizes[buffer]
            self.left[buffer] = f"{self._describe(event)} leaves {name}, which has {size:,} bytes"

    def _declaring(self, witness: str, *events: int) -> str:
        """The witness, behind the device function that makes it possible, if nobody knows what one
        of the statements calls."""
        why = declare_it(self._events[one].stmt for one in events if one >= 0)
        return f"{why}; {witness}" if why else witness

    def _describe(self, number: int) -> str:
        return "an earlier access" if number < 0 else str(self._events[number])

    def _owner_at(self, buffer: Buffer, byte: int) -> Buffer:
        at = self._layout.offsets[buffer] + byte
        for partner in self._layout.partners[buffer]:
            begin = self._layout.offsets[partner]
            if begin <= at < begin + self._layout.sizes[partner]:
                return partner
        return buffer

    def _is_new(self, rule: Rule, one: Buffer, two: Buffer, certain: bool) -> bool:
        """Whether nothing as certain is known yet. Asked first, since a witness takes time to
        make."""
        names = (self._layout.names[one], self._layout.names[two])
        known = self.found.get((rule, frozenset(names)))
        return known is None or (certain and not self.is_chosen and not known.certain)

    def _pair(self, earlier: TracedAccess, later: TracedAccess) -> tuple[WitnessAct, ...]:
        """Two accesses to shared bytes, by two different threads if that is known."""
        shift = self._layout.shift(later.buffer, earlier.buffer)
        byte, threads = met_at(earlier, later, shift)
        first, second = ("writes" if one.is_write else "reads" for one in (earlier, later))
        return (
            *self._acts(earlier.event, first, byte, earlier.buffer, threads[0]),
            *self._acts(later.event, second, byte - shift, later.buffer, threads[1]),
        )

    def _acts(
        self, number: int, verb: str, byte: int, buffer: Buffer, thread: int | None = None
    ) -> Iterator[WitnessAct]:
        """What an event does to a byte of a buffer; nothing for an event that is not known."""
        if number >= 0:
            event = self._events[number]
            ids = np.array([], dtype=np.int64) if event.ids is None else event.ids
            known = thread is not None or len(ids)
            who = agent_of(event.stmt, thread, ids) if known else "some threads"
            deed = f"{verb} byte {byte} of {self._layout.names[buffer]}"
            site = Site.of(event.stmt, event.loops).without_statement()
            threads = runs(ids if thread is None else np.array([thread]))
            yield WitnessAct(who, deed, site, threads)

    def _report(
        self,
        rule: Rule,
        one: Buffer,
        two: Buffer,
        witness: str,
        certain: bool,
        acts: tuple[WitnessAct, ...] = (),
    ) -> None:
        if self._is_new(rule, one, two, certain):
            names = (self._layout.names[one], self._layout.names[two])
            finding = PairFinding(
                Violation(rule, names, witness, acts),
                certain and not self.is_chosen,
                frozenset((one, two)),
            )
            self.found[rule, frozenset(names)] = finding
