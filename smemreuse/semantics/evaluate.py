"""Exact evaluation of integer expressions for all threads of a block at once, with NumPy.

A value is an int when every active thread has the same, an int64 array with one entry for each
active thread otherwise, and None when it cannot be known (data from memory, a block index).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Var, walk
from smemreuse.ir.launch import AXES, stride_of
from smemreuse.ir.types import BOOL, INT32, NO_INTEGER, integer_type
from smemreuse.semantics.integers import (
    BINARY,
    UNKNOWN,
    Typed,
    binary,
    cast,
    chosen,
    complement,
    literal,
    plain,
    within,
)
from smemreuse.semantics.integers import Value as Value

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
    indices do not name known threads. `rounds` are the variables of loops for each of whose
    iterations every thread is there once.
    """

    ids: np.ndarray
    values: Mapping[Var, Value] = field(default_factory=dict)
    load: LoadHook = unknown_load
    row: int = 0
    rounds: tuple[Var, ...] = ()

    @property
    def count(self) -> int:
        return len(self.ids)

    def bind(self, var: Var, value: Value) -> Threads:
        """The same threads with one more variable."""
        values = {**self.values, var: value}
        return Threads(self.ids, values, self.load, self.row, self.rounds)

    def where(self, mask: np.ndarray) -> Threads:
        """Only the threads for which `mask` holds."""
        values = {
            var: value[mask] if isinstance(value, np.ndarray) else value
            for var, value in self.values.items()
        }
        return Threads(self.ids[mask], values, self.load, self.row, self.rounds)

    def repeated(self, var: Var, choices: np.ndarray) -> Threads:
        """Every thread once for each choice of `var`: a whole loop at once, as more threads."""
        values: dict[Var, Value] = {
            known: np.repeat(value, len(choices)) if isinstance(value, np.ndarray) else value
            for known, value in self.values.items()
        }
        values[var] = np.tile(choices, len(self.ids))
        ids = np.repeat(self.ids, len(choices))
        return Threads(ids, values, self.load, self.row, (*self.rounds, var))


def all_threads(axes: Mapping[str, int]) -> Threads:
    """All threads of a block with these extents of its axes."""
    return Threads(np.arange(math.prod(axes.values())), row=axes.get(AXES[0], 1))


def has_whole_warps(ids: np.ndarray, count: int) -> bool:
    """Whether of each warp of a block of `count` threads all are among `ids`, or none."""
    present = np.zeros(-(-count // 32) * 32, dtype=bool)
    present[ids] = True
    there = present.reshape(-1, 32).sum(axis=1)
    sizes = np.minimum(count - 32 * np.arange(len(there)), 32)
    return bool(((there == 0) | (there == sizes)).all())


def axis_index(tag: str, axes: Mapping[str, int], threads: Threads) -> Value:
    """What an axis of the block is in each thread; None for one that is none of its axes."""
    if tag not in axes:
        return None
    return threads.ids // stride_of(tag, axes) % axes[tag]


_PASS_THROUGH = ("likely", "tvm_thread_invariant", "assume_value")
_ARITHMETIC = ("and", "or", "not", "bitwise_not", *CHOICES, "cast", *_PASS_THROUGH)
_OF_THE_THREAD = ("get_warp_idx", "get_warp_idx_sync", "get_lane_idx", "tl_shuffle_elect")
_STATED = ("call_extern", "call_pure_extern", "call_intrin", "call_pure_intrin", "reinterpret")
"""Operations whose first operand is the type of the result."""
_SIGNED = ("let", "ramp", "broadcast", "tuple")
"""What has the type of its operands, none of which is unsigned where that is asked."""


def evaluate(expr: Expr, threads: Threads) -> Value:
    """The value of an integer expression for the active threads."""
    return _typed(expr, threads)[0]


class Parted(Exception):
    """Iterations that are there at once may take each an arm of its own; `args` are their loops'
    variables.
    """


def require_alike(condition: Expr, threads: Threads) -> None:
    """Raises `Parted` where a branch's condition is not known, and iterations are there at once."""
    if threads.rounds and evaluate(condition, threads) is None:
        raise Parted(*threads.rounds)


def dtype_of(expr: Expr) -> str:
    """The integer type of an expression, as of a variable that holds it: empty for `int32`."""
    kind = _typed(expr, Threads(np.arange(1)))[1]
    if kind is None:
        return NO_INTEGER
    return "" if kind is INT32 else kind.name


def _typed(expr: Expr, threads: Threads) -> Typed:
    """The value of an expression with its type, and a bound of |value|."""
    if isinstance(expr, Const):
        return literal(expr.value, expr.dtype) if isinstance(expr.value, int) else UNKNOWN
    if isinstance(expr, Var):
        return threads.values.get(expr), integer_type(expr.dtype), None
    if isinstance(expr, Load):
        return threads.load(expr, threads), integer_type(expr.buffer.dtype), None
    if not isinstance(expr, Call):
        return UNKNOWN
    if expr.op in BINARY and len(expr.args) == 2:
        return binary(expr.op, *(_typed(arg, threads) for arg in expr.args))
    if expr.op in ("and", "or"):
        return _logical(expr, threads), BOOL, 1
    if expr.op == "not":
        operand = evaluate(expr.args[0], threads)
        return (None if operand is None else plain(np.equal(operand, 0))), BOOL, 1
    if expr.op == "bitwise_not" and len(expr.args) == 1:
        return complement(_typed(expr.args[0], threads))
    if expr.op in CHOICES and len(expr.args) == 3:
        one, other = (_typed(arg, threads) for arg in expr.args[1:])
        return chosen(evaluate(expr.args[0], threads), one, other)
    if expr.op == "cast" and len(expr.args) == 2 and isinstance(expr.args[0], Const):
        return cast(evaluate(expr.args[1], threads), str(expr.args[0].value))
    if expr.op in _PASS_THROUGH and len(expr.args) == 1:
        return _typed(expr.args[0], threads)
    if expr.op == "let" and isinstance(expr.args[0], Var):
        value = evaluate(expr.args[1], threads)
        return _typed(expr.args[2], threads.bind(expr.args[0], value))
    if expr.op in _OF_THE_THREAD:
        return _thread_query(expr, threads), INT32, None
    if expr.op in _STATED and expr.args and isinstance(expr.args[0], Const):
        return None, integer_type(str(expr.args[0].value)), None
    return UNKNOWN


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
    return plain(combine(np.not_equal(left, 0), np.not_equal(right, 0)))


def is_arithmetic(call: Call) -> bool:
    """Whether a result follows from the operands alone, in every thread and at every time."""
    return call.op in _ARITHMETIC or call.op in BINARY


def wraps(expr: Expr) -> bool:
    """Whether an expression has a part that may be unsigned, whose sums wrap."""
    return any(map(_may_wrap, walk(expr)))


def _may_wrap(node: Expr) -> bool:
    """Whether a leaf, a conversion or the answer of an operation may be unsigned."""
    if isinstance(node, Load):
        dtype = node.buffer.dtype
    elif isinstance(node, Call) and node.op in ("cast", *_STATED):
        dtype = str(node.args[0].value) if isinstance(node.args[0], Const) else NO_INTEGER
    elif isinstance(node, Call):
        return not is_arithmetic(node) and node.op not in (*_OF_THE_THREAD, *_SIGNED)
    else:
        dtype = node.dtype if isinstance(node, (Const, Var)) else ""
    kind = integer_type(dtype)
    return dtype == NO_INTEGER or (kind is not None and kind.wraps)


def is_unsigned(expr: Expr) -> bool:
    """Whether an expression may be of an unsigned type, in which sums wrap."""
    if not wraps(expr):
        return False
    kind = integer_type(dtype_of(expr))
    return kind is None or kind.wraps


def is_integer(dtype: str) -> bool:
    """Whether a type is one of whole numbers, or of truth values, that is computed with here."""
    return integer_type(dtype) is not None and "x" not in dtype


def holds(dtype: str, value: Value) -> bool:
    """Whether every value lies in the range of an integer type, so that storing it
    changes nothing.
    """
    kind = integer_type(dtype) if is_integer(dtype) else None
    if kind is None or value is None:
        return False
    return within(value, kind)


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
    active = np.zeros(threads.ids.max(initial=-1) + 1, dtype=bool)  # `isin` takes far longer
    active[threads.ids] = True
    if not active[first].all():
        return None
    warp = (first % threads.row if threads.row else first) // 32
    if group:
        warp = warp % (group // 32)
    return plain((threads.ids == first) & (warp == 0))
