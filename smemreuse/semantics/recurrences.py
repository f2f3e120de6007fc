"""How the value of an expression goes on along a variable, for all numbers, however large.

That is concluded from how an expression is written, by rules that hold for whole numbers of any
size: sums and multiples of what goes on evenly go on evenly; divided, they do after some more
rounds; the rest of a division comes round again; and of two that go apart one is the larger for
good, from where that is computed. What no rule is known for has no course.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, children, walk
from smemreuse.semantics.evaluate import wraps

MAX_ROUNDS = 1 << 10
"""Rounds before a value goes on evenly, and a period of it, that are looked at."""


class NoCourse(Exception):
    """It is not known how a value goes on."""


@dataclass(frozen=True)
class Course:
    """From round `first` on, a value is `step` more `period` rounds later."""

    first: int = 0
    period: int = 1
    step: int = 0

    def __post_init__(self) -> None:
        if self.first + self.period > MAX_ROUNDS:
            raise NoCourse

    def over(self, period: int) -> int:
        """How much more it is after a multiple of its period."""
        return self.step * (period // self.period)


STEADY = Course()
EACH_ROUND = Course(0, 1, 1)

Rows = Callable[[Expr, int], np.ndarray | None]
"""All that an expression is worth in each of the first so many rounds: a row for each round."""


class Courses:
    """The courses of expressions along variables that have one; None for one without a course.

    What memory holds counts as unknown, whatever element it is.
    """

    def __init__(self, along: Mapping[Var, Course | None], rows: Rows):
        self._along = along
        self._rows = rows

    def __call__(self, expr: Expr) -> Course:
        """The course of an expression. Raises `NoCourse`."""
        if not self._moves(expr):
            return STEADY
        if wraps(expr):
            raise NoCourse
        return self._of(expr)

    def _moves(self, expr: Expr) -> bool:
        return any(isinstance(node, Var) and node in self._along for node in walk(expr))

    def _of(self, expr: Expr) -> Course:
        if not self._moves(expr):
            return STEADY
        if isinstance(expr, Var):
            course = self._along[expr]
            if course is None:
                raise NoCourse
            return course
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
                raise NoCourse
        return self._together(expr)

    def _together(self, expr: Expr) -> Course:
        """What follows from operands that come round again comes round with them."""
        first, period = 0, 1
        for child in children(expr):
            course = self._of(child)
            if course.step:
                raise NoCourse
            first, period = max(first, course.first), math.lcm(period, course.period)
        return Course(first, period)

    def _sum(self, expr: Call) -> Course:
        one, two = (self._of(operand) for operand in expr.args)
        period, sign = math.lcm(one.period, two.period), 1 if expr.op == "add" else -1
        step = one.over(period) + sign * two.over(period)
        return Course(max(one.first, two.first), period, step)

    def _comparison(self, expr: Call) -> Course:
        """Two values that go apart compare alike once they are further apart than they began."""
        apart = self._sum(Call("sub", expr.args))
        if not apart.step:
            return apart
        count = apart.first + apart.period
        one, two = (self._rows(operand, count) for operand in expr.args)
        if one is None or two is None:
            raise NoCourse
        most = int(np.abs(one - two)[apart.first :].max(initial=0))
        periods = most // abs(apart.step) + 1
        return Course(apart.first + periods * apart.period, apart.period)

    def _by_number(self, expr: Call) -> Course | None:
        """A multiple, a quotient or a rest, where the other operand is a number."""
        operand, other = expr.args
        if expr.op == "mul" and isinstance(operand, Const):
            operand, other = other, operand
        number = other.value if isinstance(other, Const) else None
        if not isinstance(number, int) or number < 0:
            return None
        course = self._of(operand)
        if expr.op in ("mul", "shift_left"):
            times = number if expr.op == "mul" else 1 << min(number, 64)
            return Course(course.first, course.period, course.step * times)
        if expr.op == "bitwise_and":
            number += 1
            if number & (number - 1):
                return None  # no rest of a division
        elif expr.op == "shift_right":
            number = 1 << min(number, 64)
        if not number:
            return None
        times = number // math.gcd(number, course.step)
        step = course.step * times // number if expr.op in ("floordiv", "shift_right") else 0
        return Course(course.first, course.period * times, step)

    def _cast(self, expr: Call) -> Course:
        """A type that is no narrower than what it is made of holds the same number."""
        course = self._of(expr.args[1])
        made_of = (node for node in walk(expr.args[1]) if isinstance(node, Call))
        widest = expr.args[0] == Const("int64")
        if widest or (
            expr.args[0] == Const("int32") and not any(one.op == "cast" for one in made_of)
        ):
            return course
        if course.step:
            raise NoCourse
        return course


_SUMS = ("add", "sub")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BY_NUMBER = ("mul", "shift_left", "shift_right", "floordiv", "floormod", "bitwise_and")
