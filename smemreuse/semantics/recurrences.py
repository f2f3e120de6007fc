"""Recurrences: how the value of an expression changes with an induction variable, for all rounds.

A recurrence follows from how an expression is written, by rules for whole numbers of any size.
Sums and multiples of induction variables are induction variables. A quotient is one from some round
on, and a remainder is periodic. Of two values with different steps one is the larger for good, from
a round that can be computed. An expression that no rule fits has no recurrence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, children, walk
from smemreuse.ir.types import INT32, INT64, NO_INTEGER, integer_type
from smemreuse.semantics.evaluate import dtype_of, wraps

MAX_ROUNDS = 1 << 10
"""Rounds before a recurrence begins, and its period, together at most."""


class NoRecurrence(Exception):
    """No recurrence of a value is known."""


@dataclass(frozen=True)
class Recurrence:
    """From round `first` on, a value is `step` more `period` rounds later."""

    first: int = 0
    period: int = 1
    step: int = 0

    def __post_init__(self) -> None:
        if self.first + self.period > MAX_ROUNDS:
            raise NoRecurrence

    def over(self, period: int) -> int:
        """How much more it is after a multiple of its period."""
        return self.step * (period // self.period)


STEADY = Recurrence()
EACH_ROUND = Recurrence(0, 1, 1)

Rows = Callable[[Expr, int], np.ndarray | None]
"""The values of an expression in the first so many rounds: a row for each round."""


class Recurrences:
    """The recurrences of expressions, given those of their variables (None for a variable without
    one).

    What memory holds counts as unknown, whatever element it is.
    """

    def __init__(self, along: Mapping[Var, Recurrence | None], rows: Rows):
        self._along = along
        self._rows = rows

    def __call__(self, expr: Expr) -> Recurrence:
        """The recurrence of an expression. Raises `NoRecurrence`."""
        if not self._moves(expr):
            return STEADY
        if wraps(expr):
            raise NoRecurrence
        return self._of(expr)

    def _moves(self, expr: Expr) -> bool:
        return any(isinstance(node, Var) and node in self._along for node in walk(expr))

    def _of(self, expr: Expr) -> Recurrence:
        """The recurrence of an expression by the rule of its operator; raises `NoRecurrence`."""
        if not self._moves(expr):
            return STEADY
        if isinstance(expr, Var):
            recurrence = self._along[expr]
            if recurrence is None:
                raise NoRecurrence
            return recurrence
        if isinstance(expr, Load) and not expr.buffer.scope.startswith("local"):
            return STEADY
        if isinstance(expr, Call):
            if expr.op in _SUMS:
                return self._sum(expr)
            if expr.op in _COMPARISONS:
                return self._comparison(expr)
            if expr.op in _BY_NUMBER:
                found = self._by_number(expr)
                if found is not None:
                    return found
            if expr.op == "cast" and len(expr.args) == 2:
                return self._cast(expr)
            if expr.op == "let":
                raise NoRecurrence
        return self._together(expr)

    def _together(self, expr: Expr) -> Recurrence:
        """The recurrence of an operation whose operands all repeat: it repeats with them."""
        first, period = 0, 1
        for child in children(expr):
            recurrence = self._of(child)
            if recurrence.step:
                raise NoRecurrence
            first, period = max(first, recurrence.first), math.lcm(period, recurrence.period)
        return Recurrence(first, period)

    def _sum(self, expr: Call) -> Recurrence:
        one, two = (self._of(operand) for operand in expr.args)
        period, sign = math.lcm(one.period, two.period), 1 if expr.op == "add" else -1
        step = one.over(period) + sign * two.over(period)
        return Recurrence(max(one.first, two.first), period, step)

    def _comparison(self, expr: Call) -> Recurrence:
        """Once two values with different steps are further from each other than they began, the
        comparison does not change any more."""
        distance = self._sum(Call("sub", expr.args))
        if not distance.step:
            return distance
        # As one expression: what the two depend on need not be the same.
        found = self._rows(Call("sub", expr.args), distance.first + distance.period)
        if found is None:
            raise NoRecurrence
        most = int(np.abs(found)[distance.first :].max(initial=0))
        periods = most // abs(distance.step) + 1
        return Recurrence(distance.first + periods * distance.period, distance.period)

    def _by_number(self, expr: Call) -> Recurrence | None:
        """A multiple, a quotient or a rest, where the other operand is a number."""
        operand, other = expr.args
        if expr.op == "mul" and isinstance(operand, Const):
            operand, other = other, operand
        number = other.value if isinstance(other, Const) else None
        if not isinstance(number, int) or number < 0:
            return None
        recurrence = self._of(operand)
        if expr.op in ("mul", "shift_left"):
            times = number if expr.op == "mul" else 1 << min(number, 64)
            return Recurrence(recurrence.first, recurrence.period, recurrence.step * times)
        if expr.op == "bitwise_and":
            number += 1
            if number & (number - 1):
                return None  # no rest of a division
        elif expr.op == "shift_right":
            number = 1 << min(number, 64)
        if not number:
            return None
        times = number // math.gcd(number, recurrence.step)
        step = recurrence.step * times // number if expr.op in ("floordiv", "shift_right") else 0
        return Recurrence(recurrence.first, recurrence.period * times, step)

    def _cast(self, expr: Call) -> Recurrence:
        """The recurrence of a cast: that of its operand, if the type is wide enough to hold every
        value.

        A narrower cast keeps a recurrence without a step, because equal values cast to equal
        values.
        """
        recurrence = self._of(expr.args[1])
        made = expr.args[0].value if isinstance(expr.args[0], Const) else NO_INTEGER
        kind, inside = integer_type(str(made)), integer_type(dtype_of(expr.args[1]))
        if kind in (INT32, INT64) and inside is not None and inside.is_within(kind):
            return recurrence
        if recurrence.step:
            raise NoRecurrence
        return recurrence


_SUMS = ("add", "sub")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BY_NUMBER = ("mul", "shift_left", "shift_right", "floordiv", "floormod", "bitwise_and")
