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
    value, plain = evaluate(expr, threads), _plain(expr)
    if value is None or plain is expr:
        return value
    other = evaluate(plain, threads)
    return value if other is not None and bool(np.all(np.equal(value, other))) else None


class _Itself:
    """An expression as a key: expressions are equal whatever their types, which count here."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr):
        self.expr = expr

    def __hash__(self) -> int:
        return id(self.expr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.expr is other.expr


def _plain(expr: Expr) -> Expr:
    """An expression as the prover reads it; the same object where that is what it says."""
    return _without_end(_Itself(expr)) if isinstance(expr, Call) else expr


@lru_cache(maxsize=1 << 14)
def _without_end(key: _Itself) -> Expr:
    expr = key.expr
    assert isinstance(expr, Call)
    if expr.op == "cast" and _is_integer(expr.args[0]):
        return _plain(expr.args[1])
    if expr.op == "sub" and wraps(expr):
        return _UNKNOWN
    args, op = tuple(map(_plain, expr.args)), _ROUNDED_DOWN.get(expr.op, expr.op)
    if op == expr.op and all(one is two for one, two in zip(args, expr.args, strict=True)):
        return expr
    return Call(op, args, expr.annotations)


def _is_integer(dtype: Expr) -> bool:
    return isinstance(dtype, Const) and integer_type(str(dtype.value)) is not None
