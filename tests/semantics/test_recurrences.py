"""How values go on, for all numbers: what is concluded agrees with what is evaluated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.recurrences import (
    EACH_ROUND,
    STEADY,
    NoRecurrence,
    Recurrence,
    Recurrences,
)

K, N = Var("k"), Var("n")


def rows(expr: Expr, count: int, first: int = 0) -> np.ndarray | None:
    numbers = np.arange(first, first + count)
    value = evaluate(expr, Threads(numbers, {K: numbers}))
    return None if value is None else np.broadcast_to(value, (count,))


def recurrence(expr: Expr) -> Recurrence:
    return Recurrences({K: EACH_ROUND}, rows)(expr)


def op(name: str, one: Expr | int, two: Expr | int) -> Expr:
    return Call(name, tuple(Const(each) if isinstance(each, int) else each for each in (one, two)))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Const(7), STEADY),
        (N, STEADY),
        (K, EACH_ROUND),
        (op("mul", K, 32), Recurrence(0, 1, 32)),
        (op("floormod", K, 4), Recurrence(0, 4)),
        (op("floormod", op("floordiv", K, 3), 2), Recurrence(0, 6)),
        (op("floormod", op("mul", K, 6), 4), Recurrence(0, 2)),
        (op("bitwise_and", K, 3), Recurrence(0, 4)),
        (op("shift_right", K, 1), Recurrence(0, 2, 1)),
        (op("eq", K, 0), Recurrence(1, 1)),
        (op("lt", op("mul", K, 2), 9), Recurrence(5, 1)),
        (op("sub", op("add", K, N), K), STEADY),
        (op("and", op("eq", op("floormod", K, 2), 0), op("lt", K, 3)), Recurrence(4, 2)),
        (Call("cast", (Const("int64"), K)), EACH_ROUND),
    ],
)
def test_what_has_a_recurrence(expr: Expr, expected: Recurrence) -> None:
    assert recurrence(expr) == expected


@pytest.mark.parametrize(
    "expr",
    [
        op("mul", K, K),
        op("floormod", K, N),
        op("lt", K, N),
        op("bitwise_xor", K, 1),
        op("max", K, 3),
        op("mod", K, 4),
        op("eq", K, 100_000),
        op("floormod", K, 100_000),
        Call("cast", (Const("int8"), K)),
        op("floormod", Var("u", "uint32"), K),
        op("floormod", op("add", Var("u", "uint32"), K), 4),
        Load(Buffer("c", "int32", (Const(4),), "local"), (K,)),
    ],
)
def test_what_has_none(expr: Expr) -> None:
    with pytest.raises(NoRecurrence):
        recurrence(expr)


def test_what_memory_holds_is_not_known_in_any_round() -> None:
    assert recurrence(Load(Buffer("D", "int32", (Const(4),), "global"), (K,))) == STEADY


NUMBERS = st.integers(-40, 40)
EXPRESSIONS = st.recursive(
    st.one_of(st.just(K), NUMBERS.map(Const)),
    lambda inner: st.one_of(
        st.builds(op, st.sampled_from(["add", "sub"]), inner, inner),
        st.builds(op, st.just("mul"), inner, st.integers(0, 9)),
        st.builds(
            op, st.sampled_from(["floordiv", "floormod", "bitwise_and"]), inner, st.integers(1, 9)
        ),
        st.builds(op, st.just("shift_right"), inner, st.integers(0, 3)),
        st.builds(
            op, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "and", "or"]), inner, inner
        ),
        st.builds(op, st.sampled_from(["min", "max", "bitwise_xor"]), inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_values_go_on_as_they_are_said_to(expr: Expr) -> None:
    try:
        found = recurrence(expr)
    except NoRecurrence:
        return
    for first in (found.first, found.first + 997):
        values = rows(expr, 3 * found.period, first)
        assert values is not None
        assert (values[found.period :] - values[: -found.period] == found.step).all()
