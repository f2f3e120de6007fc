"""A forward dataflow solver over the access tree.

What it finds is, for each statement, the join of the states of all paths that lead to it. A state
is an element of a join semilattice, made by the analysis; `None` is the state of what cannot be
reached, and below all others. A path goes through the tree by these clauses:

- S1 *Sequence.* A statement is reached with what the one before it in its block ends with.
- S2 *Statement.* `transfer` says what a statement makes of a state: a leaf for good; a scope by its
  header, before what is in it. A `while` evaluates its header in every round, others once.
- S3 *Opaque.* For a statement that an analysis treats as one step, `opaque` says what it ends with.
- S4 *Branch.* `arms` says what each arm is reached with, and whether threads take both at the same
  time. Behind it the arms are joined, or, if both are taken and nobody jumps, united.
- S5 *Loop.* The body is reached with what the loop is entered with, joined with what the body ends
  with, round and round until nothing is added. A loop may have no round, unless `surely_runs`.
- S6 *Jump.* Behind a `break`, `continue` or `return` nothing is reached. What it is reached with
  joins what the loop ends with, what its next round begins with, or what the whole ends with.
- S7 *Exact rounds.* Where `rounds` lists the rounds of a loop, the body is solved once for each in
  order, the next round beginning with what the last one ended with, and no fixpoint is sought.
- S8 *Reconvergence.* Behind a scope, and between two rounds, `reconverge` is told what was there
  before it, and whether some have jumped out of it.

Convergence. What a loop's body is reached with only grows, by S5; so a loop is gone round at most
as often as a chain of states is long, whatever `transfer` is, where the lattice is of finite height
and `known` bounded. If `transfer` is monotone as well, the result is the least solution, and if it
distributes over joins, the join over all paths. A loop met again with an equal state is not solved
again, so that nested loops do not multiply their rounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from smemreuse.analysis.operations import leaving
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Assert, Attr, Block, For, If, Stmt, While
from smemreuse.semantics.effects import Leaving

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[S]):
    """What holds where a block ends, and where threads jump out of it; None where nobody does."""

    end: S | None = None
    broke: S | None = None
    continued: S | None = None
    returned: S | None = None

    @property
    def stays(self) -> bool:
        """Whether nobody leaves the loop around."""
        return self.broke is None and self.returned is None

    @property
    def complete(self) -> bool:
        """Whether all who entered the block come to its end."""
        return self.stays and self.continued is None


@dataclass(frozen=True, slots=True)
class Arms(Generic[S]):
    """What the arms of a branch are reached with; `concurrent` if threads take both at once."""

    then: S | None
    orelse: S | None
    concurrent: bool = False


_LEAVES_BY = {
    Leaving.BREAK: "broke",
    Leaving.CONTINUE: "continued",
    Leaving.RETURN: "returned",
}


class Analysis(ABC, Generic[S]):
    """A semilattice of states and what statements make of them.

    States are compared with `==`; a `join` that adds nothing gives back its first operand.
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
        """What holds behind a scope, or a round, where its paths end with `after`."""
        return after

    def known(self) -> int:
        """How much an analysis has found out beside its states; rounds go on while that grows."""
        return 0


class Solver(Generic[S]):
    """Solves one analysis.

    `before` has the state that each statement is reached with, `loops` how the bodies of loops
    ended, both joined over all visits; neither is kept without `keep`. `visits` counts the
    statements looked at.
    """

    def __init__(self, analysis: Analysis[S], *, keep: bool = True):
        self.before: dict[Stmt, S] = {}
        self.loops: dict[Stmt, Outcome[S]] = {}
        self.visits = 0
        self._analysis = analysis
        self._keep = keep
        self._solved: dict[Stmt, tuple[S, int, Outcome[S]]] = {}

    def solve(self, block: Block, state: S | None) -> Outcome[S]:
        """How a block ends that is reached with `state` (S1)."""
        jumps: Outcome[S] = Outcome()
        for stmt in block:
            if state is None:
                break
            found = self._statement(stmt, state)
            state = found.end
            if not found.complete:
                jumps = self._joined(jumps, found)
        return replace(jumps, end=state)

    def _statement(self, stmt: Stmt, state: S) -> Outcome[S]:
        self.visits += 1
        if self._keep:
            known = self.before.get(stmt)
            self.before[stmt] = state if known is None else self._analysis.join(known, state)
        way = leaving(stmt)
        step = self._analysis.opaque(stmt, state) if way is None else None
        if step is not None:  # S3
            return Outcome(step)
        if isinstance(stmt, While):
            return self._loop(stmt, state, state)
        inside = self._analysis.transfer(stmt, state)  # S2
        if way is not None:
            return Outcome(**{_LEAVES_BY[way]: inside})  # S6
        if isinstance(stmt, If):
            return self._branch(stmt, inside)
        if isinstance(stmt, For):
            return self._loop(stmt, state, inside)
        if isinstance(stmt, (Attr, Assert)):
            return self._behind(state, self.solve(stmt.body, inside))
        return Outcome(inside)

    def _branch(self, stmt: If, state: S | None) -> Outcome[S]:
        if state is None:
            return Outcome()
        arms = self._analysis.arms(stmt, state)  # S4
        then, orelse = self.solve(stmt.then, arms.then), self.solve(stmt.orelse, arms.orelse)
        found = self._joined(then, orelse)
        if arms.concurrent and found.complete and None not in (then.end, orelse.end):
            assert then.end is not None
            assert orelse.end is not None
            found = replace(found, end=self._analysis.unite(then.end, orelse.end))
        return self._behind(state, found)

    def _behind(self, before: S, found: Outcome[S]) -> Outcome[S]:
        """How a scope ends, as its parts did (S8)."""
        return replace(found, end=self._reconverged(before, found.end, found.complete))

    def _reconverged(self, before: S, after: S | None, complete: bool) -> S | None:
        return None if after is None else self._analysis.reconverge(before, after, complete)

    def _loop(self, loop: For | While, before: S, entered: S | None) -> Outcome[S]:
        if entered is None:
            return Outcome()
        solved = self._solved.get(loop)
        if solved is not None and solved[0] == entered and solved[1] == self._analysis.known():
            return solved[2]
        rounds = self._analysis.rounds(loop, entered)
        listed = rounds is not None
        found = self._listed(loop, entered, rounds or ()) if listed else self._around(loop, entered)
        end = self._reconverged(before, found.end, found.returned is None)
        found = Outcome(end, returned=found.returned)
        self._solved[loop] = entered, self._analysis.known(), found
        return found

    def _listed(
        self, loop: For | While, state: S | None, rounds: Iterable[Callable[[S], S]]
    ) -> Outcome[S]:
        """S7."""
        left: Outcome[S] = Outcome()
        for begin in rounds:
            if state is None:
                break
            state, found = self._round(loop, begin(state))
            left = self._joined(left, found)
        return replace(left, end=self._either(state, left.broke))

    def _around(self, loop: For | While, entered: S) -> Outcome[S]:
        """S5."""
        head = entered
        while True:
            known = self._analysis.known()
            back, found = self._round(loop, self._tested(loop, head))
            again = self._either(head, back)
            if again == head and known == self._analysis.known():
                break
            assert again is not None
            head = again
        left = back if self._analysis.surely_runs(loop) else self._either(entered, back)
        end = self._either(self._tested(loop, left), found.broke)
        return replace(found, end=end)

    def _tested(self, loop: For | While, state: S | None) -> S | None:
        """A `while` evaluates its condition before each round, and before it ends (S2)."""
        if isinstance(loop, For) or state is None:
            return state
        return self._analysis.transfer(loop, state)

    def _round(self, loop: For | While, state: S | None) -> tuple[S | None, Outcome[S]]:
        """What the next round begins with, and how the body ended."""
        found = self.solve(loop.body, state)
        if self._keep:
            self.loops[loop] = self._joined(self.loops.get(loop, Outcome()), found)
        back = self._either(found.end, found.continued)
        if state is not None:
            back = self._reconverged(state, back, found.stays)
        return back, found

    def _joined(self, one: Outcome[S], other: Outcome[S]) -> Outcome[S]:
        return Outcome(
            self._either(one.end, other.end),
            self._either(one.broke, other.broke),
            self._either(one.continued, other.continued),
            self._either(one.returned, other.returned),
        )

    def _either(self, one: S | None, other: S | None) -> S | None:
        if one is None or other is None:
            return other if one is None else one
        return self._analysis.join(one, other)
