"""Divergence: which threads of a block reach a statement, with what in their variables (rule 4).

A state is a `ThreadGroup`: threads of which those that are there are some, and whether the group is
exact, which is to say that all of them are there whenever one is. The lattice is flat: an exact
group is below the one of the same threads that is not, and groups that differ join to that.

- D1 *Launch.* All threads of the block come to its beginning; a thread axis has its value for each.
- D2 *Variable.* What is bound is evaluated for each thread; a loop's variable is not known.
- D3 *Branch.* Of a condition that can be evaluated, each arm gets the threads for which it holds.
  Of another one that is the same for all threads, either arm gets all. Of any other, an arm gets
  some of them: the group is not exact.
- D4 *Reconvergence.* After a scope are all that came to it, if none jumps out of it. Where some
  jump, those are who go on if the paths that go on agree on them; else the group is not exact.

How often threads go round a loop does not make the group within it inexact: that some may go round
alone is found by `parts_of_warps`, for rule 6 to act on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from smemreuse.analysis.solver import Analysis, Arms, Solver
from smemreuse.facts import KernelFacts
from smemreuse.ir.expr import Call, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Attr,
    Bind,
    Block,
    For,
    If,
    Stmt,
    While,
    rounds_of,
    walk_statements,
)
from smemreuse.ir.launch import AXES, UnknownThreads, tag_of, thread_axes
from smemreuse.semantics.evaluate import (
    Threads,
    Value,
    all_threads,
    axis_index,
    evaluate,
    has_whole_warps,
)
from smemreuse.semantics.table import varies_by_thread


@dataclass(frozen=True, slots=True, eq=False)
class ThreadGroup:
    """A superset of the threads at a program point; `exact` if all are there whenever one is."""

    threads: Threads
    exact: bool = True

    def bind(self, var: Var, value: Value) -> ThreadGroup:
        return ThreadGroup(self.threads.bind(var, value), self.exact)

    def where(self, mask: np.ndarray) -> ThreadGroup:
        return ThreadGroup(self.threads.where(mask), self.exact)

    def repeated(self, var: Var, values: np.ndarray) -> ThreadGroup:
        """Every thread once for each value of a variable."""
        return ThreadGroup(self.threads.repeated(var, values), self.exact)

    def inexact(self) -> ThreadGroup:
        return ThreadGroup(self.threads, False) if self.exact else self

    def is_all_of(self, other: ThreadGroup) -> bool:
        """Whether both are exact, and of the same threads."""
        return self.exact and other.exact and np.array_equal(self.threads.ids, other.threads.ids)


class Divergence(Analysis[ThreadGroup]):
    """The analysis of clauses D1 to D4 of this module, solved for one kernel's body."""

    def __init__(self, body: Block):
        self._axes: dict[str, int] = {}
        self._varying = _varying_variables(body)
        solver = Solver(self)
        self._before = solver.before
        try:
            self._axes = thread_axes(body)
        except UnknownThreads:
            return  # it is not known who comes to any statement
        solver.solve(body, ThreadGroup(all_threads(self._axes)))  # D1

    def join(self, one: ThreadGroup, other: ThreadGroup) -> ThreadGroup:
        return one if one is other or one.is_all_of(other) else one.inexact()

    def transfer(self, stmt: Stmt, state: ThreadGroup) -> ThreadGroup:
        """Binds the variable of a `Bind`, loop or thread axis to its value in each thread
        (D1, D2).
        """
        if isinstance(stmt, Bind):  # D2
            return state.bind(stmt.var, evaluate(stmt.value, state.threads))
        if isinstance(stmt, For):
            return state.bind(stmt.var, None)
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            index = axis_index(tag_of(stmt), self._axes, state.threads)
            return state.bind(stmt.var, index)  # D1
        return state

    def arms(self, stmt: If, state: ThreadGroup) -> Arms[ThreadGroup]:
        """The threads that reach each arm of a branch (D3); an arm that no thread takes gets an
        empty group.
        """
        groups = _split(stmt, state)
        if groups is None:
            some = state.inexact() if self.depends_on_thread(stmt.condition) else state
            return Arms(some, some)
        return Arms(*groups, concurrent=True)

    def reconverge(
        self, before: ThreadGroup, after: ThreadGroup, complete: bool
    ) -> ThreadGroup:  # D4
        """The threads after a scope (D4): all of `before` if none jumped out (`complete`)."""
        if complete or after.is_all_of(before):
            return before
        return after if after.exact else before.inexact()

    def depends_on_thread(self, expr: Expr) -> bool:
        """Whether threads may see different values: by index, through memory, or from a call."""
        return _depends_on(expr, self._varying)

    def group_within(self, loop: For | While) -> ThreadGroup | None:
        """The threads that a round of a loop begins with; None where it is not known."""
        return self._before.get(loop.body[0]) if loop.body else None

    def groups_of(self, stmt: If) -> tuple[ThreadGroup, ThreadGroup] | None:
        """The threads that take each arm of a branch; None where its condition does not tell."""
        group = self._before.get(stmt)
        return None if group is None else _split(stmt, group)

    def is_divergent(self, stmt: If) -> bool:
        """Whether threads of one block may take different arms (rule 4); True if not known.

        The condition is evaluated for a superset of the threads that reach the branch. If that
        agrees, so do the threads that are really there.
        """
        condition = self._condition(stmt)
        if condition is None:
            return stmt not in self._before or self.depends_on_thread(stmt.condition)
        return isinstance(condition, np.ndarray) and len(np.unique(condition)) > 1

    def parts_of_warps(self, stmt: Stmt) -> Iterator[Block]:
        """The blocks directly inside a branch or loop that part of a warp may enter without the
        rest.

        Blocks nested deeper are not repeated.
        """
        if isinstance(stmt, If):
            condition = self._condition(stmt)
            if isinstance(condition, np.ndarray):
                count, mask = math.prod(self._axes.values()), np.not_equal(condition, 0)
                for block, chosen in ((stmt.then, mask), (stmt.orelse, ~mask)):
                    if not has_whole_warps(self._before[stmt].threads.ids[chosen], count):
                        yield block
            elif condition is None and self.is_divergent(stmt):
                yield from (stmt.then, stmt.orelse)
        elif isinstance(stmt, (For, While)):
            rounds = rounds_of(stmt) if isinstance(stmt, For) else stmt.condition
            if self.depends_on_thread(rounds):
                yield stmt.body

    def _condition(self, stmt: If) -> Value:
        """The condition of a branch for all who may come by; None if it is not known."""
        group = self._before.get(stmt)
        return None if group is None else evaluate(stmt.condition, group.threads)


def _split(stmt: If, group: ThreadGroup) -> tuple[ThreadGroup, ThreadGroup] | None:
    """Those of a group that take each arm of a branch; None where its condition does not tell."""
    condition = evaluate(stmt.condition, group.threads)
    if condition is None:
        return None
    mask = np.broadcast_to(np.not_equal(condition, 0), group.threads.ids.shape)
    return group.where(mask), group.where(~mask)


def divergence(facts: KernelFacts) -> Divergence:
    """The threads at each statement of a kernel."""
    return Divergence(facts.kernel.body)


def _varying_variables(body: Block) -> set[Var]:
    """Variables that may differ from thread to thread."""
    varying: set[Var] = set()
    for stmt in walk_statements(body):
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            varies = tag_of(stmt) in AXES
        elif isinstance(stmt, Bind):
            varies = _depends_on(stmt.value, varying)
        else:
            varies = isinstance(stmt, For) and (
                _depends_on(stmt.begin, varying) or _depends_on(stmt.step, varying)
            )
        if varies and isinstance(stmt, (Attr, Bind, For)) and stmt.var is not None:
            varying.add(stmt.var)
    return varying


def _depends_on(expr: Expr, varying: Collection[Var]) -> bool:
    """Whether an expression may differ between threads: by memory, a varying variable, or
    a call.
    """
    return any(
        isinstance(node, Load)
        or (isinstance(node, Var) and node in varying)
        or (isinstance(node, Call) and varies_by_thread(node))
        for node in walk(expr)
    )
