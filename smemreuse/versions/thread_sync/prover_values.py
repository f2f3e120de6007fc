"""The values that expressions have for the prover of `ThreadSync` as well.

It computes with integers that have no end, leaves conversions out, and rounds all quotients down.
Where something wraps, or a negative number is divided, it has another value than the kernel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.types import integer_type
from smemreuse.semantics.evaluate import Threads, Value, evaluate, wraps

_ROUNDED_DOWN = {"div": "floordiv", "mod": "floormod"}
_UNKNOWN = Const("")


def prover_value(expr: Expr, threads: Threads) -> Value:
    """As `evaluate`; None also where the prover has another value."""
    value, plain = evaluate(expr, threads), _without_end(expr)
    if value is None or plain is None:
        return value
    other = evaluate(plain, threads)
    return value if other is not None and bool(np.all(np.equal(value, other))) else None


@lru_cache(maxsize=1 << 14)
def _without_end(expr: Expr) -> Expr | None:
    """An expression as the prover reads it; None where that is what it says: equal ones have one
    answer, so it could not be told by whether it is the same object."""
    if not isinstance(expr, Call):
        return None
    if expr.op == "cast" and _is_integer(expr.args[0]):
        return _without_end(expr.args[1]) or expr.args[1]
    if expr.op == "sub" and wraps(expr):
        return _UNKNOWN
    read, op = tuple(map(_without_end, expr.args)), _ROUNDED_DOWN.get(expr.op, expr.op)
    if op == expr.op and all(one is None for one in read):
        return None
    args = tuple(one or own for one, own in zip(read, expr.args, strict=True))
    return Call(op, args, expr.annotations)


def _is_integer(dtype: Expr) -> bool:
    return isinstance(dtype, Const) and integer_type(str(dtype.value)) is not None
