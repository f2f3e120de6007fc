"""What variables may hold at a statement, against every value that they take there."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from smemreuse.audit.ranges import with_ranges
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Bind, Block, Evaluate, For, If, Stmt
from smemreuse.semantics.bounds import Interval

X, Y, SUM = Var("x"), Var("y"), Var("sum")
THEN, ELSE, BEHIND = (Evaluate(Const(number)) for number in range(3))


def launch(extent: Expr, *body: Stmt) -> Stmt:
    return Attr(THREAD_EXTENT, Const("threadIdx.x"), extent, body, X)


def loop(var: Var, begin: Expr, extent: Expr, *body: Stmt) -> Stmt:
    return For(var, begin, extent, Const(1), "serial", body)


def at(stmt: Stmt, body: Block) -> Mapping[Var, Interval]:
    (found,) = (known.ranges for one, known in with_ranges(body) if one is stmt)
    return found


COMPARED = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
comparisons = st.builds(
    lambda op, args: Call(op, tuple(args)),
    st.sampled_from([*COMPARED]),
    st.tuples(st.sampled_from([X, Y, SUM]), st.integers(-2, 9).map(Const)).flatmap(st.permutations),
)
conditions: st.SearchStrategy[Expr] = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda one: Call("not", (one,)), inner),
        st.builds(
            lambda op, one, two: Call(op, (one, two)), st.sampled_from(["and", "or"]), inner, inner
        ),
    ),
    max_leaves=4,
)


def value_of(expr: Expr, values: Mapping[Var, int]) -> int:
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, Const):
        assert isinstance(expr.value, int)
        return expr.value
    assert isinstance(expr, Call)
    args = [value_of(arg, values) for arg in expr.args]
    if expr.op == "not":
        return int(not args[0])
    if expr.op in ("and", "or"):
        return int(all(args) if expr.op == "and" else any(args))
    return int(COMPARED[expr.op](*args))


@given(conditions)
def test_each_arm_holds_what_brings_one_there(condition: Expr) -> None:
    """X in [0, 4), Y in [2, 5), and their sum."""
    total = Bind(SUM, Call("add", (X, Y)))
    body = (launch(Const(4), loop(Y, Const(2), Const(3), total, If(condition, (THEN,), (ELSE,)))),)
    for x in range(4):
        for y in range(2, 5):
            values = {X: x, Y: y, SUM: x + y}
            arm = THEN if value_of(condition, values) else ELSE
            ranges = at(arm, body)
            assert all(ranges[var][0] <= value <= ranges[var][1] for var, value in values.items())


def test_a_branch_narrows_what_is_computed_from_its_axis() -> None:
    twice = Bind(SUM, Call("mul", (X, Const(2))))
    inside = If(Call("lt", (X, Const(4))), (THEN,), (ELSE,))
    body = (launch(Const(32), twice, inside, BEHIND),)
    assert at(THEN, body) == {X: (0, 3), SUM: (0, 6)}
    assert at(ELSE, body) == {X: (4, 31), SUM: (8, 62)}
    assert at(BEHIND, body) == {X: (0, 31), SUM: (0, 62)}


def test_what_is_bound_twice_or_as_often_as_nobody_knows_is_not_known() -> None:
    body = (launch(Const(4), Bind(SUM, X), Bind(SUM, Const(99)), THEN),)
    assert at(THEN, body) == {X: (0, 3)}
    assert at(THEN, (launch(Var("n"), THEN),)) == {}
    assert at(THEN, (launch(Const(4), loop(Y, Const(0), Var("n"), THEN)),)) == {X: (0, 3)}


def test_each_launch_and_each_loop_has_its_own_range() -> None:
    assert at(THEN, (launch(Const(1)), launch(Const(4), THEN))) == {X: (0, 3)}
    assert at(THEN, (loop(Y, Const(0), Const(1)), loop(Y, Const(3), Const(2), THEN))) == {Y: (3, 4)}
