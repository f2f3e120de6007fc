"""Arithmetic of TIR's integer types, as C has it, on the values of many threads at once.

Unsigned numbers of 32 bits wrap. What C leaves undefined (overflow of a signed type, a shift by too
much, a division by zero) is unknown, and so is what does not fit the int64 of these arrays. So are
sums of 8 and 16 bits that leave their type: CUDA computes them as `int`, so that a store in between
decides whether they wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from smemreuse.ir.types import (
    BOOL,
    INT32,
    INT64,
    LITERAL,
    IntegerType,
    common_type,
    integer_type,
    literal_type,
)

Value = int | np.ndarray | None

Typed = tuple[Value, IntegerType | None, int | None]
"""A value, its type (None if unknown, or no integer's), and a number that no magnitude in it is
above: None where that is not known."""

UNKNOWN: Typed = (None, None, None)

_LARGEST = 2**63 - 1


def _trunc_div(a: Any, b: Any) -> Any:
    quotient = np.abs(a) // np.abs(b)
    return np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -quotient, quotient)


def _trunc_mod(a: Any, b: Any) -> Any:
    return a - _trunc_div(a, b) * b


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
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
_DIVISIONS = ("floordiv", "floormod", "div", "mod", "ceildiv")
_SHIFTS = ("shift_left", "shift_right")
_GROWING = ("add", "sub", "mul", "shift_left")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def literal(value: int, dtype: str) -> Typed:
    """An integer literal; unknown if its type, or int64, does not hold it."""
    kind = literal_type(value, dtype)
    if kind is None or value > _LARGEST:
        return None, integer_type(dtype), None
    return int(value), kind, None


def plain(value: Any) -> Value:
    """Booleans as integers, one-element results as ints."""
    if isinstance(value, int):
        return int(value)
    array = np.asarray(value)
    return int(array) if array.ndim == 0 else array.astype(np.int64, copy=False)


def binary(op: str, left: Typed, right: Typed) -> Typed:
    """The result of an operator of two operands."""
    kind = operand_type(left, right)
    result = BOOL if op in COMPARISONS else kind
    a, b = left[0], right[0]
    if a is None or b is None:
        # x * 0 is 0 and x % 1 is 0, whatever integer x is.
        zero = (op == "mul" and (_is(a, 0) or _is(b, 0))) or (
            op in ("floormod", "mod") and _is(b, 1)
        )
        return (0 if zero and kind is not None else None), result, None
    if op in COMPARISONS:
        return (plain(BINARY[op](a, b)) if _comparable(kind, left, right) else None), BOOL, 1
    if kind is None or (op in _DIVISIONS and _has_zero(b)):
        return None, result, None
    if op in _SHIFTS and (np.any(np.less(b, 0)) or np.any(np.greater_equal(b, kind.bits))):
        return None, kind, None
    if op == "ceildiv":
        return _ceildiv(left, right)
    if op == "mul" and kind.wraps and kind.bits == 32:
        left32, right32 = (np.asarray(np.asarray(one) % 2**32, dtype=np.uint64) for one in (a, b))
        return plain(left32 * right32 % np.uint64(2**32)), kind, None
    most = _result_bound(op, left, right)
    if most is not None and most > _LARGEST:
        most = _grown_bound(op, magnitude(a), magnitude(b))
        if most > _LARGEST:  # it may not fit into the int64 that it is computed in
            return None, kind, None
    return _fitted(plain(BINARY[op](a, b)), kind, most)


def operand_type(left: Typed, right: Typed) -> IntegerType | None:
    """The type in which both operands are computed; None if unknown, or if a literal has no place
    in the type of the other operand."""
    kind = common_type(left[1], right[1])
    if kind is None or kind is LITERAL or left[1] is right[1]:
        return kind
    value = left[0] if left[1] is LITERAL else right[0] if right[1] is LITERAL else None
    if value is None or within(value, kind):
        return kind
    return INT32 if kind.is_signed else None  # C computes what is narrower as int


def _comparable(kind: IntegerType | None, left: Typed, right: Typed) -> bool:
    """Whether the numbers compare as they are: in their type, or, whatever the type that C or TVM
    takes, because none is negative."""
    if kind is not None:
        return True
    known = left[1] is not None and right[1] is not None
    return known and all(_least(one[0]) >= 0 for one in (left, right))


def _ceildiv(left: Typed, right: Typed) -> Typed:
    """`(a + b - 1) // b`, as TVM has it; of a negative divisor nothing is said."""
    if _least(right[0]) <= 0:
        return None, operand_type(left, right), None
    above = binary("sub", binary("add", left, right), literal(1, ""))
    return binary("floordiv", above, right)


def _fitted(value: Value, kind: IntegerType, most: int | None) -> Typed:
    """A result in its type: wrapped if that has 32 unsigned bits, else unknown if it is outside."""
    checked = most is not None or kind.wraps or kind is BOOL
    if not checked or (kind.is_signed and most is not None and most <= kind.most):
        return value, kind, most
    if within(value, kind):
        return value, kind, None if most is None else min(most, kind.most)
    if kind.wraps and kind.bits == 32:
        return plain(np.asarray(value) % (1 << 32)), kind, None
    return None, kind, None


def within(value: Value, kind: IntegerType) -> bool:
    """Whether a type holds every value."""
    if isinstance(value, int):
        return kind.least <= value <= kind.most
    assert value is not None
    return kind.least <= int(value.min(initial=0)) and int(value.max(initial=0)) <= kind.most


def _has_zero(value: int | np.ndarray) -> bool:
    return value == 0 if isinstance(value, int) else bool(np.any(np.equal(value, 0)))


def _result_bound(op: str, left: Typed, right: Typed) -> int | None:
    """An upper bound of the result's absolute value, from two known operands, if one is tracked.

    Operations that can make numbers larger always get a bound; so does the quotient of the least
    number by -1.
    """
    if op in _GROWING:
        return _grown_bound(op, _bound(left), _bound(right))
    if op in ("floordiv", "div"):
        return _bound(left) if _least(right[0]) < 0 else left[2]
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
    return magnitude(value) if most is None or isinstance(value, int) else most


def magnitude(value: Value) -> int:
    """The greatest absolute value."""
    if isinstance(value, int):
        return abs(value)
    assert value is not None
    return max(abs(int(value.min())), abs(int(value.max()))) if value.size else 0


def _least(value: Value) -> int:
    if isinstance(value, int):
        return value
    assert value is not None
    return int(value.min()) if value.size else 1


def _is(value: Value, number: int) -> bool:
    return isinstance(value, int) and value == number


def complement(operand: Typed) -> Typed:
    """`~x`; unknown where `int` decides what becomes of the bits above."""
    value, kind, most = operand
    if value is None or kind is None:
        return None, kind, None
    if kind.is_signed:
        return plain(-1 - np.asarray(value)), kind, None if most is None else most + 1
    if kind.wraps and kind.bits == 32:
        return plain(kind.most - np.asarray(value)), kind, None
    return None, kind, None


def chosen(condition: Value, one: Typed, other: Typed) -> Typed:
    """The value of `condition ? one : other`; where one side is unknown, no thread may take it."""
    kind = operand_type(one, other)
    then, orelse = one[0], other[0]
    if condition is None or kind is None:
        return None, kind, None
    if isinstance(condition, int):
        return (then if condition else orelse), kind, None
    if then is None or orelse is None:
        value = then if orelse is None else orelse
        wanted = bool(orelse is None)
        return (value if np.all(np.not_equal(condition, 0) == wanted) else None), kind, None
    return plain(np.where(np.not_equal(condition, 0), then, orelse)), kind, None


def cast(value: Value, dtype: str) -> Typed:
    """A known integer in another integer type; unknown for other types, and for vectors."""
    kind = integer_type(dtype)
    if kind is None or value is None or kind.name != (dtype if dtype != "int" else "int32"):
        return None, kind, None
    if kind is BOOL:
        return plain(np.not_equal(value, 0)), BOOL, 1
    if kind.bits == 64:
        fits = kind is INT64 or _least(value) >= 0
        return (value if fits else None), kind, None
    return plain((np.asarray(value) - kind.least) % (1 << kind.bits) + kind.least), kind, None
