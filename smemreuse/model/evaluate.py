"""Exact evaluation of integer expressions for all threads of a block at once, with NumPy.

A value is an int when every active thread has the same, an int64 array with one entry for each
active thread otherwise, and None when it cannot be known (data from memory, a block index).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smemreuse.model.expr import Call, Const, Expr, Load, Var

Value = int | np.ndarray | None
LoadHook = Callable[[Load, "Threads"], Value]


def unknown_load(load: Load, threads: Threads) -> Value:
    """What memory holds is not known."""
    return None


@dataclass(frozen=True)
class Threads:
    """The active threads: their linear indices in the block, and what their variables hold."""

    ids: np.ndarray
    values: Mapping[Var, Value] = field(default_factory=dict)
    load: LoadHook = unknown_load

    @property
    def count(self) -> int:
        return len(self.ids)

    def bind(self, var: Var, value: Value) -> Threads:
        """The same threads with one more variable."""
        return Threads(self.ids, {**self.values, var: value}, self.load)

    def where(self, mask: np.ndarray) -> Threads:
        """Only the threads for which `mask` holds."""
        values = {
            var: value[mask] if isinstance(value, np.ndarray) else value
            for var, value in self.values.items()
        }
        return Threads(self.ids[mask], values, self.load)

    def repeated(self, var: Var, choices: np.ndarray) -> Threads:
        """Every thread once for each choice of `var`: a whole loop at once, as more threads."""
        values: dict[Var, Value] = {
            known: np.repeat(value, len(choices)) if isinstance(value, np.ndarray) else value
            for known, value in self.values.items()
        }
        values[var] = np.tile(choices, len(self.ids))
        return Threads(np.repeat(self.ids, len(choices)), values, self.load)


def _trunc_div(a: Any, b: Any) -> Any:
    quotient = np.abs(a) // np.abs(b)
    return np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -quotient, quotient)


def _trunc_mod(a: Any, b: Any) -> Any:
    return a - _trunc_div(a, b) * b


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "div": _trunc_div,
    "mod": _trunc_mod,
    "min": np.minimum,
    "max": np.maximum,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b,
    "shift_right": lambda a, b: a >> b,
    "ceildiv": lambda a, b: -(-a // b),
}
_INTEGER = re.compile(r"^(bool|u?int)(\d*)$")
_DIVISIONS = ("floordiv", "floormod", "div", "mod", "ceildiv")
_PASS_THROUGH = ("likely", "tvm_thread_invariant", "assume_value")


def evaluate(expr: Expr, threads: Threads) -> Value:
    """The value of an integer expression for the active threads."""
    if isinstance(expr, Const):
        return expr.value if isinstance(expr.value, int) else None
    if isinstance(expr, Var):
        return threads.values.get(expr)
    if isinstance(expr, Load):
        return threads.load(expr, threads)
    if not isinstance(expr, Call):
        return None
    if expr.op in _BINARY and len(expr.args) == 2:
        return _binary(expr.op, *(evaluate(arg, threads) for arg in expr.args))
    if expr.op in ("and", "or"):
        return _logical(expr, threads)
    if expr.op == "not":
        operand = evaluate(expr.args[0], threads)
        return None if operand is None else _plain(np.equal(operand, 0))
    if expr.op in ("select", "if_then_else") and len(expr.args) == 3:
        return _select(*(evaluate(arg, threads) for arg in expr.args))
    if expr.op == "cast" and len(expr.args) == 2:
        return _cast(expr, threads)
    if expr.op in _PASS_THROUGH and len(expr.args) == 1:
        return evaluate(expr.args[0], threads)
    if expr.op == "let" and isinstance(expr.args[0], Var):
        value = evaluate(expr.args[1], threads)
        return evaluate(expr.args[2], threads.bind(expr.args[0], value))
    return _thread_query(expr, threads)


def _plain(value: Any) -> Value:
    """Booleans as integers, one-element results as ints."""
    array = np.asarray(value)
    return int(array) if array.ndim == 0 else array.astype(np.int64)


def _binary(op: str, left: Value, right: Value) -> Value:
    if left is None or right is None:
        # x * 0 is 0 and x % 1 is 0, whatever x is.
        if op == "mul" and (_is(left, 0) or _is(right, 0)):
            return 0
        return 0 if op in ("floormod", "mod") and _is(right, 1) else None
    if op in _DIVISIONS and np.any(np.equal(right, 0)):
        return None
    if op in ("shift_left", "shift_right") and np.any(np.less(right, 0)):
        return None
    return _plain(_BINARY[op](left, right))


def _is(value: Value, number: int) -> bool:
    return isinstance(value, int) and value == number


def _logical(expr: Call, threads: Threads) -> Value:
    """`and` and `or`; one side may decide alone."""
    left, right = (evaluate(arg, threads) for arg in expr.args)
    decisive = 0 if expr.op == "and" else 1
    for side in (left, right):
        if side is not None and np.all(np.not_equal(side, 0) == bool(decisive)):
            return decisive
    if left is None or right is None:
        return None
    combine = np.logical_and if expr.op == "and" else np.logical_or
    return _plain(combine(np.not_equal(left, 0), np.not_equal(right, 0)))


def _select(condition: Value, then: Value, orelse: Value) -> Value:
    if condition is None:
        return None
    if isinstance(condition, int):
        return then if condition else orelse
    if then is None or orelse is None:
        chosen = then if orelse is None else orelse
        wanted = bool(orelse is None)
        return chosen if np.all(np.not_equal(condition, 0) == wanted) else None
    return _plain(np.where(np.not_equal(condition, 0), then, orelse))


def _cast(expr: Call, threads: Threads) -> Value:
    dtype = expr.args[0]
    match = _INTEGER.match(str(dtype.value)) if isinstance(dtype, Const) else None
    value = evaluate(expr.args[1], threads) if match is not None else None
    if match is None or value is None:
        return None
    if match.group(1) == "bool":
        return _plain(np.not_equal(value, 0))
    bits = int(match.group(2) or 32)
    if bits >= 64:
        return value
    half = 0 if match.group(1) == "uint" else 1 << (bits - 1)
    return _plain((np.asarray(value) + half) % (1 << bits) - half)


def _thread_query(expr: Call, threads: Threads) -> Value:
    """The intrinsics that ask which thread this is."""
    if expr.op == "tl_shuffle_elect" and len(expr.args) == 1:
        group = evaluate(expr.args[0], threads)
        if isinstance(group, int) and group >= 0:
            return _plain(threads.ids == 0 if group == 0 else threads.ids % group == 0)
    if expr.op in ("get_warp_idx", "get_warp_idx_sync") and not expr.args:
        return threads.ids // 32
    if expr.op == "get_lane_idx" and not expr.args:
        return threads.ids % 32
    return None
