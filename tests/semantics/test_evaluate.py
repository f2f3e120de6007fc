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
from smemreuse.ir.types import NO_INTEGER
from smemreuse.semantics.evaluate import (
    Parted,
    Threads,
    Value,
    dtype_of,
    evaluate,
    holds,
    require_alike,
    wraps,
)

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
literals = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1)).map(
    lambda value: Const(value, "uint32")
)
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
        (call("sub", Var("u", "uint32"), 8), None),
        (call("sub", 5, 6), -1),
        (call("shift_left", 1, 30), 2**30),
        (call("shift_left", 1, 31), None),
        (call("shift_left", Const(1, "int64"), 62), 2**62),
        (call("shift_left", Const(1, "int64"), 63), None),
        (call("shift_left", 1, 10**11), None),
        (call("mul", 2**40, 2**40), None),
        (call("add", 2**63 - 1, 1), None),
        (Const(2**70), None),
        (call("mul", call("shift_left", 1, 10**11), 0), 0),
        (call("mul", call("mul", 2**40, 2**30), 0), 0),
    ],
    ids=str,
)
def test_what_does_not_fit_is_not_known(expr: Expr, value: int | None) -> None:
    assert evaluate(expr, THREADS) == value


def test_a_large_constant_and_an_array_do_not_overflow() -> None:
    huge = call("mul", call("cast", "int64", TX), 6_364_136_223_846_793_005)
    assert evaluate(call("bitwise_and", huge, 127), THREADS) is None


def test_what_turns_out_small_is_known_however_large_it_might_have_been() -> None:
    """Of what is computed on the way only a bound is known; where that does not do it is looked."""
    even = call("floormod", TX, 2)
    large = call("mul", even, 2**60)
    small = call("sub", large, call("mul", even, 2**60 - 3))
    expected = VALUES % 2 * 3
    for expr, factor in (
        (call("mul", small, 2**50), 2**50),
        (call("mul", call("floordiv", large, 2**59), 2**50), 2**51 / 3),
        (call("shift_left", call("min", small, 1), 40), 2**40 / 3),
    ):
        assert np.array_equal(np.asarray(evaluate(expr, THREADS)), expected * factor)
    shifted = call("shift_left", 1, call("floordiv", large, 2**58))
    assert np.array_equal(np.asarray(evaluate(shifted, THREADS)), np.where(VALUES % 2, 16, 1))
    assert evaluate(call("mul", large, 8), THREADS) is None


def test_types_that_are_unsigned() -> None:
    held = Load(Buffer("X", "uint16", (Const(4),), "local"), (Const(0),))
    assert dtype_of(UNSIGNED) == dtype_of(call("add", UNSIGNED, 1)) == "uint32"
    assert dtype_of(call("lt", UNSIGNED, 1)) == "bool"
    assert dtype_of(call("select", call("lt", TX, 1), held, 1)) == "uint16"
    assert dtype_of(call("cast", "int32", UNSIGNED)) == dtype_of(TX) == ""
    assert dtype_of(Var("u", "uint64")) == "uint64"
    assert dtype_of(call("mangle", TX)) == dtype_of(call("cast", "float32", TX)) == NO_INTEGER


def test_what_a_type_holds() -> None:
    assert holds("int8", 127)
    assert not holds("int8", 128)
    assert holds("uint8", np.array([0, 255]))
    assert not holds("uint8", np.array([0, 256]))
    assert not holds("uint32", -1)
    assert holds("bool", 1)
    assert not holds("float32", 1)
    assert not holds("int32", None)


# What is not known ------------------------------------------------------------------------------

UNKNOWN = Var("data")
SMALL = Threads(np.arange(4), {TX: np.arange(4)})


def plain(value: Value) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (UNKNOWN, None),
        (call("add", UNKNOWN, 1), None),
        (call("mul", UNKNOWN, 0), 0),
        (call("floormod", UNKNOWN, 1), 0),
        (call("and", UNKNOWN, 0), 0),
        (call("and", 0, UNKNOWN), 0),
        (call("and", UNKNOWN, 1), None),
        (call("or", UNKNOWN, 1), 1),
        (call("or", UNKNOWN, 0), None),
        (call("or", UNKNOWN, call("lt", TX, 9)), 1),
        (call("or", UNKNOWN, call("lt", TX, 3)), None),
        (call("not", UNKNOWN), None),
        (call("select", UNKNOWN, 1, 1), None),
        (call("select", 1, 5, UNKNOWN), 5),
        (call("select", 0, 5, UNKNOWN), None),
        (call("if_then_else", call("lt", TX, 9), TX, UNKNOWN), [0, 1, 2, 3]),
        (call("if_then_else", call("lt", TX, 3), TX, UNKNOWN), None),
        (call("floordiv", 5, 0), None),
        (call("floormod", 5, call("sub", TX, 2)), None),  # for one thread
        (call("mangle", 1, 2), None),
        (Const(0.5), None),
        (Const("text"), None),
    ],
    ids=str,
)
def test_what_is_not_known_is_not_made_up(expr: Expr, value: object) -> None:
    assert plain(evaluate(expr, SMALL)) == value


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (call("floordiv", -7, 2), -4),
        (call("floormod", -7, 2), 1),
        (call("div", -7, 2), -3),
        (call("mod", -7, 2), -1),
        (call("div", 7, -2), -3),
        (call("ceildiv", 7, 2), 4),
        (call("not", call("lt", TX, 2)), [0, 0, 1, 1]),
        (call("and", call("lt", TX, 3), call("gt", TX, 1)), [0, 0, 1, 0]),
        (call("cast", "int8", 200), -56),
        (call("cast", "bool", 200), 1),
        (call("cast", "uint8", -1), 255),
        (call("cast", "int64", 2**40), 2**40),
        (call("cast", "float32", 1), None),
        (call("likely", TX), [0, 1, 2, 3]),
        (call("let", Var("v"), 3, 4), 4),
        (call("shift_right", -8, 1), -4),
        (Const(True), 1),
    ],
    ids=str,
)
def test_operators_are_those_of_tir(expr: Expr, value: object) -> None:
    assert plain(evaluate(expr, SMALL)) == value


def test_a_variable_inside_an_expression_has_its_value_there() -> None:
    var = Var("v")
    assert plain(evaluate(call("let", var, call("add", TX, 1), call("mul", var, 2)), SMALL)) == [
        2,
        4,
        6,
        8,
    ]
    assert evaluate(var, SMALL) is None


def test_what_is_loaded_is_asked_for_with_those_who_ask() -> None:
    held = Load(Buffer("c", "int32", (Const(4),), "local"), (Const(0),))
    threads = Threads(np.array([5, 7]), {}, lambda load, asking: asking.ids * 2)
    assert plain(evaluate(call("add", held, 1), threads)) == [11, 15]
    assert evaluate(held, SMALL) is None


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (call("get_warp_idx"), [0, 1, 1, 4]),
        (call("get_warp_idx_sync"), [0, 1, 1, 4]),
        (call("get_lane_idx"), [0, 0, 5, 0]),
        (call("tl_shuffle_elect", 0), [1, 0, 0, 0]),
        (call("tl_shuffle_elect", 32), [1, 1, 0, 1]),
        (call("tl_shuffle_elect", 128), [1, 0, 0, 1]),
        (call("tl_shuffle_elect", UNKNOWN), None),
        (call("get_lane_idx", 64), None),  # another size of warps
    ],
    ids=str,
)
def test_which_thread_asks(expr: Expr, value: object) -> None:
    assert plain(evaluate(expr, Threads(np.array([0, 32, 37, 128])))) == value


@pytest.mark.parametrize(
    ("row", "group", "elected"),
    [
        (0, 0, [0]),
        (128, 0, [0]),
        (32, 0, [0, 32, 64, 96]),  # each warp is a row, and the first of its row
        (64, 0, [0, 64]),
        (1, 0, [0, 32, 64, 96]),
        (64, 32, [0, 32, 64, 96]),
        (64, 64, [0, 64]),
    ],
)
def test_warps_are_counted_along_x(row: int, group: int, elected: list[int]) -> None:
    found = evaluate(call("tl_shuffle_elect", group), Threads(np.arange(128), row=row))
    assert np.flatnonzero(np.asarray(found)).tolist() == elected


def test_who_is_elected_of_half_a_warp_is_not_known() -> None:
    assert evaluate(call("tl_shuffle_elect", 0), Threads(np.arange(4, 32))) is None
    assert evaluate(call("tl_shuffle_elect", 16), Threads(np.arange(32))) is None


# Threads ------------------------------------------------------------------------------------------


def test_some_of_the_threads_keep_their_values() -> None:
    some = SMALL.bind(UNKNOWN, None).bind(Var("k"), 7).where(np.array([False, True, False, True]))
    assert some.ids.tolist() == [1, 3]
    assert plain(some.values[TX]) == [1, 3]
    assert [plain(value) for value in some.values.values()] == [[1, 3], None, 7]
    assert some.count == 2


def test_a_binding_leaves_the_other_threads_alone() -> None:
    var = Var("k")
    assert SMALL.bind(var, 7).values[var] == 7
    assert var not in SMALL.values


def test_every_thread_has_every_choice_once() -> None:
    var = Var("k")
    repeated = SMALL.where(np.array([True, True, False, False])).repeated(var, np.array([5, 6]))
    assert repeated.ids.tolist() == [0, 0, 1, 1]
    assert plain(repeated.values[TX]) == [0, 0, 1, 1]
    assert plain(repeated.values[var]) == [5, 6, 5, 6]


def test_only_iterations_that_are_there_at_once_may_part() -> None:
    """They do where a condition is not known; `args` name their loops."""
    one, two, each = Var("i"), Var("k"), np.arange(2)
    require_alike(UNKNOWN, SMALL)
    repeated = SMALL.repeated(one, each).repeated(two, each)
    some = repeated.bind(Var("n"), 1).where(np.arange(len(repeated.ids)) > 2)
    require_alike(call("lt", one, two), some)
    with pytest.raises(Parted) as parted:
        require_alike(call("lt", one, UNKNOWN), some)
    assert parted.value.args == (one, two)


def test_what_wraps_has_something_unsigned_in_it() -> None:
    assert wraps(call("add", UNSIGNED, 1))
    assert wraps(call("add", TX, Var("u", "uint32")))
    assert wraps(Load(Buffer("X", "uint16", (Const(4),), "local"), (Const(0),)))
    assert not wraps(call("add", TX, 1))
    assert not wraps(call("cast", "int32", TX))
