"""Expressions as formulas: what follows from their operands alone, and how others are made."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.ir.expr import CHOICES, Call, Const, Expr
from smemreuse.semantics.evaluate import dtype_of, is_arithmetic

_BOOLEAN = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not")


def operands_of(call: Call) -> tuple[Expr, ...] | None:
    """What a result follows from alone; None if there is more to it. A type is no operand."""
    if not is_arithmetic(call):
        return None
    return call.args[1:] if call.op == "cast" else call.args


def parts_of(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that one is made of by `and`, `or`, `not`, a choice or a cast; none where it
    is made of none."""
    made = isinstance(condition, Call) and condition.op in ("and", "or", "not", "cast", *CHOICES)
    return operands_of(condition) or () if made and isinstance(condition, Call) else ()


def is_condition(expr: Expr) -> bool:
    """Whether an expression is worth 0 or 1."""
    return isinstance(expr, Call) and expr.op in _BOOLEAN


def as_condition(expr: Expr) -> Expr:
    """The same condition, as an expression that is worth 0 or 1."""
    return expr if is_condition(expr) else Call("ne", (expr, Const(0)))


def negative(expr: Expr) -> Expr:
    """Less than zero by as much as another expression is more."""
    return Call("sub", (Const(0), expr))


def substituted(expr: Expr, values: Mapping[Expr, int]) -> Expr:
    """An expression with numbers in place of some of its parts."""
    if expr in values:
        return Const(values[expr], dtype_of(expr))
    if not isinstance(expr, Call):
        return expr
    return Call(expr.op, tuple(substituted(one, values) for one in expr.args), expr.annotations)


def stored_as(dtype: str, expr: Expr) -> Expr:
    """What is there when a value has been stored in an element of a type."""
    return expr if dtype in _WIDE else Call("cast", (Const(dtype), expr))


_WIDE = ("int32", "int64", "bool")
"""Types that hold what is stored as such: signed numbers are assumed not to overflow."""
