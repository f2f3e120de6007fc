"""Under which moduli an expression repeats itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.periodic import is_affine, moduli

K, TX, U = Var("k"), Var("tx"), Var("u", "uint32")


def call(op: str, *args: Expr | int | str) -> Call:
    return Call(op, tuple(Const(arg) if isinstance(arg, (int, str)) else arg for arg in args))


def mod(one: Expr, two: Expr | int) -> Call:
    return call("floormod", one, two)


def is_k(node: Expr) -> bool:
    return node is K


@pytest.mark.parametrize(
    ("expr", "found"),
    [
        (TX, set()),
        (mod(K, 3), {3}),
        (mod(call("add", K, 1), 4), {4}),
        (mod(call("sub", call("mul", K, 5), TX), 4), {4}),
        (call("add", mod(K, 4), mod(K, 6)), {4, 6}),
        (call("floordiv", mod(K, 4), 2), {4}),
        (call("lt", mod(K, 4), TX), {4}),
        (mod(TX, 7), set()),
        (mod(mod(K, 4), 3), None),
        (call("mul", mod(K, 4), mod(TX, 5)), {4}),
        (mod(call("add", call("cast", "uint32", TX), K), 4), {4}),
    ],
    ids=str,
)
def test_what_is_under_a_modulus_repeats_itself(expr: Expr, found: set[int] | None) -> None:
    assert moduli(expr, is_k) == found


@pytest.mark.parametrize(
    "expr",
    [
        K,
        call("add", K, TX),
        call("floordiv", K, 4),
        mod(call("floordiv", K, 4), 2),
        mod(call("mul", K, K), 3),
        mod(call("mul", 3, call("floordiv", K, 4)), 7),
        mod(call("add", K, call("floordiv", K, 4)), 7),
        mod(call("mul", K, TX), 3),
        mod(K, TX),
        mod(K, 0),
        mod(K, -3),
        mod(TX, K),
        call("mod", K, 3),  # truncated: negative values repeat themselves otherwise
        call("min", K, 3),
        call("eq", K, 3),
        mod(call("add", call("cast", "uint32", TX), K), 3),  # wraps at a power of two
        call("let", Var("v"), K, mod(TX, 3)),
        call("add", mod(K, 3), K),
    ],
    ids=str,
)
def test_what_depends_on_it_otherwise_is_not_known_to(expr: Expr) -> None:
    assert moduli(expr, is_k) is None


def test_sums_of_multiples_are_affine() -> None:
    assert is_affine(call("add", call("mul", K, 3), call("sub", TX, K)), is_k)
    assert is_affine(call("mul", 3, K), is_k)
    assert is_affine(call("floordiv", TX, 4), is_k)
    assert not is_affine(call("floordiv", K, 4), is_k)
    assert not is_affine(call("mul", K, TX), is_k)
    assert not is_affine(call("cast", "int8", K), is_k)


OPERATORS = ["add", "sub", "mul", "floordiv", "floormod", "min", "max", "lt", "eq", "bitwise_xor"]
leaves: st.SearchStrategy[Expr] = st.one_of(
    st.sampled_from([K, K, TX, call("cast", "uint32", TX), call("cast", "uint32", K)]),
    st.integers(0, 9).map(Const),
)
expressions: st.SearchStrategy[Expr] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(call, st.sampled_from(OPERATORS), inner, inner),
        st.builds(mod, inner, st.integers(1, 9)),
        st.builds(lambda one: call("cast", "int8", one), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(expressions)
def test_an_expression_has_the_same_value_a_period_later(expr: Expr) -> None:
    found = moduli(expr, is_k)
    if found is None:
        return
    period = math.lcm(1, *found)
    threads = Threads(np.arange(4), {TX: np.array([0, 1, 7, -2])})
    for number in range(7):
        one, other = (evaluate(expr, threads.bind(K, k)) for k in (number, number + period))
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert np.array_equal(np.asarray(one), np.asarray(other))
