"""Labels and tables: what people read."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import (
    Allocate,
    Assert,
    Bind,
    Declare,
    For,
    Stmt,
    While,
    walk_statements,
)
from smemreuse.ir.labels import MAX_LABEL, label, node_name
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.report.data import Subject
from smemreuse.report.tables import analyze_table, compare_table, plan_table
from smemreuse.results.verdict import SOUND, UNSOUND, Verdict
from tests.analysis.trees import shared
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of, launched


def text(table: RenderableType) -> list[list[str]]:
    """The cells of each row of a printed table."""
    stream = io.StringIO()
    Console(file=stream, width=200, no_color=True).print(table)
    lines = (line for line in stream.getvalue().splitlines() if "|" in line and "--" not in line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def out() -> Console:
    return Console(file=io.StringIO(), width=200)


def subject(source: str) -> Subject:
    return Subject("k.tir", kernel_of(source), "shared.dyn")


def test_every_kind_of_statement_has_a_name_and_a_label() -> None:
    x, i = shared("X"), Var("i")
    found = {
        (node_name(stmt), label(stmt))
        for stmt in (
            Allocate(x),
            Declare(x),
            Bind(i, Const(4)),
            While(i, ()),
            Assert(i),
            For(i, Const(0), Const(4), Const(1), "serial", ()),
            For(i, Const(2), Const(4), Const(1), "unrolled", ()),
            For(i, Const(0), Const(4), Const(2), "serial", ()),
        )
    }
    assert found == {
        ("AllocBuffer", "AllocBuffer X"),
        ("DeclBuffer", "DeclBuffer X"),
        ("Bind", "i = 4"),
        ("While", "while i"),
        ("AssertStmt", "assert i"),
        ("For", "for i in serial(4)"),
        ("For", "for i in unrolled(2, 4)"),
        ("For", "for i in serial(0, 4, 2)"),
    }


def test_a_long_label_is_cut() -> None:
    kernel = kernel_of(launched("As[0] = " + " + ".join(["Bs[0]"] * 50) + "\n"))
    labels: list[str] = [label(stmt) for stmt in _stores(kernel.body)]
    assert [len(found) for found in labels] == [MAX_LABEL]
    assert labels[0].endswith("...")


def test_what_a_cut_hides_is_named_behind_it() -> None:
    load = "Bs[" + " + ".join(["bx"] * 60) + "]"
    kernel = kernel_of(launched(f"As[0] = {load} + As[1] + Bs[0]\nBs[{load}] = As[1]\n"))
    seen, hidden = (label(stmt, 40) for stmt in _stores(kernel.body))
    assert seen == "As[0] = Bs[bx + bx + bx + bx + bx + b..."
    assert hidden == "Bs[Bs[bx + bx + bx + bx + bx + bx ... As"


def _stores(block: tuple[Stmt, ...]) -> list[Stmt]:
    return [stmt for stmt in walk_statements(block) if node_name(stmt) == "BufferStore"]


def test_the_listing() -> None:
    found = subject(launched("for i in range(4):\n    As[i] = Bs[i]\n"))
    found_sequence = sequence_of(found.kernel, "shared.dyn", "inner")
    assert text(analyze_table(out(), found, "inner", *found_sequence)) == [
        ["#", "offset", "statement", "touched", "gen", "kill", "line"],
        ["0", "4", "launch_thread('blockIdx.x', 4)", "", "", "", "5"],
        ["1", "2", "for i in serial(4)", "", "", "", "8"],
        ["2", "0", "As[i] = Bs[i]", "Bs As", "Bs As", "Bs As", "9"],
        ["3", "-2", "end for i in serial(4)", "", "", "", "8"],
        ["4", "-4", "end launch_thread('blockIdx.x', 4)", "", "", "", "5"],
    ]


def test_the_plan() -> None:
    symbolic = 'Ss = T.alloc_buffer((n,), scope="shared.dyn")\n'
    unused = 'Us = T.alloc_buffer((4,), scope="shared.dyn")\n'
    found = subject(dump(LAUNCH + BUFFERS + symbolic + unused + "As[0] = Bs[0]\nSs[0] = 0.0\n"))
    assert text(
        plan_table(out(), found, plan_kernel(found.kernel, "shared.dyn", policy="outer"))
    ) == [
        ["buffer", "offset", "end", "bytes", "alignment", "live [begin, end)"],
        ["As", "0", "256", "256", "16", "[1, 2)"],
        ["Bs", "256", "512", "256", "16", "[1, 2)"],
        ["Ss", "512", "", "n * 4", "16", "shares with nothing (symbolic)"],
        ["Us", "-", "-", "16", "", "unused"],
    ]


def test_the_comparison() -> None:
    found = subject(launched("for i in range(4):\n    As[i] = 0.0\n    Bs[i] = 0.0\n"))
    judged = [
        (plan_kernel(found.kernel, "shared.dyn", policy=policy), Verdict(verdict))
        for policy, verdict in (("outer", SOUND), ("inner", UNSOUND))
    ]
    rows = text(compare_table(out(), [(found, 512, judged)]))
    assert rows[1:] == [
        ["k.tir", "shared.dyn", "512", "outer", "512", "512", "1.000", "yes", "sound"],
        ["main", *[""] * 8],
        ["", "", "", "inner", "256", "256", "1.000", "yes", "unsound"],
    ]


def test_a_kernel_without_shared_memory_has_no_gap() -> None:
    found = subject(dump(LAUNCH))
    plan = plan_kernel(found.kernel, "shared.dyn", policy="outer")
    rows = text(compare_table(out(), [(found, 0, [(plan, Verdict(SOUND))])]))
    assert rows[1][2:] == ["0", "outer", "0", "0", "-", "yes", "sound"]


def test_markup_in_names_is_not_interpreted() -> None:
    found = Subject("[red]k[/red].tir", kernel_of(launched("As[0] = Bs[0]\n")), "shared.dyn")
    stream = io.StringIO()
    table = plan_table(out(), found, plan_kernel(found.kernel, "shared.dyn", policy="outer"))
    Console(file=stream, width=200, no_color=True).print(table)
    assert "[red]k[/red].tir: main" in stream.getvalue()
