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


def growth(expr: Expr, var: Var) -> tuple[int, int] | None:
    """The least and greatest change of an expression when `var` grows by 1; None if unknown."""
    return None if wraps(expr) else _growth(expr, var)


def _growth(expr: Expr, var: Var) -> tuple[int, int] | None:
    """As `growth`, for an expression that does not wrap."""
    if isinstance(expr, Var):
        return (1, 1) if expr is var else (0, 0)
    if var not in variables_in(expr):
        return 0, 0
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return None
    grown = [_growth(arg, var) for arg in expr.args]
    numbers = [constant(arg) for arg in expr.args]
    (one, other), (first, second) = grown, numbers
    if expr.op in ("add", "sub") and one is not None and other is not None:
        if expr.op == "add":
            return one[0] + other[0], one[1] + other[1]
        return one[0] - other[1], one[1] - other[0]
    if expr.op == "mul" and (first is not None or second is not None):
        number, operand = (second, one) if second is not None else (first, other)
        if number is None or operand is None:
            return None
        ends = (number * operand[0], number * operand[1])
        return min(ends), max(ends)
    if second is None or second <= 0:
        return None
    if expr.op == "floormod":
        return 1 - second, second - 1
    if expr.op == "floordiv" and one is not None:
        return one[0] // second, -(-one[1] // second)
    return None
