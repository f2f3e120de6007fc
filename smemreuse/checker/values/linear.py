"""Linear forms: integer expressions as sums of atoms, with a factor for each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable

from smemreuse.ir.expr import Call, Const, Expr, same
from smemreuse.ir.types import INT32, INT64, NO_INTEGER, integer_type
from smemreuse.semantics.evaluate import dtype_of

Linear = dict[Hashable, int]
"""A sum: the factor of each atom, and of `ONE` the number that is added."""

ONE = "one"

OfAtom = Callable[[Expr], "Linear | None"]
"""What is to be taken for an expression that is no sum; None if nothing is."""

COMPARISONS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_ALIKE = {"eq": operator.eq, "ne": operator.ne}


def linear(expr: Expr, of_atom: OfAtom) -> Linear | None:
    """A signed expression as a sum of atoms; None if one of them is not to be had."""
    if isinstance(expr, Const):
        return {ONE: expr.value} if isinstance(expr.value, int) else None
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return of_atom(expr)
    one, two = expr.args
    if expr.op == "cast" and _holds(one, two):
        return linear(two, of_atom)
    if expr.op in ("add", "sub"):
        left, right = linear(one, of_atom), linear(two, of_atom)
        if left is None or right is None:
            return None
        return combined(left, right, 1 if expr.op == "add" else -1)
    if expr.op == "mul":
        factor, other = (one, two) if isinstance(one, Const) else (two, one)
        if isinstance(factor, Const) and isinstance(factor.value, int):
            found = linear(other, of_atom)
            return None if found is None else combined({}, found, factor.value)
    return of_atom(expr)


def _holds(dtype: Expr, operand: Expr) -> bool:
    """Whether a type has every value of an operand."""
    made = integer_type(str(dtype.value) if isinstance(dtype, Const) else NO_INTEGER)
    inside = integer_type(dtype_of(operand))
    return made in (INT32, INT64) and inside is not None and inside.is_within(made)


def combined(one: Linear, other: Linear, times: int) -> Linear:
    """One sum and a multiple of another."""
    atoms = {**one, **other}
    found = {atom: one.get(atom, 0) + times * other.get(atom, 0) for atom in atoms}
    return {atom: factor for atom, factor in found.items() if factor}


def as_comparison(condition: Expr) -> Expr:
    """`x < a and x < b` as `x < min(a, b)`, which may be where a loop ends; another condition as it
    is."""
    if not isinstance(condition, Call) or condition.op != "and" or len(condition.args) != 2:
        return condition
    one, two = map(as_comparison, condition.args)
    if not isinstance(one, Call) or not isinstance(two, Call):
        return condition
    if one.op != two.op or one.op not in ("lt", "le") or not same(one.args[0], two.args[0]):
        return condition
    return Call(one.op, (one.args[0], Call("min", (one.args[1], two.args[1]))))


def distance(condition: Expr, of_atom: OfAtom) -> Linear | None:
    """By how much the first operand of a comparison is more than the second."""
    condition = as_comparison(condition)
    if not isinstance(condition, Call) or condition.op not in COMPARISONS:
        return None
    return linear(Call("sub", condition.args), of_atom)


def cancelled(expr: Call, of_atom: OfAtom) -> Const | None:
    """A difference, or a comparison of two sums, of which all atoms cancel out: `(n + 3) - n`."""
    if expr.op not in ("sub", *COMPARISONS, *_ALIKE) or len(expr.args) != 2:
        return None
    if any(integer_type(dtype_of(one)) not in (INT32, INT64) for one in expr.args):
        return None  # a float may be no number
    found = linear(Call("sub", expr.args), of_atom)
    if found is None or found.keys() - {ONE}:
        return None
    number = found.get(ONE, 0)
    if expr.op == "sub":
        return Const(number, dtype_of(expr))
    return Const(int({**COMPARISONS, **_ALIKE}[expr.op](number, 0)), "bool")
