"""The values that expressions have for the prover of `ThreadSync`, too."""

from __future__ import annotations

import pytest

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.versions.thread_sync.prover_values import prover_value

X = Var("x")
SIX = Threads(1, {X: 6})


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (Call("add", (X, Const(1))), 7),
        (Call("div", (X, Const(4))), 1),
        (Call("div", (Call("sub", (X, Const(9))), Const(2))), None),  # -1, and -2 for the prover
        (Call("cast", (Const("int32"), X)), 6),
        (Call("cast", (Const("uint8"), Call("mul", (X, Const(64))))), None),  # 128, and 384
    ],
)
def test_a_value_counts_where_the_prover_has_the_same(expr: Expr, value: Value) -> None:
    assert prover_value(expr, SIX) == value


def test_a_number_is_not_read_as_an_equal_one_of_another_type() -> None:
    """Else what a kernel is told would depend on which others were judged before it."""

    def at_least(one: Const) -> Expr:
        return Call("le", (one, X))

    assert Const(3.0, "float32") == Const(3)
    prover_value(at_least(Const(3.0, "float32")), SIX)
    assert prover_value(at_least(Const(3)), SIX) == 1
