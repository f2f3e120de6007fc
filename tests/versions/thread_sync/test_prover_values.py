"""What `ThreadSync`'s prover has for an expression, and how often it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, variables_in
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.versions.thread_sync.prover_values import prover_value

FOUR = Threads(np.arange(4))


def test_an_expression_without_conversions_is_computed_once() -> None:
    """Whichever of two equal ones is asked for first."""
    held, asked = Buffer("c", "int32", (Const(1),), "local"), list[Load]()

    def load(one: Load, threads: Threads) -> Value:
        asked.append(one)
        return 5

    for _ in range(2):
        expr = Call("add", (Call("mul", (Load(held, (Const(0),)), Const(3))), Const(1)))
        assert prover_value(expr, Threads(FOUR.ids, {}, load)) == 16
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (Call("cast", (Const("uint8"), Call("mul", (Var("x"), Const(100))))), None),
        (Call("cast", (Const("uint8"), Call("mul", (Var("x"), Const(10))))), 30),
        (Call("mod", (Call("sub", (Var("x"), Const(4))), Const(3))), None),
        (Call("mod", (Var("x"), Const(2))), 1),
    ],
)
def test_a_value_that_wraps_or_is_rounded_up_is_not_the_provers(expr: Expr, value: Value) -> None:
    (var,) = variables_in(expr)
    assert prover_value(expr, FOUR.bind(var, 3)) == value


def test_a_number_is_not_read_as_an_equal_one_of_another_type() -> None:
    """Else what a kernel is told would depend on which others were judged before it."""
    x = Var("x")

    def at_least(one: Const) -> Expr:
        return Call("le", (one, x))

    assert Const(7.0, "float32") == Const(7)
    prover_value(at_least(Const(7.0, "float32")), FOUR.bind(x, 8))
    assert prover_value(at_least(Const(7)), FOUR.bind(x, 8)) == 1
