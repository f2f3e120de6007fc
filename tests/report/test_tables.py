"""Tables: what people read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.ir.expr import Const, Var
from smemreuse.report.comparison_legends import answer_lines, compare_legend, objective_lines
from smemreuse.report.comparisons import DefaultLayout, compare_table, comparison
from smemreuse.report.data import Subject
from smemreuse.report.tables import (
    analyze_legend,
    analyze_table,
    hoped_line,
    no_buffers,
    plan_table,
)
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from tests.report.made import (
    APART,
    ENTRIES,
    KB,
    KERNEL,
    PLANS,
    SCOPE,
    SEQUENCE,
    SHARED,
    SUBJECT,
    A,
    B,
    buffer,
    cells,
    out,
    plan,
    printed,
)


def test_the_listing() -> None:
    assert cells(analyze_table(out(), SUBJECT, "inner", SEQUENCE, SHARED.live)) == [
        ["#", "offset", "statement", "touched", "gen", "kill", "line"],
        ["0", "8", "for b in serial(4)", "", "", "", "11"],
        ["1", "0", "As[0] = 1", "As", "As", "", "12"],
        ["2", "0", "Bs[0] = 1", "Bs", "Bs", "", "13"],
        ["3", "2", "for k in serial(8)", "", "", "", "14"],
        ["4", "0", "acc[0] = As[0] + Bs[0]", "As Bs", "", "As Bs", "15"],
        ["5", "-2", "end for k in serial(8)", "", "", "", "15"],
        ["6", "0", "Cs[0] = acc[0]", "Cs", "Cs", "", "17"],
        ["7", "0", "out[0] = Cs[0]", "Cs", "", "Cs", "18"],
        ["8", "-8", "end for b in serial(4)", "", "", "", "18"],
    ]


def test_the_plan() -> None:
    symbolic, unused = buffer("Ss", Var("n")), buffer("Us", 16)
    offsets = {A: 0, B: 16 * KB}
    made = plan(
        "outer",
        offsets,
        {A: (1, 5), B: (2, 5), symbolic: (1, 2)},
        buffers=(*offsets, symbolic, unused),
        symbolic_offsets={symbolic: Const(32 * KB)},
    )
    assert cells(plan_table(out(), SUBJECT, made, "proved sound")) == [
        ["buffer", "offset", "end", "bytes", "alignment", "live [begin, end)"],
        ["As", "0", "16,384", "16,384", "16", "[1, 5)"],
        ["Bs", "16,384", "32,768", "16,384", "16", "[2, 5)"],
        ["Ss", "32768", "", "n * 1", "16", "shares with nothing (symbolic)"],
        ["Us", "-", "-", "16", "", "unused"],
    ]


def test_a_narrow_listing_has_one_column_of_buffers() -> None:
    heads, *rows = cells(analyze_table(out(80), SUBJECT, "inner", SEQUENCE, SHARED.live))
    assert heads == ["#", "statement", "buffers", "line"]
    told = {row[2] for row in rows}
    assert {"As (gen)", "As (kill), Bs (kill)"} <= told
    assert "offset" not in "".join(line.plain for line in analyze_legend(out(80)))
    assert "offset" in "".join(line.plain for line in analyze_legend(out(160)))


def test_rows_go_by_offset() -> None:
    made = plan("outer", {A: 16 * KB, B: 0}, dict.fromkeys((A, B), (0, 2)))
    assert [row[0] for row in cells(plan_table(out(), SUBJECT, made, ""))[1:]] == ["Bs", "As"]


def test_the_comparison() -> None:
    made = replace(APART, arena_bytes=48 * KB, lower_bound_bytes=48 * KB)
    own = made.with_provenance(origin=Origin.KEPT_FROM_COMPILER)
    default = DefaultLayout("TileLang", own, Verdict(SOUND))
    compared = comparison(SUBJECT, 64 * KB, [*PLANS.values()], default=default)
    rows = cells(compare_table(out(), [compared]))
    sizes, smaller = (["65,536", "65,536", "0 %", "yes"], ["32,768", "32,768", "0 %", "yes"])
    made_by_default = ["default merge", "49,152", "49,152", "0 %", "yes", "3", "sound"]
    assert rows[1:] == [
        ["made.tir", "shared.dyn", "65,536", "chosen", *smaller, "4", "sound"],
        ["gemm_kernel", *[""] * 9],
        ["", "", "", *made_by_default],
        ["", "", "", "outer", *sizes, "2", "sound"],
        ["", "", "", "inner", *smaller, "4", "unsound"],
    ]


def test_a_default_layout_that_is_not_known_has_a_row_without_numbers() -> None:
    compared = comparison(SUBJECT, 64 * KB, [*PLANS.values()])
    rows = cells(compare_table(out(), [compared]))
    assert ["default merge", *["-"] * 6] in [row[3:] for row in rows]
    told = "default merge: what the compiler makes by default; `-`: it makes no layout."
    assert told in [line.plain for line in compare_legend([compared])]


def test_it_is_told_what_layouts_are_planned_for() -> None:
    """Planned for speed, an arena may be above its bound."""
    speed = comparison(SUBJECT, 0, [(SHARED.with_provenance(objective="speed"), Verdict(SOUND))])
    assert [line.plain for line in objective_lines([speed])] == [
        "planned for speed: buffers share bytes only where that gains a resident block, or more "
        "L1 for no more barriers in loops than the default merge needs; else they lie side by side "
        "(--objective bytes plans the smallest arena)"
    ]
    assert not [*objective_lines([comparison(SUBJECT, 0, [(SHARED, Verdict(SOUND))])])]


@pytest.mark.parametrize(
    ("default", "against"),
    [
        (64 * KB, ", 32,768 fewer than TileLang's default merge (-50.0 %); 4 blocks per SM"),
        (32 * KB, ", as many as TileLang's default merge; 4 blocks per SM"),
        (16 * KB, ", 16,384 more than TileLang's default merge (+100.0 %); 4 blocks per SM"),
    ],
)
def test_a_sentence_says_what_ships(default: int, against: str) -> None:
    own = DefaultLayout("TileLang", replace(APART, arena_bytes=default))
    (line,) = answer_lines([comparison(SUBJECT, 64 * KB, [*PLANS.values()], default=own)])
    gain = ", 2 by default" if default == 64 * KB else ""
    assert line.plain == f"gemm_kernel (shared.dyn) takes 32,768 bytes{against}{gain}"


def test_what_does_not_fit_says_so() -> None:
    large = replace(APART, arena_bytes=200 * KB)
    (line,) = answer_lines([comparison(SUBJECT, 0, [(large, Verdict(SOUND))])])
    assert line.plain.endswith("that does not fit: at most 166,912 on sm_80")


def test_what_is_kept_is_marked_and_the_limit_is_told() -> None:
    kept = SHARED.with_provenance(origin=Origin.KEPT_FROM_COMPILER)
    console = out(no_color=True)
    console.print(compare_table(console, [comparison(SUBJECT, 0, [(kept, Verdict(UNPROVED))])]))
    assert "unproved, kept" in printed(console)
    assert "at most 166,912 on sm_80" in printed(console)


def test_a_smaller_plan_is_told_with_what_keeps_it_from_being_proved() -> None:
    line = hoped_line(SUBJECT, SHARED, Verdict(UNPROVED, uncovered=("nobody knows the phase",)))
    assert line.plain == (
        "made.tir: gemm_kernel (shared.dyn): a smaller layout of 32,768 bytes is "
        "unproved: nobody knows the phase"
    )


def test_what_is_not_proved_smallest_is_not_called_so() -> None:
    loose = replace(APART, lower_bound_bytes=32 * KB)
    rows = cells(compare_table(out(), [comparison(SUBJECT, 0, [(loose, Verdict(SOUND))])]))
    assert rows[1][4:8] == ["65,536", "32,768", "+100.0 %", "no"]


def test_a_kernel_without_shared_memory_has_no_gap() -> None:
    empty = plan("outer", {}, {}, ENTRIES)
    rows = cells(compare_table(out(), [comparison(SUBJECT, 0, [(empty, Verdict(SOUND))])]))
    assert rows[1][3:] == ["chosen", "0", "0", "-", "yes", "32", "sound"]
    assert (
        no_buffers("made.tir", "gemm_kernel").plain == "made.tir: gemm_kernel has no shared buffers"
    )


def test_markup_in_names_is_not_interpreted() -> None:
    console = out(no_color=True)
    console.print(plan_table(console, Subject("[red]k[/red].tir", KERNEL, SCOPE), SHARED, ""))
    assert "[red]k[/red].tir: gemm_kernel" in printed(console)
