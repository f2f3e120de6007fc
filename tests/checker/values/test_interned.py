"""What is known of expressions by how they are written."""

from __future__ import annotations

import pytest

from smemreuse.checker.values.interned import MAX_NODES, InternTable
from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer

A, B = Var("a"), Var("b")
DATA = Buffer("D", "int32", (Const(8),), "global")
OTHER = Buffer("E", "int32", (Const(8),), "global")


def add(one: Expr, two: Expr) -> Expr:
    return Call("add", (one, two))


def test_what_is_written_alike_has_one_form() -> None:
    forms = InternTable()
    assert forms(add(A, Const(1))) is forms(add(A, Const(1)))
    assert forms(Load(DATA, (add(A, B),))) is forms(Load(DATA, (add(A, B),)))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (add(A, B), add(B, A)),
        (A, Var("a")),
        (Const(1), Const(1.0)),
        (Const(1), Const(True)),
        (add(A, Const(1)), add(A, Const(1.0))),
        (add(A, B), Call("sub", (A, B))),
        (Load(DATA, (A,)), Load(OTHER, (A,))),
        (Load(DATA, (A,)), Load(DATA, (B,))),
        (Load(DATA, (A,)), Load(DATA, (A,), B)),
    ],
    ids=[
        "order",
        "name",
        "type",
        "truth",
        "type inside",
        "operator",
        "buffer",
        "place",
        "predicate",
    ],
)
def test_what_is_not_written_alike_has_not(one: Expr, two: Expr) -> None:
    forms = InternTable()
    assert forms(one) is not forms(two)


def test_an_expression_made_of_others_is_the_same_as_one_written_so() -> None:
    forms = InternTable()
    expr = Call("cast", (Const("int32"), add(A, Const(1))))
    made = forms.made(expr, (forms(Load(DATA, (B,))),))
    assert made is forms(Call("cast", (Const("int32"), add(Load(DATA, (B,)), Const(1)))))
    assert forms.made(expr, (forms(A),)) is forms(expr)


def test_what_is_made_depends_on_what_it_is_made_of() -> None:
    forms, expr = InternTable(), add(A, B)
    assert forms.made(expr, (forms(B), forms(A))) is forms(add(B, A))
    assert forms.made(expr, (forms(Const(1)), forms(A))) is not forms.made(
        expr, (forms(Const(1.0)), forms(A))
    )


def test_what_is_too_long_is_not_made() -> None:
    forms = InternTable()
    form = forms(A)
    for _ in range(MAX_NODES.bit_length() - 2):
        found = forms.made(add(A, B), (form, form))
        assert found is not None
        form = found
    assert form.size == MAX_NODES - 1
    assert forms.made(add(A, B), (form, form)) is None


def test_parts_are_those_of_all_operands_and_places() -> None:
    forms = InternTable()
    load = Load(DATA, (add(A, Const(1)),))
    parts = forms.parts(forms(add(load, A)))
    assert set(parts) == {forms(one) for one in (add(load, A), load, load.indices[0], A, Const(1))}
    assert len(parts) == 5


def test_a_number_is_what_follows_from_what_is_given() -> None:
    forms = InternTable()
    load = Load(DATA, (A,))
    expr = forms(add(load, Const(1)))
    assert forms.number(expr) is None
    assert forms.number(expr, [(forms(load), 4)]) == 5
    assert forms.number(expr, [(forms(load), 5)]) == 6
    assert forms.number(expr, [(forms(A), 4)]) is None


def test_what_is_stored_in_a_narrow_element_is_cast() -> None:
    forms = InternTable()
    assert forms.stored("int32", forms(A)) is forms(A)
    assert forms.stored("int8", forms(A)) is forms(Call("cast", (Const("int8"), A)))


def test_a_condition_is_worth_0_or_1() -> None:
    forms = InternTable()
    less = forms(Call("lt", (A, B)))
    assert forms.condition(less) is less
    assert forms.condition(forms(A)) is forms(Call("ne", (A, Const(0))))


def test_the_leaves_of_arithmetic_are_its_variables_and_loads_from_left_to_right() -> None:
    load = Load(DATA, (B,))
    reading = InternTable().reading(add(Call("mul", (load, A)), add(A, Const(2))))
    assert reading.leaves == (load, A, A)
    assert reading.loads == (load,)
    assert reading.outside == (A,)
    assert reading.variables == {A, B}


@pytest.mark.parametrize("op", ["tl_shuffle_elect", "let", "f"])
def test_what_is_no_arithmetic_has_no_leaves(op: str) -> None:
    reading = InternTable().reading(add(A, Call(op, (B, A, A))))
    assert reading.leaves is None
    assert reading.outside == (A, B)
    assert reading.binds == (op == "let")


def test_a_predicate_is_no_part_of_what_is_asked_for() -> None:
    load = Load(DATA, (A,), B)
    assert InternTable().reading(load).loads == (load,)
    assert InternTable().reading(load).outside == ()


def test_a_local_is_whole_if_it_is_no_view_of_others() -> None:
    forms = InternTable()
    local = Buffer("c", "int32", (Const(8),), "local")
    view = Buffer("v", "int32", (Const(8),), "local", local)
    narrow = Buffer("n", "int16", (Const(16),), "local", local)
    further = Buffer("f", "int32", (Const(4),), "local", local, Const(4))
    assert forms.whole(local) is forms.whole(view) is local
    assert forms.whole(narrow) is forms.whole(further) is None


def test_calls_that_may_answer_threads_differently_are_told() -> None:
    forms = InternTable()
    assert forms.reading(add(A, Call("tl_shuffle_elect", (Const(0),)))).varies
    assert not forms.reading(add(A, B)).varies


N, WIDE, REAL = Var("n"), Var("w", "uint32"), Buffer("F", "float32", (Const(8),), "global")


@pytest.mark.parametrize(
    ("expr", "number"),
    [
        (Call("sub", (add(N, Const(3)), N)), 3),
        (Call("sub", (add(N, A), add(A, N))), 0),
        (Call("eq", (add(N, Const(1)), N)), 0),
        (Call("le", (N, add(N, Const(1)))), 1),
        (Call("floormod", (Call("sub", (add(N, Const(5)), N)), Const(4))), 1),
        (Call("sub", (add(N, N), N)), None),
        (Call("lt", (N, add(A, N))), None),
        (Call("sub", (add(WIDE, Const(3)), WIDE)), None),
        (Call("lt", (Load(REAL, (A,)), Load(REAL, (A,)))), None),  # it may be no number
    ],
)
def test_what_cancels_out_is_a_number(expr: Expr, number: int | None) -> None:
    forms = InternTable()
    assert forms.number(forms(expr)) == number
