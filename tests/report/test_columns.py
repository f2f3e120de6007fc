"""Tables in terminals of several widths."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.commands.subjects import read_subjects
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.report.columns import NAME, NUMBER, TEXT, WORD, FittingTable
from smemreuse.report.tables import analyze_table, compare_table, plan_table
from smemreuse.explainer.plans import judged_plans
from tests.commands.running import run
from tests.conftest import DUMPS

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
ELLIPSIS = "\u2026"


def console(width: int, terminal: bool = True) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)


def printed(out: Console, table: RenderableType) -> str:
    out.print(table)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    assert ELLIPSIS not in text
    assert max(map(len, text.splitlines())) <= out.width
    return text


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "piped"])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_numbers_and_policies_are_whole(width: int, terminal: bool) -> None:
    found = read_subjects([str(BATCHED), str(DUMPS / "mmha_decode.sm_80.tir")])[:2]
    rows = [(one, 65_536, [*judged_plans(one.kernel, one.scope, "best", "bytes").values()]) for one in found]
    out = console(width, terminal)
    text = printed(out, compare_table(out, rows))
    for words in ("outer", "inner", "dataflow", "65,536", "66,320", "33,536", "1.000", "unsound"):
        assert words in text
    for name in ("batched_gemm_kernel", "mmha_decode.sm_80.tir", "shared.dyn"):
        assert name in text
    for subject, _, _ in rows:
        plan = plan_kernel(subject.kernel, subject.scope)
        out = console(width, terminal)
        text = printed(out, plan_table(out, subject, plan))
        found_words = {*text.replace("|", " ").split()}
        for buffer, offset in plan.offsets.items():
            assert {f"{offset:,}", f"{buffer.size:,}"} <= found_words
        out = console(width, terminal)
        sequence = sequence_of(subject.kernel, subject.scope, "inner")
        printed(out, analyze_table(out, subject, "inner", *sequence))


def test_a_table_for_each_kernel_where_one_has_no_room() -> None:
    (subject,) = read_subjects([str(BATCHED)])
    rows = [(subject, 65_536, [*judged_plans(subject.kernel, subject.scope, "best", "bytes").values()])]
    out = console(80)
    text = printed(out, compare_table(out, rows))
    assert "batched_gemm.sm_80.tir: batched_gemm_kernel (shared.dyn), 65,536 side by side" in text
    (line,) = (line for line in text.splitlines() if "dataflow" in line)
    assert line.split() == ["dataflow", "32,768", "32,768", "1.000", "yes", "sound"]
    assert "side by side" in printed(console(160), compare_table(console(160), rows))


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


def test_piped_tables_are_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = run("compare", BATCHED).stdout
    for columns, width in (("60", 60), ("80", 80), ("", 160), ("0", 160), ("wide", 160)):
        monkeypatch.setenv("COLUMNS", columns)
        text = run("compare", BATCHED).stdout
        assert max(map(len, text.splitlines())) <= width
        assert (text == wide) == (width == 160)


def test_a_path_longer_than_the_table_is_not_folded_by_it(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    path = folder / "k.tir"
    path.write_text(BATCHED.read_text())
    (subject,) = read_subjects([str(path)])
    out = console(400)
    text = printed(out, plan_table(out, subject, plan_kernel(subject.kernel, subject.scope)))
    assert f"{path}: batched_gemm_kernel (shared.dyn), policy dataflow" in text
