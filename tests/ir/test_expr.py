"""Expressions as text, walked and compared."""

from __future__ import annotations

import operator

import pytest

from smemreuse.ir.expr import (
    Call,
    Const,
    Expr,
    Load,
    Pointer,
    Var,
    constant,
    format_expr,
    same,
    walk,
)
from tests.random_kernels.choices import Grower, source_of
from tests.soundness.kernels import call, load, shared

A, B = shared("A", 8), shared("B", 8)
X, Y = Var("x"), Var("y")
ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
}


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call("add", call("mul", X, 2), 1), "x * 2 + 1"),
        (call("mul", call("add", X, 2), 1), "(x + 2) * 1"),
        (call("sub", X, call("sub", Y, 1)), "x - (y - 1)"),
        (call("and", call("lt", X, 1), call("ge", Y, 2)), "x < 1 and y >= 2"),
        (call("max", load(A, X), Pointer(B)), "max(A[x], B.data)"),
        (load(A, call("ramp", X, 1, 4)), "A[x:+4]"),
        (load(A, call("ramp", X, 2, 4)), "A[x:+4:2]"),
        (Const("shared"), "'shared'"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert format_expr(expr) == text


def grow(grower: Grower, depth: int = 0) -> Expr:
    if depth == 4 or grower.chance(4):
        leaves: list[Expr] = [X, Y, Const(grower.pick(1, 9))]
        return grower.one_of(leaves)
    return call(grower.one_of([*ARITHMETIC]), grow(grower, depth + 1), grow(grower, depth + 1))


def value(expr: Expr) -> int:
    if isinstance(expr, Call):
        return int(ARITHMETIC[expr.op](*map(value, expr.args)))
    return {X: 7, Y: 3}[expr] if isinstance(expr, Var) else constant(expr) or 0


def test_brackets_keep_the_meaning() -> None:
    """Python computes from the text what the tree says."""
    computed = 0
    for seed in range(200):
        expr = grow(Grower(source_of(seed)))
        try:
            expected = value(expr)
        except ZeroDivisionError:
            continue
        assert eval(format_expr(expr), {"x": 7, "y": 3}) == expected
        computed += 1
    assert computed > 100


def test_a_walk_meets_parents_first_and_predicates_too() -> None:
    predicate = call("lt", X, 4)
    one = Load(A, (call("add", X, 1),), predicate)
    assert [format_expr(each) for each in walk(one)] == [
        *("A[x + 1]", "x + 1", "x", "1"),
        *("x < 4", "x", "4"),
    ]


def test_variables_of_one_name_are_two() -> None:
    assert same(call("add", X, 1), call("add", X, 1))
    assert not same(X, Var("x"))
    assert not same(call("add", X, 1), call("sub", X, 1))
    assert not same(load(A, X), load(B, X))
    assert not same(load(A, X), Pointer(A))
    assert not same(call("f", X), call("f", X, X))
