"""How far an index may reach, against every value that it takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.bounds import bounds

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
