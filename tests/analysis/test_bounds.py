"""How far an index may reach, against every value that it takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from smemreuse.analysis.bounds import bounds, variable_ranges
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Bind, For, Stmt

X, Y = Var("x"), Var("y")
RANGES = {X: (-3, 5), Y: (0, 7)}

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_or": lambda a, b: a | b,
}
leaves = st.one_of(st.sampled_from([X, Y]), st.integers(-9, 9).map(Const))
expressions: st.SearchStrategy[Expr] = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda op, one, two: Call(op, (one, two)), st.sampled_from([*OPERATORS]), inner, inner
    ),
    max_leaves=6,
)


def value_of(expr: Expr, values: dict[Var, int]) -> int:
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, Const):
        assert isinstance(expr.value, int)
        return expr.value
    assert isinstance(expr, Call)
    one, two = (value_of(arg, values) for arg in expr.args)
    return OPERATORS[expr.op](one, two)


@given(expressions)
def test_no_value_lies_outside(expr: Expr) -> None:
    found = bounds(expr, RANGES)
    if found is None:
        return
    for x in range(-3, 6):
        for y in range(8):
            with suppress(ZeroDivisionError):  # has no value there
                assert found[0] <= value_of(expr, {X: x, Y: y}) <= found[1]


def test_a_vector_has_all_its_lanes() -> None:
    def ramp(stride: int) -> Call:
        return Call("ramp", (Y, Const(stride), Const(4)))

    assert bounds(ramp(2), RANGES) == (0, 13)
    assert bounds(ramp(-2), RANGES) == (-6, 7)
    assert bounds(Call("ramp", (Y, Var("n"), Const(4))), RANGES) is None


def launch(extent: Expr, *body: Stmt) -> Stmt:
    return Attr(THREAD_EXTENT, Const("threadIdx.x"), extent, body, X)


def loop(var: Var, begin: Expr, extent: Expr, *body: Stmt) -> Stmt:
    return For(var, begin, extent, Const(1), "serial", body)


def test_what_variables_may_be() -> None:
    bound, again = Var("bound"), Var("again")
    body = (
        launch(
            Const(4),
            loop(Y, Const(2), Const(3), Bind(bound, Call("mul", (X, Y)))),
            Bind(again, X),
            Bind(again, Const(99)),
        ),
    )
    assert variable_ranges(body) == {X: (0, 3), Y: (2, 4), bound: (0, 12)}


def test_a_variable_that_is_launched_twice_has_the_values_of_both() -> None:
    assert variable_ranges((launch(Const(1)), launch(Const(4)))) == {X: (0, 3)}
    assert variable_ranges((launch(Const(4)), launch(Var("n")))) == {}
    assert variable_ranges((loop(Y, Const(3), Const(2)), loop(Y, Const(0), Const(1)))) == {
        Y: (0, 4)
    }
