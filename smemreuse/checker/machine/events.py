"""What a trace tells while it executes: accesses that may break a rule, and events at barriers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from smemreuse.checker.errors import Misused
from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.arrivals import Came
from smemreuse.checker.machine.mbarriers import Barrier
from smemreuse.checker.machine.memory import Memory
from smemreuse.checker.machine.order import Order
from smemreuse.checker.traced import TracedAccess
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.expr import Expr, Var
from smemreuse.ir.kernel import Buffer, If, Stmt
from smemreuse.ir.labels import brief, label
from smemreuse.ir.source import place_words, source_of
from smemreuse.results.rules import Rule
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect
from smemreuse.semantics.evaluate import Threads, Value

Valuing = Callable[[Expr, Threads], Value]
"""The value of an expression for threads, as far as a trace knows it."""

MAX_TEXT = 60


@dataclass(frozen=True)
class AccessEvent:
    """One access as a witness names it: the statement, the values of the loops around it, and the
    threads that execute it, where that is asked."""

    stmt: Stmt
    loops: tuple[tuple[str, int], ...]
    ids: np.ndarray | None = field(default=None, compare=False)

    def __str__(self) -> str:
        # Who has the line looks there; without it the statement itself has to tell.
        text = brief(self.stmt) if self.stmt.line else label(self.stmt, MAX_TEXT)
        line = place_words(self.stmt.line, source_of(self.stmt))
        at = ", ".join(f"{name} = {value}" for name, value in self.loops)
        return f"`{text}`{line}" + (f" at {at}" if at else "")


@dataclass(frozen=True)
class Waiting:
    """A wait for an mbarrier phase of some parity.

    `known` is how many phases the threads know to be complete; `barrier` is the state during the
    wait."""

    stmt: Stmt
    agent: Agent
    slot: Slot
    parity: int
    barrier: Barrier
    known: int


class Observer(Protocol):
    """Who follows a trace for what no plan decides: stores of one statement, uses of barriers."""

    def written(self, traced: TracedAccess, threads: Threads, values: Valuing) -> None:
        """Threads write, several perhaps to one byte."""

    def meets(self, stmt: Stmt, came: Came, agent: Agent) -> None:
        """Threads have come to a barrier."""

    def meets_in_part(self, earlier: Stmt, stmt: Stmt, agent: Agent) -> None:
        """A later pass puts a barrier of all threads between two statements of some."""

    def fences(self, agent: Agent, full: np.ndarray) -> None:
        """Threads make a proxy fence, `full` being the warps of which all do."""

    def publishes(self, agent: Agent, order: Order, *, heard: bool) -> None:
        """Threads make a fence for the mbarriers that they have initialized, or, if `heard`, for
        those too of whose initialization they know."""

    def uses(self, stmt: Stmt, effect: Effect, slot: Slot, agent: Agent, order: Order) -> None:
        """Threads signal to an mbarrier, or begin to wait for it."""

    def passes(self, waited: Waiting, order: Order) -> None:
        """Threads have waited for a phase, and go on."""

    def completes(self, slot: Slot, barrier: Barrier, agent: Agent) -> None:
        """A phase of an mbarrier is complete, with what an agent does."""

    def misuses(self, stmt: Stmt, agent: Agent, reason: str) -> None:
        """Threads use a barrier in a way that may not count for the intended phase."""


class Findings(ABC):
    """What one trace finds wrong. The machine reports each access that may break a rule; what
    that means for a plan, or for the kernel itself, is told by who implements this.

    `forks`: what is not known at which statements, where one way was taken or several were joined,
    so that what follows may never happen. `supposes`: a case of data was supposed from the
    beginning (`forked`: either of the two). `long`: the variables of loops that were taken to have
    many rounds, as data may have it (`is_chosen`: `forked`, or there are such). `uneven`: the first
    barrier that may be passed without all whom it is for, if any. `loose`: barriers order more than
    is followed, so that what is not ordered may be all the same (rule 12).
    """

    def __init__(self) -> None:
        self.observers: tuple[Observer, ...] = ()
        self.supposes = self.loose = False
        self.forks: dict[tuple[UndecidedKind, Stmt], None] = {}
        self.long: dict[Var, None] = {}
        self.uneven = ""
        self._events: list[AccessEvent] = []

    def fork(self, kind: UndecidedKind, stmt: Stmt) -> None:
        """Notes what is not known at a statement."""
        self.forks.setdefault((kind, stmt))

    @property
    def forked(self) -> bool:
        return self.supposes or bool(self.forks)

    @property
    def is_chosen(self) -> bool:
        """Whether anything was chosen that data decide."""
        return self.forked or bool(self.long)

    def event(
        self, stmt: Stmt, loops: tuple[tuple[str, int], ...], ids: np.ndarray | None = None
    ) -> int:
        """Records an execution of a statement by threads; returns the number by which witnesses
        name it."""
        self._events.append(AccessEvent(stmt, loops, ids))
        return len(self._events) - 1

    def misused(self, stmt: Stmt, agent: Agent, reason: Misused) -> None:
        """Tells the observers how a statement uses a barrier."""
        for observer in self.observers:
            observer.misuses(stmt, agent, str(reason))

    @abstractmethod
    def reads(self, traced: TracedAccess, memory: Memory, own: ByteIndices | None = None) -> None:
        """An access reads what the memory holds (rule 2); `own` are bytes that those who read them
        have written in the same arm, on which data decide."""

    @abstractmethod
    def unordered(
        self, rule: Rule, traced: TracedAccess, partner: Buffer, earlier: Iterator[TracedAccess]
    ) -> None:
        """An access to bytes of `partner` does not happen after those of `earlier` (rules 5, 6).

        There may be none of these after all. The first one is the best witness.
        """

    @abstractmethod
    def stale(self, rule: Rule, traced: TracedAccess, earlier: Iterator[TracedAccess]) -> None:
        """A read does not come after what refilled its bytes (rules 2, 5, 6), as far as that is
        known. There may be none of these after all."""

    @abstractmethod
    def unfenced(self, traced: TracedAccess, other: TracedAccess) -> None:
        """Nothing keeps an access by the async proxy after an earlier generic one (rule 11)."""

    @abstractmethod
    def outside(self, access: MemoryAccess, start: Value, agent: Agent, event: int) -> None:
        """An access leaves its buffer, or may: `start` is where each thread's begins, if known, or
        what its operand points to, if nothing else is."""

    @abstractmethod
    def arms(self, stmt: If, one: Buffer, two: Buffer) -> None:
        """Threads may be in both arms of a branch, so that what each touches is not ordered
        (rule 4)."""
