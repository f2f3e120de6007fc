"""The period of a loop of unknown length.

Its iterations cannot be enumerated. The period follows from the recurrences of the expressions that
decide an iteration (`semantics.recurrences`), which hold for every iteration number.
"""

from __future__ import annotations

import math

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.slice import ProgramSlice
from smemreuse.ir.expr import Expr, Load, Var, constant, variables_in
from smemreuse.ir.kernel import Assert, Attr, Bind, Block, For, If, Stmt, While
from smemreuse.semantics.evaluate import NOBODY, Threads, Value, evaluate
from smemreuse.semantics.recurrences import (
    EACH_ROUND,
    STEADY,
    NoRecurrence,
    Recurrence,
    Recurrences,
)

MAX_VALUES = 1 << 20
"""Rounds times threads, and rounds of loops inside, that an expression is evaluated for."""


class UnboundedLoop:
    """The expressions that decide the iterations of a loop, from `begin` on, for `threads`."""

    def __init__(
        self, program_slice: ProgramSlice, loop: For, begin: int, threads: Threads, work: Work
    ):
        self._slice = program_slice
        self._loop = loop
        self._begin = begin
        self._threads = threads
        self._work = work
        self._along: dict[Var, Recurrence | None] = {loop.var: EACH_ROUND}
        self._bound: dict[Var, Expr] = {}
        self._ranges: dict[Var, range] = {}
        self._recurrences = Recurrences(self._along, self._rows)
        self._first, self._period = 0, 1

    def found(self) -> tuple[int, int] | None:
        """The first iteration of the periodic part, and the period; None if unknown, as for a loop
        that sets what decides its own iterations."""
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
        for expr in self._slice.acting(stmt):
            self._decides(expr)
        if isinstance(stmt, If):
            self._decides(stmt.condition)
            self._visit(stmt.then)
            self._visit(stmt.orelse)
        elif isinstance(stmt, For):
            for expr in (stmt.begin, stmt.extent, stmt.step):
                self._decides(expr)
            numbers = [constant(expr) for expr in (stmt.begin, stmt.extent, stmt.step)]
            if None not in numbers and numbers[2]:
                begin, extent, step = (number or 0 for number in numbers)
                self._ranges[stmt.var] = range(begin, begin + extent, step)
            self._visit(stmt.body)
        elif isinstance(stmt, While):
            self._decides(stmt.condition)
            self._visit(stmt.body)
        elif isinstance(stmt, (Attr, Assert)):
            self._visit(stmt.body)

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

    # Values -------------------------------------------------------------------------------------

    def _rows(self, expr: Expr, count: int) -> np.ndarray | None:
        """The values of an expression in the first `count` iterations: a row for each."""
        names = variables_in(expr)
        while (
            more := {
                one
                for name in names & self._bound.keys()
                for one in variables_in(self._bound[name])
            }
            - names
        ):
            names |= more
        values = self._threads.values
        known: dict[Var, Value] = {
            name: one for name in names if isinstance(one := values.get(name), int)
        }
        known[self._loop.var] = np.arange(self._begin, self._begin + count)
        rows = Threads(np.arange(count), known, self._local, NOBODY)
        choices = {name: np.array(self._ranges[name]) for name in names & self._ranges.keys()}
        arrays = {name: one for name in names if isinstance(one := values.get(name), np.ndarray)}
        inside = math.prod(map(len, choices.values())) * (self._threads.count if arrays else 1)
        if count * inside > MAX_VALUES:
            return None
        self._work.do(40 * count * inside)
        if arrays:
            rows = rows.repeated(Var("thread"), np.arange(self._threads.count))
            for name, value in arrays.items():
                rows = rows.bind(name, np.tile(value, count))
        for name, numbers in choices.items():
            rows = rows.repeated(name, numbers)
        for name, bound in self._bound.items():
            if name in names:
                rows = rows.bind(name, evaluate(bound, rows))
        found = evaluate(expr, rows)
        if found is None:
            return None
        return np.broadcast_to(found, (count * inside,)).reshape(count, inside)

    def _local(self, load: Load, asking: Threads) -> Value:
        """A local, which the loop does not set, where all threads have the same."""
        if any(constant(index) is None for index in load.indices):
            return None
        value = self._threads.load(load, self._threads)
        return value if isinstance(value, int) else None
