"""A forward dataflow solver over the access tree.

What it finds is, for each statement, the join of the states of all paths that lead to it. A state
is an element of a join semilattice, made by the analysis; `None` is the state of what cannot be
reached, and below all others. A path goes through the tree by these clauses:

- S1 *Sequence.* A statement is reached with what the one before it in its block ends with.
- S2 *Statement.* `transfer` says what a statement makes of a state: a leaf for good; a scope by its
  header, before what is in it. A `while` evaluates its header in every round, others once.
- S3 *Opaque.* For a statement that an analysis treats as one step, `opaque` says what it ends with.
- S4 *Branch.* `arms` says what each arm is reached with, and whether threads take both at the same
  time. After it the arms are joined, or, if both are taken and no thread jumps, united.
- S5 *Loop.* The body is reached with what the loop is entered with, joined with what the body ends
  with, round and round until nothing is added. A loop may have no round, unless `surely_runs`.
- S6 *Jump.* After a `break`, `continue` or `return` nothing is reached. What it is reached with
  joins what the loop ends with, what its next round begins with, or what the whole ends with.
- S7 *Exact rounds.* Where `rounds` lists the rounds of a loop, the body is solved once for each in
  order, the next round beginning with what the last one ended with, and no fixpoint is sought.
- S8 *Reconvergence.* After a scope, and between two rounds, `reconverge` is given what was there
  before it, and whether some have jumped out of it.

Convergence. What a loop's body is reached with only grows, by S5; so a loop is gone round at most
as often as a chain of states is long, whatever `transfer` is, where the lattice is of finite
height. A loop that is met again, within one around it, goes on from what its body was reached with
last, and is not gone round where that adds nothing: so nested loops add up, and do not multiply,
their rounds. If `transfer` is monotone, and so is what else an analysis says, a loop is met with
more each time, and the result is the least solution; if they distribute over joins as well, that is
the join over all paths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Assert, Attr, Block, For, If, Stmt, While
from smemreuse.semantics.effects import Leaving
from smemreuse.semantics.table import leaving

S = TypeVar("S")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Exits(Generic[S]):
    """The state at the end of a block (None if unreachable), and the states at its jumps,
    by kind.
    """

    end: S | None
    jumps: Mapping[Leaving, S]


@dataclass(frozen=True, slots=True)
class Arms(Generic[S]):
    """The states in which the two arms of a branch begin; `concurrent` if threads may take both at
    once.
    """

    then: S | None
    orelse: S | None
    concurrent: bool = False


class Analysis(ABC, Generic[S]):
    """A semilattice of states, and the transfer functions of statements.

    States are compared with `==`. A `join` that adds nothing must return its first operand.
    """

    @abstractmethod
    def join(self, one: S, other: S) -> S:
        """What holds where one path or the other was taken."""

    @abstractmethod
    def transfer(self, stmt: Stmt, state: S) -> S | None:
        """What a leaf, or a scope's header, makes of a state."""

    def opaque(self, stmt: Stmt, state: S) -> S | None:
        """What a statement that is one step ends with; None to look into it."""
        return None

    def arms(self, stmt: If, state: S) -> Arms[S]:
        """What each arm is reached with."""
        return Arms(state, state)

    def unite(self, one: S, other: S) -> S:
        """What holds where some threads took one path, and the others the other."""
        return self.join(one, other)

    def rounds(self, loop: For | While, state: S) -> Iterable[Callable[[S], S]] | None:
        """For each round of a loop, what it makes of a state when it begins; None: not listed."""
        return None

    def surely_runs(self, loop: For | While) -> bool:
        """Whether a loop has a round whenever it is reached."""
        return isinstance(loop, For) and (constant(loop.extent) or 0) > 0

    def reconverge(self, before: S, after: S, complete: bool) -> S:
        """What holds after a scope, or a round, where its paths end with `after`."""
        return after


@dataclass(frozen=True, slots=True)
class _Settled(Generic[S]):
    """The last visit of a loop: the states at its head, at the end of a round, and at its jumps."""

    head: S
    back: S | None
    jumps: Mapping[Leaving, S]


class Solver(Generic[S]):
    """Solves one analysis over a block by the clauses S1 to S8 of this module.

    `before` has the state before each statement, `rounds` the state at the end of each loop's
    rounds; both are joined over all visits and stay empty without `keep`. `visits` counts visited
    statements.
    """

    def __init__(self, analysis: Analysis[S], *, keep: bool = True):
        self.before: dict[Stmt, S] = {}
        self.rounds: dict[Stmt, Exits[S]] = {}
        self.visits = 0
        self._analysis = analysis
        self._keep = keep
        self._settled: dict[Stmt, _Settled[S]] = {}

    def solve(self, block: Block, state: S | None) -> Exits[S]:
        """The states at the end of `block` and at its jumps, if `state` holds before it (S1)."""
        jumps: dict[Leaving, S] = {}
        for stmt in block:
            if state is None:
                break
            found = self._statement(stmt, state)
            state = found.end
            self._add(jumps, found.jumps)
        return Exits(state, jumps)

    def _statement(self, stmt: Stmt, state: S) -> Exits[S]:
        """The states after one statement: an opaque step (S3), a leaf (S2), a jump (S6), or a
        scope.
        """
        self.visits += 1
        if self._keep:
            self._add(self.before, {stmt: state})
        way = leaving(stmt)
        step = self._analysis.opaque(stmt, state) if way is None else None
        if step is not None:
            return Exits(step, {})  # S3
        if isinstance(stmt, While):
            return self._loop(stmt, state, state)
        inside = self._analysis.transfer(stmt, state)  # S2
        if way is not None:
            return Exits(None, {} if inside is None else {way: inside})  # S6
        if isinstance(stmt, If) and inside is not None:
            return self._branch(stmt, inside)
        if isinstance(stmt, For):
            return self._loop(stmt, state, inside)
        if isinstance(stmt, (Attr, Assert)):
            found = self.solve(stmt.body, inside)
            return self._after(state, found.end, found.jumps)
        return Exits(inside, {})

    def _branch(self, stmt: If, state: S) -> Exits[S]:
        """The states after a branch: both arms joined, or united where threads take both at once
        (S4).
        """
        arms = self._analysis.arms(stmt, state)
        then, orelse = self.solve(stmt.then, arms.then), self.solve(stmt.orelse, arms.orelse)
        jumps = self._add(dict(then.jumps), orelse.jumps)
        meet = self._analysis.unite if arms.concurrent and not jumps else self._analysis.join
        return self._after(state, _either(then.end, orelse.end, meet), jumps)

    def _loop(self, loop: For | While, before: S, entered: S | None) -> Exits[S]:
        """The states after a loop, of listed rounds (S7) or by a fixpoint (S5).

        `before` is the state before the loop, `entered` the one after its header was evaluated.
        """
        if entered is None:
            return Exits(None, {})
        rounds = self._analysis.rounds(loop, entered)
        if rounds is None:
            end, jumps = self._fixpoint(loop, entered)
        else:
            end, jumps = self._exact_rounds(loop, entered, rounds)
        end = _either(end, jumps.get(Leaving.BREAK), self._analysis.join)  # S6
        return self._after(before, end, _only(jumps, Leaving.RETURN))

    def _fixpoint(self, loop: For | While, entered: S) -> tuple[S | None, Mapping[Leaving, S]]:
        """The states after a loop, by iterating its body until the state at its head is a fixpoint
        (S5).
        """
        join, last = self._analysis.join, self._settled.get(loop)
        head = entered if last is None else join(last.head, entered)
        while last is None or last.head != head:
            back, jumps = self._round(loop, self._tested(loop, head))
            last = self._settled[loop] = _Settled(head, back, jumps)
            head = head if back is None else join(head, back)
        end = last.back if self._analysis.surely_runs(loop) else _either(entered, last.back, join)
        return self._tested(loop, end), last.jumps

    def _tested(self, loop: For | While, state: S | None) -> S | None:
        """A `while` evaluates its condition before each round, and before it ends (S2)."""
        if isinstance(loop, For) or state is None:
            return state
        return self._analysis.transfer(loop, state)

    def _exact_rounds(
        self, loop: For | While, state: S | None, rounds: Iterable[Callable[[S], S]]
    ) -> tuple[S | None, Mapping[Leaving, S]]:
        """The states after a loop whose rounds are listed: the body is solved once for each (S7).

        Each entry of `rounds` maps the state at the end of the round before to the state in which
        this round begins. Fixpoints of inner loops are not reused, because a round may begin with
        less.
        """
        left: dict[Leaving, S] = {}
        around = self._settled
        for begin in rounds:
            if state is None:
                break
            self._settled = {}  # another round may well begin with less
            state, jumps = self._round(loop, begin(state))
            self._add(left, jumps)
        self._settled = around
        return state, left

    def _round(self, loop: For | While, state: S | None) -> tuple[S | None, Mapping[Leaving, S]]:
        """The state in which the next round of a loop begins, and the states at the jumps of this
        one.
        """
        found = self.solve(loop.body, state)
        if self._keep:
            before = self.rounds.get(loop, Exits(None, {}))
            end = _either(before.end, found.end, self._analysis.join)
            self.rounds[loop] = Exits(end, self._add(dict(before.jumps), found.jumps))
        back = _either(found.end, found.jumps.get(Leaving.CONTINUE), self._analysis.join)
        if state is None:
            return None, {}
        left = _only(found.jumps, Leaving.BREAK, Leaving.RETURN)
        return self._after(state, back, left).end, found.jumps

    def _after(self, before: S, after: S | None, jumps: Mapping[Leaving, S]) -> Exits[S]:
        """How a scope, or a round, ends out of which these jumps lead (S8)."""
        if after is not None:
            after = self._analysis.reconverge(before, after, not jumps)
        return Exits(after, jumps)

    def _add(self, known: dict[K, S], more: Mapping[K, S]) -> dict[K, S]:
        """Joins more states to those that are known."""
        for key, state in more.items():
            known[key] = self._analysis.join(known[key], state) if key in known else state
        return known


def _either(one: S | None, other: S | None, join: Callable[[S, S], S]) -> S | None:
    if one is None or other is None:
        return other if one is None else one
    return join(one, other)


def _only(jumps: Mapping[Leaving, S], *ways: Leaving) -> Mapping[Leaving, S]:
    return {way: state for way, state in jumps.items() if way in ways}
