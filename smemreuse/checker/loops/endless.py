"""The period of a loop of unknown length.

Its iterations cannot be enumerated. The period follows from the recurrences of the expressions that
decide an iteration (`semantics.recurrences`), which hold for every iteration number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.loops.repetition import enumerated
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.interned import InternTable
from smemreuse.checker.values.linear import COMPARISONS, ONE, Linear, combined, linear
from smemreuse.checker.values.quotients import atoms_of
from smemreuse.ir.expr import Call, Expr, Load, Var, constant
from smemreuse.ir.kernel import Assert, Attr, Bind, Block, For, If, Stmt, While
from smemreuse.semantics.evaluate import NOBODY, Threads, Value
from smemreuse.semantics.formulas import parts_of
from smemreuse.semantics.recurrences import (
    EACH_ROUND,
    STEADY,
    NoRecurrence,
    Recurrence,
    Recurrences,
)


@dataclass(frozen=True)
class OpenCondition:
    """A condition of a branch, or a part of one, of which the round's number does not tell when it
    changes. `bound` are the variables that the loop sets before it, by their values, `ranges` those
    of loops within it."""

    stmt: If
    condition: Expr
    bound: Mapping[Var, Expr]
    ranges: Mapping[Var, np.ndarray]


class UnboundedLoop:
    """The expressions that decide the iterations of a loop, for `threads`; it begins at `begin`,
    or with None at what is not known."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        loop: For,
        begin: int | None,
        threads: Threads,
        work: Work,
        interned: InternTable,
    ):
        self._slice = program_slice
        self._loop = loop
        self._begin = begin
        self._threads = threads
        self._work = work
        self._atoms = atoms_of(interned)
        self._along: dict[Var, Recurrence | None] = {loop.var: EACH_ROUND}
        self._bound: dict[Var, Expr] = {}
        self._ranges: dict[Var, np.ndarray] = {}
        self._recurrences = Recurrences(self._along, self._rows)
        self._first, self._period = 0, 1
        self.turns = False
        """Whether a parity that is waited for may be the other one each period."""
        self.open: list[OpenCondition] = []

    def found(self) -> tuple[int, int] | None:
        """The first iteration of the periodic part, and the period; None if unknown, as for a loop
        that sets what decides its own iterations. It holds but for the conditions left `open`."""
        try:
            self._visit(self._loop.body)
        except NoRecurrence:
            return None
        return self._first, self._period

    # Statements ---------------------------------------------------------------------------------

    def _visit(self, block: Block) -> None:
        for stmt in block:
            if isinstance(stmt, Bind):
                self._bind(stmt.var, stmt.value)
            if isinstance(stmt, Attr) or self._slice(stmt):
                self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        for expr in self._slice.placing(stmt):
            self._decides(expr)
        for expr in self._slice.awaited(stmt):
            self._awaits(expr)
        if isinstance(stmt, If):
            self._condition(stmt, stmt.condition)
            self._visit(stmt.then)
            self._visit(stmt.orelse)
        elif isinstance(stmt, For):
            for expr in (stmt.begin, stmt.extent, stmt.step):
                self._decides(expr)
            numbers = [constant(expr) for expr in (stmt.begin, stmt.extent, stmt.step)]
            if None not in numbers and numbers[2]:
                begin, extent, step = (number or 0 for number in numbers)
                self._ranges[stmt.var] = np.arange(begin, begin + extent, step)
            self._visit(stmt.body)
        elif isinstance(stmt, While):
            self._decides(stmt.condition)
            self._visit(stmt.body)
        elif isinstance(stmt, (Attr, Assert)):
            self._visit(stmt.body)

    def _condition(self, stmt: If, part: Expr) -> None:
        """Adds a part of a condition, or leaves open what has no recurrence in it: comparisons, and
        what is loaded."""
        try:
            self._decides(part)
        except NoRecurrence:
            operands = parts_of(part)
            for one in operands:
                self._condition(stmt, one)
            if operands:
                return
            if not (isinstance(part, Load) or (isinstance(part, Call) and part.op in COMPARISONS)):
                raise
            self.open.append(OpenCondition(stmt, part, dict(self._bound), self._ranges))

    def _bind(self, var: Var, value: Expr) -> None:
        try:
            recurrence = self._recurrences(value)
        except NoRecurrence:
            self._along[var] = None
        else:
            if recurrence != STEADY:
                self._along[var] = recurrence
        self._bound[var] = value

    def _decides(self, expr: Expr) -> None:
        """Adds the period of an expression. Raises `NoRecurrence` if it is not periodic."""
        self._work.do(2_000)
        recurrence = self._recurrences(expr)
        if recurrence.step:
            raise NoRecurrence
        self._first = max(self._first, recurrence.first)
        self._period = math.lcm(self._period, recurrence.period)

    def _awaits(self, parity: Expr) -> None:
        """Adds the period of a parity, or half of it if that makes 0 of 1 and 1 of 0. Raises
        `NoRecurrence`."""
        self._work.do(2_000)
        found = self._recurrences(parity)
        half = found.period // 2
        if found.step or found.period % 2 or not self._is_turned(parity, found.first, half):
            self._decides(parity)
            return
        self.turns = True
        self._first = max(self._first, found.first)
        self._period = math.lcm(self._period, half)

    def _is_turned(self, parity: Expr, first: int, half: int) -> bool:
        """Whether a parity of period `2 * half` is the other one `half` rounds later."""
        rows = self._rows(parity, first + 2 * half)
        if rows is None:
            return False
        whole = rows[first:]
        return bool(np.isin(whole, (0, 1)).all() and (whole[:half] != whole[half:]).all())

    # Values -------------------------------------------------------------------------------------

    def _rows(self, expr: Expr, count: int) -> np.ndarray | None:
        """The values of an expression in the first `count` iterations: a row for each."""
        values = self._threads.values
        known: dict[Var, Value] = {
            name: value for name, value in values.items() if isinstance(value, int)
        }
        if self._begin is None:
            return self._from_begin(expr, count)
        known[self._loop.var] = np.arange(self._begin, self._begin + count)
        iterations = Threads(np.arange(count), known, self._local, NOBODY)
        found = enumerated(expr, iterations, self._threads, self._ranges, self._bound, self._work)
        if found is None:
            return None
        return np.full((count, 1), found) if isinstance(found, int) else found.reshape(count, -1)

    def _from_begin(self, expr: Expr, count: int) -> np.ndarray | None:
        """The values of a sum in which where the loop begins cancels out."""
        first = linear(self._loop.begin, self._atoms)
        if first is None:
            return None
        var = self._loop.var

        def of_atom(expr: Expr) -> Linear | None:
            return combined({var: 1}, first, 1) if expr is var else self._atoms(expr)

        found = linear(expr, of_atom)
        if found is None or found.keys() - {var, ONE}:
            return None
        return (found.get(ONE, 0) + found.get(var, 0) * np.arange(count))[:, None]

    def _local(self, load: Load, asking: Threads) -> Value:
        """A local, which the loop does not set, where all threads have the same."""
        if any(constant(index) is None for index in load.indices):
            return None
        value = self._threads.load(load, self._threads)
        return value if isinstance(value, int) else None
