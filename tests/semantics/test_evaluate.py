"""Values of integer expressions, unsigned ones above all: those wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads, evaluate, holds, unsigned_type

TX = Var("tx")
VALUES = np.arange(-4, 60) * 1_000_003
THREADS = Threads(np.arange(len(VALUES)), {TX: VALUES})

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "lt": lambda a, b: (a < b).astype(np.uint32),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}


def call(op: str, *args: Expr | int | str) -> Call:
    return Call(op, tuple(Const(arg) if isinstance(arg, (int, str)) else arg for arg in args))


UNSIGNED = call("cast", "uint32", TX)
literals = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1)).map(Const)
expressions: st.SearchStrategy[Expr] = st.recursive(
    st.one_of(st.just(UNSIGNED), literals),
    lambda inner: st.builds(
        lambda op, one, two: call(op, call("cast", "uint32", one), two),
        st.sampled_from([*OPERATORS]),
        inner,
        inner,
    ),
    max_leaves=6,
)


def in_uint32(expr: Expr) -> np.ndarray | None:
    """What NumPy's own type makes of it; None where C++ leaves it open."""
    if isinstance(expr, Const):
        assert isinstance(expr.value, int)
        return np.full(len(VALUES), expr.value % 2**32, dtype=np.uint32)
    assert isinstance(expr, Call)
    if expr.op == "cast":
        inner = expr.args[1]
        return VALUES.astype(np.uint32) if inner is TX else in_uint32(inner)
    one, two = (in_uint32(arg) for arg in expr.args)
    if one is None or two is None:
        return None
    if expr.op in ("floordiv", "floormod") and (two == 0).any():
        return None
    if expr.op.startswith("shift") and (two >= 32).any():
        return None
    return np.asarray(OPERATORS[expr.op](one, two)).astype(np.uint32)


@given(expressions)
def test_32_bits_wrap_as_they_do_on_the_gpu(expr: Expr) -> None:
    expected, found = in_uint32(expr), evaluate(expr, THREADS)
    if expected is None:
        assert found is None or isinstance(expr, Call)
    else:
        assert found is not None
        assert np.array_equal(np.broadcast_to(np.asarray(found), expected.shape), expected)


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (call("sub", call("cast", "uint32", 5), 6), 2**32 - 1),
        (call("sub", call("cast", "uint8", 5), 6), None),  # -1 as int, 255 where it is stored
        (call("add", call("cast", "uint16", 65_535), 1), None),
        (call("sub", call("cast", "uint64", 5), 6), None),
        (call("add", call("cast", "uint64", 5), 6), 11),
        (call("sub", Var("u", 32), 8), None),
        (call("sub", 5, 6), -1),
        (call("shift_left", 1, 62), 2**62),
        (call("shift_left", 1, 63), None),
        (call("shift_left", 1, 10**11), None),
        (call("mul", 2**40, 2**40), None),
        (call("add", 2**63 - 1, 1), None),
        (Const(2**70), None),
        (call("mul", call("shift_left", 1, 10**11), 0), 0),
    ],
    ids=str,
)
def test_what_does_not_fit_is_not_known(expr: Expr, value: int | None) -> None:
    assert evaluate(expr, THREADS) == value


def test_a_large_constant_and_an_array_do_not_overflow() -> None:
    huge = call("mul", call("cast", "int64", TX), 6_364_136_223_846_793_005)
    assert evaluate(call("bitwise_and", huge, 127), THREADS) is None


def test_types_that_are_unsigned() -> None:
    held = Load(Buffer("X", "uint16", (Const(4),), "local"), (Const(0),))
    assert unsigned_type(UNSIGNED) == unsigned_type(call("add", UNSIGNED, 1)) == 32
    assert unsigned_type(call("lt", UNSIGNED, 1)) == 0
    assert unsigned_type(call("select", call("lt", TX, 1), held, 1)) == 16
    assert unsigned_type(call("cast", "int32", UNSIGNED)) == 0
    assert unsigned_type(Var("u", 64)) == 64


def test_what_a_type_holds() -> None:
    assert holds("int8", 127)
    assert not holds("int8", 128)
    assert holds("uint8", np.array([0, 255]))
    assert not holds("uint8", np.array([0, 256]))
    assert not holds("uint32", -1)
    assert holds("bool", 1)
    assert not holds("float32", 1)
    assert not holds("int32", None)
