"""Random typed expressions as text, with their values by NumPy in exactly that type.

`Typed.values` has an entry for each thread and round; `defined` is False where C leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

THREADS, ROUNDS = 6, 40
TX = np.repeat(np.arange(THREADS), ROUNDS)
K = np.tile(np.arange(ROUNDS), THREADS)
TYPES = ("int32", "uint32", "int64", "uint64", "uint8", "int8", "uint16", "bool")


@dataclass(frozen=True)
class Typed:
    """An expression: its text, where `T` is the prefix, its type and its values."""

    text: str
    dtype: str
    values: np.ndarray
    defined: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """The values as Python's integers."""
        return self.values.astype(object)


EVERYWHERE = np.ones(len(TX), dtype=bool)


def literal(value: int, dtype: str) -> Typed:
    text = str(value) if dtype == "int32" else f"T.{dtype}({value})"
    if dtype == "bool":
        text = f"T.bool({bool(value)})"
    return Typed(text, dtype, np.full(len(TX), value, dtype=dtype), EVERYWHERE)


def _truncated(a: Any, b: Any) -> Any:
    """The quotient in Python's integers, rounded towards zero."""
    return np.array(
        [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)],
        dtype=object,
    )


Operator = Callable[[Any, Any], Any]
SIMPLE: dict[str, tuple[str, Operator]] = {
    "add": ("({} + {})", lambda a, b: a + b),
    "sub": ("({} - {})", lambda a, b: a - b),
    "mul": ("({} * {})", lambda a, b: a * b),
    "min": ("T.min({}, {})", np.minimum),
    "max": ("T.max({}, {})", np.maximum),
    "and": ("({} & {})", lambda a, b: a & b),
    "or": ("({} | {})", lambda a, b: a | b),
    "xor": ("T.bitwise_xor({}, {})", lambda a, b: a ^ b),
    "floordiv": ("({} // {})", lambda a, b: a // b),
    "floormod": ("({} % {})", lambda a, b: a % b),
    "truncdiv": ("T.Div({}, {})", _truncated),
    "truncmod": ("T.truncmod({}, {})", lambda a, b: a - _truncated(a, b) * b),
    "shl": ("({} << {})", lambda a, b: a << b),
    "shr": ("T.shift_right({}, {})", lambda a, b: a >> b),
}
COMPARISONS: dict[str, Operator] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def combined(op: str, one: Typed, other: Typed) -> Typed:
    """An operator of two operands of one type."""
    text, apply = SIMPLE[op]
    kind = np.dtype(one.dtype)
    bits, defined = kind.itemsize * 8, one.defined & other.defined
    a, b = one.exact, other.exact
    if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
        defined = defined & (b != 0)
    if op in ("shl", "shr"):
        defined = defined & (b >= 0) & (b < bits)
    safe = np.where(defined, b, 1)
    found = apply(a, safe)
    if kind.kind == "i":
        defined = defined & (found >= np.iinfo(kind).min) & (found <= np.iinfo(kind).max)
    wrapped = np.array([int(value) % (1 << bits) for value in found], dtype=f"u{kind.itemsize}")
    return Typed(text.format(one.text, other.text), one.dtype, wrapped.astype(kind), defined)


def compared(op: str, one: Typed, other: Typed) -> Typed:
    values = COMPARISONS[op](one.values, other.values)
    text = f"({one.text} {op} {other.text})"
    return Typed(text, "bool", values, one.defined & other.defined)


def converted(dtype: str, one: Typed, short: bool) -> Typed:
    text = f"T.{dtype}({one.text})" if short else f'T.Cast("{dtype}", {one.text})'
    return Typed(text, dtype, one.values.astype(dtype), one.defined)


def selected(condition: Typed, one: Typed, other: Typed, name: str) -> Typed:
    chosen = condition.values.astype(bool)
    defined = condition.defined & np.where(chosen, one.defined, other.defined)
    text = f"T.{name}({condition.text}, {one.text}, {other.text})"
    return Typed(text, one.dtype, np.where(chosen, one.values, other.values), defined)


def joined(op: str, one: Typed, other: Typed) -> Typed:
    apply = np.logical_and if op == "and" else np.logical_or
    decided = one.values.astype(bool) == (op == "or")
    return Typed(
        f"({one.text} {op} {other.text})",
        "bool",
        apply(one.values, other.values),
        one.defined & (decided | other.defined),
    )


def negated(one: Typed) -> Typed:
    if one.dtype == "bool":
        return Typed(f"(not {one.text})", "bool", ~one.values, one.defined)
    return Typed(f"(~{one.text})", one.dtype, np.invert(one.values), one.defined)


def edges(dtype: str) -> st.SearchStrategy[int]:
    """Values of a type: small ones, and those at its ends."""
    if dtype == "bool":
        return st.integers(0, 1)
    info = np.iinfo(dtype)
    ends = st.sampled_from((0, 1, 2, 3, 4, 7, 8, 31, 32, 64, int(info.max), int(info.max) // 2))
    return st.one_of(ends, st.integers(0, 9), st.integers(int(info.min), int(info.max)))


@st.composite
def typed(draw: st.DrawFn, tx_type: str, k_type: str, dtype: str = "", depth: int = 3) -> Typed:
    """An expression of `tx` and `k`, whose types are given."""
    dtype = dtype or draw(st.sampled_from(TYPES))
    leaves = [
        "literal",
        *(["tx"] * 3 if dtype == tx_type else []),
        *(["k"] * 3 if dtype == k_type else []),
    ]
    inner = ["simple"] * 6 + ["cast"] * 4 + ["select", "not"]
    if dtype == "bool":
        inner = ["compare"] * 5 + ["join", "not", "select", "cast"]
    what = draw(st.sampled_from(leaves if depth == 0 else [*leaves, *inner]))
    if what == "literal":
        return literal(draw(edges(dtype)), dtype)
    if what in ("tx", "k"):
        return Typed(what, dtype, (TX if what == "tx" else K).astype(dtype), EVERYWHERE)

    def part(of: str) -> Typed:
        return draw(typed(tx_type, k_type, of, depth - 1))

    if what == "simple" and draw(st.booleans()):  # as indices are made
        op = draw(st.sampled_from(("add", "sub", "mul", "floordiv", "floormod")))
        return combined(op, part(dtype), literal(draw(st.integers(0, 9)), dtype))
    if what == "simple":
        return combined(draw(st.sampled_from([*SIMPLE])), part(dtype), part(dtype))
    if what == "compare":
        of = draw(st.sampled_from(TYPES[:-1]))
        return compared(draw(st.sampled_from([*COMPARISONS])), part(of), part(of))
    if what == "join":
        return joined(draw(st.sampled_from(("and", "or"))), part("bool"), part("bool"))
    if what == "not":
        return negated(part(dtype))
    if what == "select":
        name = draw(st.sampled_from(("Select", "if_then_else")))
        return selected(part("bool"), part(dtype), part(dtype), name)
    source = draw(st.sampled_from((tx_type, k_type, *TYPES)))
    return converted(dtype, part(source), draw(st.booleans()))
