"""Tables in terminals of several widths."""

from __future__ import annotations

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.report.columns import (
    NAME,
    NUMBER,
    TEXT,
    WORD,
    Col,
    FittingTable,
    number,
    table_of,
)
from smemreuse.report.comparisons import compare_table, comparison
from smemreuse.report.data import Subject
from smemreuse.report.tables import analyze_table, plan_table
from tests.report import made
from tests.report.made import KB, KERNEL, PLANS, SCOPE, SEQUENCE, SHARED, SUBJECT

ELLIPSIS = "\u2026"
LONG_NAME = Subject("mmha_decode.sm_80.tir", KERNEL, SCOPE)


def console(width: int, terminal: bool = True) -> Console:
    return made.out(width, force_terminal=terminal, color_system=None)


def printed(out: Console, table: RenderableType) -> str:
    out.print(table)
    text = made.printed(out)
    assert ELLIPSIS not in text
    assert max(map(len, text.splitlines())) <= out.width
    return text


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "piped"])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_numbers_and_policies_are_whole(width: int, terminal: bool) -> None:
    rows = [comparison(one, 64 * KB, [*PLANS.values()]) for one in (SUBJECT, LONG_NAME)]
    out = console(width, terminal)
    text = printed(out, compare_table(out, rows))
    for words in ("outer", "inner", "chosen", "65,536", "32,768", "0 %", "unsound"):
        assert words in text
    for name in ("gemm_kernel", "mmha_decode.sm_80.tir", "shared.dyn"):
        assert name in text
    out = console(width, terminal)
    text = printed(out, plan_table(out, SUBJECT, SHARED, "not checked"))
    found_words = {*text.replace("|", " ").split()}
    for buffer, offset in SHARED.offsets.items():
        assert {f"{offset:,}", f"{buffer.size:,}"} <= found_words
    out = console(width, terminal)
    printed(out, analyze_table(out, SUBJECT, "inner", SEQUENCE, SHARED.live))


def test_a_table_for_each_kernel_where_one_has_no_room() -> None:
    rows = [comparison(LONG_NAME, 64 * KB, [*PLANS.values()])]
    out = console(80)
    text = printed(out, compare_table(out, rows))
    assert "mmha_decode.sm_80.tir: gemm_kernel (shared.dyn): 65,536 side by side" in text
    (line,) = (line for line in text.splitlines() if "chosen" in line)
    assert line.split() == ["chosen", "32,768", "32,768", "0", "%", "yes", "4", "sound"]
    assert "side" in printed(console(160), compare_table(console(160), rows))


def example(out: Console) -> FittingTable:
    columns = (("name", NAME), ("one two", NUMBER), ("word", WORD), ("why", TEXT))
    table = FittingTable(out, "A title", *columns)
    table.add_row(*map(Text, ("n" * 24, "1,234", "short", "many words " * 6)))
    return table


@pytest.mark.parametrize("terminal", [True, False])
def test_headings_are_stacked_before_rows_become_paragraphs(terminal: bool) -> None:
    shapes = []
    for width in range(120, 30, -1):
        out = console(width, terminal)
        text = printed(out, example(out))
        assert text.startswith("A title")
        assert "1,234" in text
        shape = "table" if "one two " in text else "stacked"
        if "\n  one two 1,234  word short\n" in text:
            shape = "paragraphs"
        if shape not in shapes:
            shapes.append(shape)
    assert shapes == ["table", "stacked", "paragraphs"]


def test_a_column_that_is_not_shown_is_not_asked_for_cells() -> None:
    def never(_row: int) -> str:
        raise AssertionError

    hidden, shown = Col("no", TEXT, never, shown=False), Col("yes", NUMBER, number)
    assert made.cells(table_of(made.out(), "", [1024, 2], hidden, shown)) == [
        *(["yes"], ["1,024"], ["2"])
    ]


def test_a_path_longer_than_the_table_is_not_folded_by_it() -> None:
    path = f"/{'long' * 20}/k.tir"
    out = console(400)
    text = printed(out, plan_table(out, Subject(path, KERNEL, SCOPE), SHARED, "proved sound"))
    assert f"{path}: gemm_kernel (shared.dyn), policy dataflow, proved sound: " in text
