"""Statements on one line."""

from __future__ import annotations

from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Allocate, Assert, Bind, Buffer, Declare, Evaluate, For, Store, While
from smemreuse.ir.labels import MAX_LABEL, brief, end_of_scope, entry_label, label, node_name
from smemreuse.ir.source import SourceLine, name_source

X, Y = (Buffer(name, "float32", (Const(64),), "shared.dyn") for name in ("As", "Bs"))
I = Var("i")  # noqa: E741


def sum_of(terms: list[Expr]) -> Expr:
    total, *rest = terms
    for term in rest:
        total = Call("add", (total, term))
    return total


def test_every_kind_of_statement_has_a_name_and_a_label() -> None:
    found = {
        (node_name(stmt), label(stmt))
        for stmt in (
            Allocate(X),
            Declare(X),
            Bind(I, Const(4)),
            While(I, ()),
            Assert(I),
            For(I, Const(0), Const(4), Const(1), "serial", ()),
            For(I, Const(2), Const(4), Const(1), "unrolled", ()),
            For(I, Const(0), Const(4), Const(2), "serial", ()),
        )
    }
    assert found == {
        ("AllocBuffer", "AllocBuffer As"),
        ("DeclBuffer", "DeclBuffer As"),
        ("Bind", "i = 4"),
        ("While", "while i"),
        ("AssertStmt", "assert i"),
        ("For", "for i in serial(4)"),
        ("For", "for i in unrolled(2, 4)"),
        ("For", "for i in serial(0, 4, 2)"),
    }


def test_the_end_of_a_scope_says_so() -> None:
    loop = For(I, Const(0), Const(4), Const(1), "serial", ())
    assert entry_label(loop, is_end=True) == "end for i in serial(4)"
    assert entry_label(loop, is_end=False) == label(loop)


def test_a_long_label_is_cut() -> None:
    found = label(Store(X, (Const(0),), sum_of([Load(Y, (Const(0),))] * 50)))
    assert len(found) == MAX_LABEL
    assert found.endswith("...")


def test_what_a_cut_hides_is_named_behind_it() -> None:
    far = Load(Y, (sum_of([Var("bx")] * 60),))
    seen = Store(X, (Const(0),), sum_of([far, Load(X, (Const(1),)), Load(Y, (Const(0),))]))
    hidden = Store(Y, (far,), Load(X, (Const(1),)))
    assert label(seen, 40) == "As[0] = Bs[bx + bx + bx + bx + bx + b..."
    assert label(hidden, 40) == "Bs[Bs[bx + bx + bx + bx + bx + bx ... As"


def test_the_operand_that_a_statement_is_about_stays_whole() -> None:
    mbarrier = Load(Buffer("mbarrier", "uint64", (Const(8),), "shared.barrier"), (sum_of([I] * 9),))
    parity = sum_of([Var("some_variable")] * 5)
    wait = Evaluate(Call("wait", (mbarrier, parity)))
    assert brief(wait) == "wait(...)"
    assert brief(wait, about=mbarrier) == f"wait(mbarrier[{' + '.join('i' * 9)}], ...)"


def test_the_end_of_a_loop_has_its_lines_and_that_of_the_python() -> None:
    inside = Store(X, (I,), Const(1), line=36)
    loop = For(I, Const(0), Const(6), Const(1), "serial", (inside,), line=28)
    assert end_of_scope(loop) == "the end of `for i in serial(6)` (lines 28-36)"
    name_source(loop, SourceLine("scan.py", 88))
    assert end_of_scope(loop) == "the end of `for i in serial(6)` (lines 28-36, from scan.py:88)"
