"""The violations that a trace finds, with their witnesses.

The trace also reports events here that concern the kernel alone, not a plan: those methods are
empty hooks, which the linter overrides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteIndices, ByteLayout
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.convergence import Convergence
from smemreuse.checker.machine.mbarriers import Barrier, Slot
from smemreuse.checker.machine.memory import Shadow
from smemreuse.checker.machine.order import Order
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.expr import Call, Expr
from smemreuse.ir.kernel import Block, Buffer, If, Stmt
from smemreuse.ir.labels import label
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import Violation
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Meeting
from smemreuse.semantics.evaluate import Threads, Value

Valuing = Callable[[Expr, Threads], Value]
"""The value of an expression for threads, as far as a trace knows it."""

MAX_TEXT = 60
ONLY_CONVERGED = "with a shuffle or a vote between them, which orders no memory"


@dataclass(frozen=True)
class AccessEvent:
    """One access as a witness names it: the statement, and the values of the loops around it."""

    stmt: Stmt
    loops: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = label(self.stmt)
        text = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
        line = f" (line {self.stmt.line})" if self.stmt.line else ""
        at = ", ".join(f"{name} = {value}" for name, value in self.loops)
        return f"`{text}`{line}" + (f" at {at}" if at else "")


@dataclass(frozen=True)
class Waiting:
    """A wait for an mbarrier phase of some parity.

    `known` is how many phases the threads know to be complete; `barrier` is the state during the
    wait."""

    call: Call
    slot: Slot
    parity: int
    barrier: Barrier
    known: int


@dataclass(frozen=True)
class PairFinding:
    """A violation of a pair of buffers; `certain` if some execution surely shows it."""

    violation: Violation
    certain: bool
    pair: frozenset[Buffer]


class Findings:
    """One finding for each rule and pair of buffers, a certain one if there is any."""

    def __init__(self, layout: ByteLayout, body: Block = ()) -> None:
        self.found: dict[tuple[Rule, frozenset[str]], PairFinding] = {}
        self.left: dict[Buffer, str] = {}
        self.forked = False  # a data-dependent path was chosen, which may never be taken
        self._layout = layout
        self._body = body
        self._convergence: Convergence | None = None
        self._events: list[AccessEvent] = []

    def event(self, stmt: Stmt, loops: tuple[tuple[str, int], ...]) -> int:
        """Records an execution of a statement; returns the number by which witnesses name it."""
        self._events.append(AccessEvent(stmt, loops))
        return len(self._events) - 1

    def lost(self, traced: TracedAccess, lost: ByteIndices, shadow: Shadow) -> None:
        """A read finds bytes whose value has been overwritten (rule 2)."""
        buffer = traced.buffer
        sure = shadow.surely_lost(lost)
        certain = traced.certain and len(sure) > 0
        byte = int(sure[0] if certain else lost[0])
        owner = self._owner_at(buffer, byte)
        if not self.is_new(Rule.LOOP_CARRIED, buffer, owner, certain):
            return
        reader, writer, culprit = (
            self._describe(int(number))
            for number in (traced.event, shadow.writer[byte], shadow.culprit[byte])
        )
        name = self._layout.names[buffer]
        verb = "overwrote" if certain else "may have overwritten"
        witness = f"{reader} reads byte {byte} of {name}, written by {writer}; {culprit} {verb} it"
        self._report(Rule.LOOP_CARRIED, buffer, owner, witness, certain)

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
    ) -> bool:
        """An access does not happen after an earlier one of a buffer that shares its bytes.

        `other` is the event of the earlier access, `found` the access itself; `in_warp`: both are
        by lanes of one warp. Returns False where that is no violation after all.
        """
        if not self.is_new(rule, traced.buffer, partner, certain):
            return True
        names = self._layout.names
        why = "is not waited for before" if rule is Rule.IN_FLIGHT else "is not ordered before"
        witness = (
            f"{self._describe(other)} on {names[partner]} {why} {self._describe(traced.event)} "
            f"on {names[traced.buffer]}, which shares its bytes"
        )
        if certain and in_warp and self._converged(other, traced.event):
            certain, witness = False, f"{witness}: lanes of a warp, {ONLY_CONVERGED}"
        self._report(rule, traced.buffer, partner, witness, certain)
        return True

    def _converged(self, earlier: int, later: int) -> bool:
        """Whether lanes have to wait for each other between two events."""
        if self._convergence is None:
            self._convergence = Convergence(self._body)
        events = self._events[earlier], self._events[later]
        return self._convergence.between(*(event.stmt for event in events))

    def unfenced(self, traced: TracedAccess, partner: Buffer, other: TracedAccess) -> None:
        """Rule 11: nothing keeps a write by the async proxy after a generic access.

        Whether it overtakes is the hardware's choice, so this is never certain.
        """
        if not self.is_new(Rule.PROXY, traced.buffer, partner, False):
            return
        names = self._layout.names
        witness = (
            f"no proxy fence stands between {self._describe(other.event)} on {names[partner]} and "
            f"{self._describe(traced.event)} on {names[traced.buffer]}, which shares its bytes"
        )
        self._report(Rule.PROXY, traced.buffer, partner, witness, False)

    # Events that concern the kernel, not a plan: empty here, overridden by the linter.

    def unwritten(self, traced: TracedAccess, where: ByteIndices, shadow: Shadow) -> None:
        """A read finds bytes that nothing may have been written to."""

    def written(self, traced: TracedAccess, threads: Threads, values: Valuing) -> None:
        """Threads write, several perhaps to one byte."""

    def outside(self, access: MemoryAccess, start: Value, agent: Agent, event: int) -> None:
        """An access leaves its buffer, or may: `start` is where each thread's begins, if known."""

    def meets(self, stmt: Stmt, call: Call, meeting: Meeting, agent: Agent) -> None:
        """Threads come to a barrier."""

    def initializes(self, stmt: Stmt, slot: Slot, agent: Agent, order: Order) -> None:
        """Threads initialize an mbarrier."""

    def uses(self, call: Call, slot: Slot, agent: Agent, order: Order) -> None:
        """Threads do something else to an mbarrier, or wait for it."""

    def fences(self, agent: Agent, full: np.ndarray) -> None:
        """Threads make a proxy fence, `full` being the warps of which all do."""

    def passes(self, waited: Waiting, agent: Agent, order: Order) -> None:
        """Threads have waited for a phase, and go on."""

    def completes(self, slot: Slot, barrier: Barrier) -> None:
        """A phase of an mbarrier is complete."""

    def misuses(self, stmt: Stmt, agent: Agent, reason: str) -> None:
        """Threads use a barrier in a way that may not count for the intended phase."""

    def waits(self, agent: Agent, waiting: Waiting) -> None:
        """Threads wait for a phase of an mbarrier that is not complete."""

    def goes_on(self, agent: Agent) -> None:
        """Threads that waited for a phase continue."""

    # Arms, and what leaves a buffer.

    def arms(self, stmt: If, one: Buffer, two: Buffer) -> None:
        """Rule 4: threads may be in both arms, so that what each touches is not ordered."""
        names = f"{self._layout.names[one]} and {self._layout.names[two]}"
        witness = (
            f"threads may be in both arms of {AccessEvent(stmt, ())}, where {names} share bytes"
        )
        self._report(Rule.DIVERGENT_ARMS, one, two, witness, False)

    def leaves(self, buffer: Buffer, number: int) -> None:
        """A write surely goes out of bounds; which bytes it then changes is not known."""
        if not self.forked and buffer not in self.left:
            name, size = self._layout.names[buffer], self._layout.sizes[buffer]
            self.left[buffer] = f"{self._describe(number)} leaves {name}, which has {size:,} bytes"

    def _describe(self, number: int) -> str:
        return "an earlier value" if number < 0 else str(self._events[number])

    def _owner_at(self, buffer: Buffer, byte: int) -> Buffer:
        at = self._layout.offsets[buffer] + byte
        for partner in self._layout.partners[buffer]:
            begin = self._layout.offsets[partner]
            if begin <= at < begin + self._layout.sizes[partner]:
                return partner
        return buffer

    def is_new(self, rule: Rule, one: Buffer, two: Buffer, certain: bool) -> bool:
        """Whether nothing as certain is known yet. Asked first, since a witness takes time to
        make."""
        names = (self._layout.names[one], self._layout.names[two])
        known = self.found.get((rule, frozenset(names)))
        return known is None or (certain and not self.forked and not known.certain)

    def _report(self, rule: Rule, one: Buffer, two: Buffer, witness: str, certain: bool) -> None:
        if self.is_new(rule, one, two, certain):
            names = (self._layout.names[one], self._layout.names[two])
            finding = PairFinding(
                Violation(rule, names, witness), certain and not self.forked, frozenset((one, two))
            )
            self.found[rule, frozenset(names)] = finding
