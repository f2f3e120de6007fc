"""Under which moduli an expression depends on what varies from iteration to iteration.

`(k + 1) % 3` repeats itself every three values of `k`. An expression that depends on `k` in another
way, `k // 4` among them, is not known to.
"""

from __future__ import annotations

from collections.abc import Callable

from smemreuse.ir.expr import Call, Const, Expr, Var, children, constant, variables_in, walk
from smemreuse.semantics.evaluate import wraps

Varies = Callable[[Expr], bool]


def moduli(expr: Expr, varies: Varies) -> set[int] | None:
    """The constants `c` such that `expr` depends on the varying variables only through `% c`, or
    None.
    """
    if varies(expr):
        return None
    if isinstance(expr, Call) and expr.op == "floormod":
        dividend, divisor = expr.args
        if any(map(varies, walk(dividend))):
            number = constant(divisor)
            if number is None or number <= 0 or not is_affine(dividend, varies):
                return None
            if wraps(dividend) and number & (number - 1):
                return None  # what wraps keeps its place modulo powers of two alone
            return {number}
    found: set[int] = set()
    for child in children(expr):
        more = moduli(child, varies)
        if more is None:
            return None
        found |= more
    return found


def is_affine(expr: Expr, varies: Varies) -> bool:
    """Whether `expr` is a sum of integer multiples of varying variables, and of invariant terms."""
    if varies(expr) or not any(map(varies, walk(expr))):
        return True
    if isinstance(expr, Call) and expr.op in ("add", "sub"):
        return all(is_affine(arg, varies) for arg in expr.args)
    if isinstance(expr, Call) and expr.op == "mul":
        return any(isinstance(arg, Const) for arg in expr.args) and all(
            is_affine(arg, varies) for arg in expr.args
        )
    return False


MAX_CHANGES = 2
"""Changes of an expression that are told apart."""


def growth(expr: Expr, var: Var) -> frozenset[int] | None:
    """All changes that an expression may have when `var` grows by 1; None if unknown."""
    found = None if wraps(expr) else _growth(expr, var)
    return None if found is None or len(found) > MAX_CHANGES else frozenset(found)


def _growth(expr: Expr, var: Var) -> set[int] | None:
    """As `growth`, for an expression that does not wrap."""
    if isinstance(expr, Var):
        return {int(expr is var)}
    if var not in variables_in(expr):
        return {0}
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return None
    one, other = (_growth(arg, var) for arg in expr.args)
    first, second = map(constant, expr.args)
    if one is None or other is None or len(one) * len(other) > MAX_CHANGES:
        return None
    if expr.op == "add":
        return {a + b for a in one for b in other}
    if expr.op == "sub":
        return {a - b for a in one for b in other}
    if expr.op == "mul" and (first is not None or second is not None):
        return (
            {second * a for a in one} if second is not None else {(first or 0) * b for b in other}
        )
    if second is None or second <= 0:
        return None
    if expr.op == "floormod":
        return {change for a in one for change in _changes_modulo(a, second)}
    if expr.op == "floordiv":
        return {quotient for a in one for quotient in (a // second, -(-a // second))}
    return None


def _changes_modulo(change: int, number: int) -> set[int]:
    """How a remainder may change where what is divided changes."""
    rest = change % number
    return {rest, rest - number} if rest else {0}
