"""Exact evaluation of integer expressions for all threads of a block at once, with NumPy.

A value is an int when every active thread has the same, an int64 array with one entry for each
active thread otherwise, and None when it cannot be known (data from memory, a block index).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Var, unsigned_bits, walk
from smemreuse.ir.launch import AXES, stride_of

Value = int | np.ndarray | None
LoadHook = Callable[[Load, "Threads"], Value]


NOBODY = -1
"""In place of the threads of a row: nothing that asks which thread this is has an answer."""


def unknown_load(load: Load, threads: Threads) -> Value:
    """What memory holds is not known."""
    return None


@dataclass(frozen=True)
class Threads:
    """Active threads: their linear indices in the block, and the values of variables in each.

    `row` is the extent of threadIdx.x; 0 means that of the whole block, and `NOBODY` that the
    indices do not name known threads.
    """

    ids: np.ndarray
    values: Mapping[Var, Value] = field(default_factory=dict)
    load: LoadHook = unknown_load
    row: int = 0

    @property
    def count(self) -> int:
        return len(self.ids)

    def bind(self, var: Var, value: Value) -> Threads:
        """The same threads with one more variable."""
        return Threads(self.ids, {**self.values, var: value}, self.load, self.row)

    def where(self, mask: np.ndarray) -> Threads:
        """Only the threads for which `mask` holds."""
        values = {
            var: value[mask] if isinstance(value, np.ndarray) else value
            for var, value in self.values.items()
        }
        return Threads(self.ids[mask], values, self.load, self.row)

    def repeated(self, var: Var, choices: np.ndarray) -> Threads:
        """Every thread once for each choice of `var`: a whole loop at once, as more threads."""
        values: dict[Var, Value] = {
            known: np.repeat(value, len(choices)) if isinstance(value, np.ndarray) else value
            for known, value in self.values.items()
        }
        values[var] = np.tile(choices, len(self.ids))
        return Threads(np.repeat(self.ids, len(choices)), values, self.load, self.row)


def all_threads(axes: Mapping[str, int]) -> Threads:
    """All threads of a block with these extents of its axes."""
    return Threads(np.arange(math.prod(axes.values())), row=axes.get(AXES[0], 1))


def axis_index(tag: str, axes: Mapping[str, int], threads: Threads) -> Value:
    """What an axis of the block is in each thread; None for one that is none of its axes."""
    if tag not in axes:
        return None
    return threads.ids // stride_of(tag, axes) % axes[tag]


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
_SHIFTS = ("shift_left", "shift_right")
_GROWING = ("add", "sub", "mul", "ceildiv", "shift_left")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_PASS_THROUGH = ("likely", "tvm_thread_invariant", "assume_value")
_ARITHMETIC = ("and", "or", "not", *CHOICES, "cast", *_PASS_THROUGH)
_LARGEST = 2**63 - 1

Typed = tuple[Value, int, int | None]
"""A value, the bits of its type where that is unsigned, else 0, and a number that no magnitude in
it is above: None where that is not known."""

UNKNOWN: Typed = (None, 0, None)


def evaluate(expr: Expr, threads: Threads) -> Value:
    """The value of an integer expression for the active threads."""
    return _typed(expr, threads)[0]


def unsigned_type(expr: Expr) -> int:
    """The bits of an expression's type where that is unsigned, as far as it shows; else 0."""
    return _typed(expr, Threads(np.arange(1)))[1]


def _typed(expr: Expr, threads: Threads) -> Typed:
    """The value of an expression, the bits of its unsigned type (0 if signed), and a bound of
    |value|.
    """
    if isinstance(expr, Const):
        is_number = isinstance(expr.value, int) and abs(expr.value) <= _LARGEST
        return (int(expr.value), 0, None) if is_number else UNKNOWN
    if isinstance(expr, Var):
        return threads.values.get(expr), expr.unsigned, None
    if isinstance(expr, Load):
        return threads.load(expr, threads), unsigned_bits(expr.buffer.dtype), None
    if not isinstance(expr, Call):
        return UNKNOWN
    if expr.op in _BINARY and len(expr.args) == 2:
        return _binary(expr.op, *(_typed(arg, threads) for arg in expr.args))
    if expr.op in ("and", "or"):
        return _logical(expr, threads), 0, 1
    if expr.op == "not":
        operand = evaluate(expr.args[0], threads)
        return (None if operand is None else _plain(np.equal(operand, 0))), 0, 1
    if expr.op in CHOICES and len(expr.args) == 3:
        return _select(*(_typed(arg, threads) for arg in expr.args))
    if expr.op == "cast" and len(expr.args) == 2:
        return _cast(expr, threads)
    if expr.op in _PASS_THROUGH and len(expr.args) == 1:
        return _typed(expr.args[0], threads)
    if expr.op == "let" and isinstance(expr.args[0], Var):
        value = evaluate(expr.args[1], threads)
        return _typed(expr.args[2], threads.bind(expr.args[0], value))
    return _thread_query(expr, threads), 0, None


def _plain(value: Any) -> Value:
    """Booleans as integers, one-element results as ints."""
    if isinstance(value, int):
        return int(value)
    array = np.asarray(value)
    return int(array) if array.ndim == 0 else array.astype(np.int64, copy=False)


def _binary(op: str, left: Typed, right: Typed) -> Typed:
    """Both operands have one type in TIR; a literal does not say which."""
    a, b, bits = left[0], right[0], max(left[1], right[1])
    if a is None or b is None:
        # x * 0 is 0 and x % 1 is 0, whatever x is.
        zero = (op == "mul" and (_is(a, 0) or _is(b, 0))) or (
            op in ("floormod", "mod") and _is(b, 1)
        )
        return (0 if zero else None), 0 if op in _COMPARISONS else bits, None
    if op in _DIVISIONS and _has_zero(b):
        return None, bits, None
    if op in _COMPARISONS:
        return _plain(_BINARY[op](a, b)), 0, 1
    if op in _SHIFTS and (np.any(np.less(b, 0)) or np.any(np.greater_equal(b, bits or 64))):
        return None, bits, None
    if op == "mul" and bits == 32:
        left32, right32 = (np.asarray(np.asarray(one) % 2**32, dtype=np.uint64) for one in (a, b))
        return _plain(left32 * right32 % np.uint64(2**32)), bits, None
    most = _result_bound(op, left, right)
    if most is not None and most > _LARGEST:
        most = _grown_bound(op, _magnitude(a), _magnitude(b))
        if most > _LARGEST:  # it may not fit into the int64 that it is computed in
            return None, bits, None
    return _wrapped(_plain(_BINARY[op](a, b)), bits), bits, None if bits else most


def _has_zero(value: int | np.ndarray) -> bool:
    return value == 0 if isinstance(value, int) else bool(np.any(np.equal(value, 0)))


def _result_bound(op: str, left: Typed, right: Typed) -> int | None:
    """An upper bound of the result's absolute value, from two known operands, if one is tracked.

    Operations that can make numbers larger always get a bound.
    """
    if op in _GROWING:
        return _grown_bound(op, _bound(left), _bound(right))
    if op in ("floordiv", "div"):
        return left[2]
    if op in ("floormod", "mod"):
        return abs(right[0]) if isinstance(right[0], int) else right[2]
    return None


def _grown_bound(op: str, left: int, right: int) -> int:
    """An upper bound of |result| from upper bounds of the absolute values of both operands."""
    if op == "mul":
        return left * right
    return left << min(right, 64) if op == "shift_left" else left + right


def _bound(typed: Typed) -> int:
    value, _, most = typed
    return _magnitude(value) if most is None or isinstance(value, int) else most


def _magnitude(value: Value) -> int:
    if isinstance(value, int):
        return abs(value)
    assert value is not None
    return max(abs(int(value.min())), abs(int(value.max()))) if value.size else 0


def _wrapped(value: Value, bits: int) -> Value:
    """The result of an unsigned operation of `bits` bits, reduced modulo 2^32 where it wraps.

    None where wrapping is not certain: CUDA computes 8 and 16 bits as int, so that a store in
    between decides whether they wrap, and 64 bits do not fit the arrays used here.
    """
    if not bits or value is None:
        return value
    if np.all(np.greater_equal(value, 0)) and (bits >= 63 or np.all(np.less(value, 1 << bits))):
        return value
    return _plain(np.asarray(value) % (1 << 32)) if bits == 32 else None


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


def _select(chooser: Typed, one: Typed, other: Typed) -> Typed:
    """The value of `condition ? one : other`; where one side is unknown, no thread may take it."""
    condition, then, orelse = chooser[0], one[0], other[0]
    bits = max(one[1], other[1])
    if condition is None:
        return None, bits, None
    if isinstance(condition, int):
        return (then if condition else orelse), bits, None
    if then is None or orelse is None:
        chosen = then if orelse is None else orelse
        wanted = bool(orelse is None)
        return (chosen if np.all(np.not_equal(condition, 0) == wanted) else None), bits, None
    return _plain(np.where(np.not_equal(condition, 0), then, orelse)), bits, None


def _cast(expr: Call, threads: Threads) -> Typed:
    """The value of a cast to an integer type, wrapped into its range; unknown for other types."""
    dtype = expr.args[0]
    match = _INTEGER.match(str(dtype.value)) if isinstance(dtype, Const) else None
    unsigned = unsigned_bits(str(dtype.value)) if isinstance(dtype, Const) else 0
    value = evaluate(expr.args[1], threads) if match is not None else None
    if match is None or value is None:
        return None, unsigned, None
    if match.group(1) == "bool":
        return _plain(np.not_equal(value, 0)), 0, 1
    bits = int(match.group(2) or 32)
    if bits >= 64:
        return _wrapped(value, unsigned), unsigned, None
    half = 0 if unsigned else 1 << (bits - 1)
    return _plain((np.asarray(value) + half) % (1 << bits) - half), unsigned, None


def is_arithmetic(call: Call) -> bool:
    """Whether a result follows from the operands alone, in every thread and at every time."""
    return call.op in _ARITHMETIC or call.op in _BINARY


def wraps(expr: Expr) -> bool:
    """Whether an expression has an unsigned part, whose sums wrap."""
    return any(
        (isinstance(node, Var) and node.unsigned > 0)
        or (isinstance(node, Load) and unsigned_bits(node.buffer.dtype) > 0)
        or (isinstance(node, Call) and node.op == "cast" and unsigned_type(node) > 0)
        for node in walk(expr)
    )


def is_integer(dtype: str) -> bool:
    """Whether a type is one of whole numbers, or of truth values."""
    return _INTEGER.match(dtype) is not None


def holds(dtype: str, value: Value) -> bool:
    """Whether every value lies in the range of an integer type, so that storing it
    changes nothing.
    """
    match = _INTEGER.match(dtype)
    if match is None or value is None:
        return False
    bits = 1 if match.group(1) == "bool" else int(match.group(2) or 32)
    signed = match.group(1) == "int"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return bool(np.all(np.greater_equal(value, least)) and np.all(np.less_equal(value, most)))


def _thread_query(expr: Call, threads: Threads) -> Value:
    """The value of an intrinsic that asks for the thread's own index: elected, warp or lane index.

    None for other calls, and for groups whose thread indices are unknown (`NOBODY`).
    """
    if threads.row == NOBODY:
        return None
    if expr.op == "tl_shuffle_elect" and len(expr.args) == 1:
        return _elected(evaluate(expr.args[0], threads), threads)
    if expr.op in ("get_warp_idx", "get_warp_idx_sync") and not expr.args:
        return threads.ids // 32
    if expr.op == "get_lane_idx" and not expr.args:
        return threads.ids % 32
    return None


def _elected(group: Value, threads: Threads) -> Value:
    """For each thread 1 if `tl_shuffle_elect(group)` elects it, else 0; None where that is unknown.

    One thread is elected in the first warp of each `group` threads; `group` 0 means one in the
    block. TileLang and CUTLASS number warps by the threadIdx.x of their first thread. The elected
    thread is the first of its warp, if it is active.
    """
    if not isinstance(group, int) or group < 0 or group % 32:
        return None
    first = threads.ids // 32 * 32
    if not np.isin(first, threads.ids).all():
        return None
    warp = (first % threads.row if threads.row else first) // 32
    if group:
        warp = warp % (group // 32)
    return _plain((threads.ids == first) & (warp == 0))
