"""Under which moduli an expression depends on what varies from iteration to iteration.

`(k + 1) % 3` repeats itself every three values of `k`. An expression that depends on `k` in another
way, `k // 4` among them, is not known to.
"""

from __future__ import annotations

from collections.abc import Callable

from smemreuse.ir.expr import Call, Const, Expr, children, constant, walk
from smemreuse.semantics.evaluate import wraps

Varies = Callable[[Expr], bool]


def moduli(expr: Expr, varies: Varies) -> set[int] | None:
    """The constants modulo which `expr` depends on what varies; None if it does so otherwise."""
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
    """Whether `expr` is a sum of integer multiples of what varies, and of things that do not."""
    if varies(expr) or not any(map(varies, walk(expr))):
        return True
    if isinstance(expr, Call) and expr.op in ("add", "sub"):
        return all(is_affine(arg, varies) for arg in expr.args)
    if isinstance(expr, Call) and expr.op == "mul":
        return any(isinstance(arg, Const) for arg in expr.args) and all(
            is_affine(arg, varies) for arg in expr.args
        )
    return False
