"""Interval arithmetic on index expressions: how far an access may reach."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.ir.expr import Call, Expr, Var, constant
from smemreuse.semantics.evaluate import wraps

Interval = tuple[int, int]
"""The least and the greatest value, both inclusive."""


def upper_bound(expr: Expr, ranges: Mapping[Var, Interval]) -> int | None:
    """A value that `expr` never exceeds; None if none is known."""
    found = bounds(expr, ranges)
    return None if found is None else found[1]


def bounds(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval | None:
    """The least and greatest value that `expr` may have; None where it is not known, as of what
    may wrap."""
    return None if isinstance(expr, Call) and wraps(expr) else _bounds(expr, ranges)


def _bounds(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval | None:
    """As `bounds`, for an expression that does not wrap."""
    value = constant(expr)
    if value is not None:
        return (value, value)
    if isinstance(expr, Var):
        return ranges.get(expr)
    if not isinstance(expr, Call):
        return None
    if expr.op == "ramp":
        return _ramp(expr, ranges)
    if len(expr.args) != 2:
        return None
    left, right = (_bounds(arg, ranges) for arg in expr.args)
    if expr.op == "floormod" and right is not None and right[0] == right[1] > 0:
        inside = left is not None and left[0] >= 0 and left[1] < right[0]
        return left if inside else (0, right[0] - 1)
    if left is None or right is None:
        return None
    return _combine(expr.op, left, right)


def _ramp(expr: Call, ranges: Mapping[Var, Interval]) -> Interval | None:
    """The interval that covers all lanes of a vector of indices."""
    base, stride, lanes = (_bounds(arg, ranges) for arg in expr.args)
    if base is None or stride is None or lanes is None:
        return None
    last = _combine("mul", stride, (lanes[1] - 1, lanes[1] - 1))
    assert last is not None
    return (base[0] + min(last[0], 0), base[1] + max(last[1], 0))


def _combine(op: str, left: Interval, right: Interval) -> Interval | None:
    """The interval of a binary operation's result from the intervals of both operands, None if
    unknown.
    """
    if op == "add":
        return (left[0] + right[0], left[1] + right[1])
    if op == "sub":
        return (left[0] - right[1], left[1] - right[0])
    if op == "mul":
        products = [a * b for a in left for b in right]
        return (min(products), max(products))
    if op == "floordiv" and right[0] > 0:
        quotients = [a // b for a in left for b in right]
        return (min(quotients), max(quotients))
    if op in ("min", "max"):
        choose = min if op == "min" else max
        return (choose(left[0], right[0]), choose(left[1], right[1]))
    if op in ("bitwise_xor", "bitwise_or") and min(left[0], right[0]) >= 0:
        bits = max(left[1], right[1]).bit_length()
        return (0, (1 << bits) - 1)
    return None
