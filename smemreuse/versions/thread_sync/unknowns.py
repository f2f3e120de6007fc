"""Conditions on what is not known, an argument or what memory holds, that surely may hold.

`ThreadSync` takes its prover's word that two accesses never collide. Under a condition that never
holds, as `n % 4 == 5`, it proves anything. So one is only taken to hold if it compares something
that may have any value, and no other condition speaks of that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, constant
from smemreuse.ir.types import IntegerType, integer_type
from smemreuse.semantics.evaluate import Threads, evaluate, is_arithmetic

_ORDERED = frozenset({"lt", "le", "gt", "ge"})
_EQUAL = frozenset({"eq", "ne"})

FAR = 1 << 10
"""Factors and divisors up to this are followed: what `int32` holds leaves room for them."""

Bound = Mapping[Var, Expr]
"""The values that variables are bound to of which nothing is known."""


def may_hold_or_not(condition: Expr, threads: Threads, bound: Bound) -> bool:
    """Whether there surely are values for which a condition holds, and others for which it does
    not, whatever all else in it is. It must have no value for these `threads`, and only be asked of
    if no other condition depends on the same."""
    condition = _itself(condition, bound)
    if _is_free(condition, threads):
        return True
    if not isinstance(condition, Call) or len(condition.args) != 2:
        return False
    for one, other in (condition.args, condition.args[::-1]):
        if condition.op in _ORDERED and _grows(one, threads, bound):
            return _leaves_room(_root(one, bound), other, threads)
        if condition.op in _EQUAL and _is_free(_itself(one, bound), threads):
            return _leaves_room(_itself(one, bound), other, threads)
    return False


def may_be_large(extent: Expr, threads: Threads, bound: Bound) -> bool:
    """Whether the extent of a loop surely is as large as one likes for some values."""
    return _grows(extent, threads, bound)


def _grows(expr: Expr, threads: Threads, bound: Bound) -> bool:
    """Whether an expression grows with something that may have any value, without end."""
    expr = _itself(expr, bound)
    if _is_free(expr, threads):
        return True
    if not isinstance(expr, Call) or len(expr.args) != 2 or not _is_wide(_root(expr, bound)):
        return False
    left, right = expr.args
    if expr.op == "add" and isinstance(evaluate(left, threads), int):
        left, right = right, left
    if expr.op == "mul" and constant(left) is not None:
        left, right = right, left
    if expr.op in ("add", "sub"):
        value = evaluate(right, threads)
        return isinstance(value, int) and abs(value) < FAR**2 and _grows(left, threads, bound)
    if expr.op in ("mul", "floordiv"):
        by = constant(right)
        return by is not None and 0 < by <= FAR and _grows(left, threads, bound)
    return False


def _root(expr: Expr, bound: Bound) -> Expr:
    """What an expression that `_grows` is made of."""
    expr = _itself(expr, bound)
    while isinstance(expr, Call) and is_arithmetic(expr) and expr.args:
        operands = [one for one in expr.args if not isinstance(_itself(one, bound), Const)]
        if len(operands) != 1:
            break
        expr = _itself(operands[0], bound)
    return expr


def _itself(expr: Expr, bound: Bound) -> Expr:
    """An expression without conversions to what holds all its values, and without the variables
    that are only names for one."""
    while True:
        if isinstance(expr, Var) and expr in bound:
            expr = bound[expr]
        elif isinstance(expr, Call) and expr.op == "likely" and len(expr.args) == 1:
            expr = expr.args[0]
        elif isinstance(expr, Call) and expr.op == "cast" and _is_widening(expr):
            expr = expr.args[1]
        else:
            return expr


def _is_widening(cast: Call) -> bool:
    target, value = cast.args
    kind = integer_type(str(target.value)) if isinstance(target, Const) else None
    own = _kind(value)
    return kind is not None and own is not None and own.is_within(kind)


def _is_free(expr: Expr, threads: Threads) -> bool:
    """Whether an expression may have any value of its type: an argument, an element of memory, or
    the answer of an operation."""
    if isinstance(expr, Var):
        return expr not in threads.values
    return isinstance(expr, Load) or (isinstance(expr, Call) and not is_arithmetic(expr))


def _kind(expr: Expr) -> IntegerType | None:
    if isinstance(expr, Load):
        return integer_type(expr.buffer.dtype)
    return integer_type(expr.dtype) if isinstance(expr, Var) else None


def _is_wide(expr: Expr) -> bool:
    kind = _kind(expr)
    return kind is not None and kind.is_signed and kind.bits >= 32


def _leaves_room(free: Expr, other: Expr, threads: Threads) -> bool:
    """Whether the type of what is `free` has values on both sides of the `other` one."""
    kind = _kind(free)
    if kind is None:
        return True  # a number of another kind
    value = evaluate(other, threads)
    if value is None:
        return _is_wide(free)
    room = (kind.least < np.asarray(value)) & (np.asarray(value) < kind.most)
    return bool(room.all()) and bool(np.all(np.abs(value) < FAR**2))
