"""Maps and charts in characters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

import pytest

from smemreuse.ir.expr import Call, Const, Var
from smemreuse.ir.kernel import Buffer
from smemreuse.report.frames import Axis, ChartFrame
from smemreuse.report.lifetime_chart import chart_margin, lifetime_chart
from smemreuse.report.map_scale import Scale
from smemreuse.report.palette import ANSI
from smemreuse.report.terminal import covered, drawn_plan, drawn_plans, memory_map
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import ConcurrentArm, Span, SyncMark, Timeline
from tests.report.made import (
    APART,
    INNER_PLAN,
    KB,
    SHARED,
    SYNC,
    TIMELINE,
    A,
    B,
    C,
    buffer,
    out,
    plan,
    printed,
    stacked,
)


def mapped(made: Plan, width: int, scale: Scale) -> str:
    frame = ChartFrame.within(width, TIMELINE.length, scale.margin)
    return memory_map(made, TIMELINE, frame, scale).plain


def chart(spans: Mapping[Buffer, Span], timeline: Timeline = TIMELINE, width: int = 60) -> str:
    margin = chart_margin(spans, timeline, width)
    return lifetime_chart(spans, timeline, ChartFrame.within(width, timeline.length, margin)).plain


def test_a_memory_map() -> None:
    scale = Scale.of([APART, SHARED])
    shared = mapped(SHARED, 60, scale).splitlines()
    assert shared == [
        "65,536 |         |",
        "57,344 |         |",
        "49,152 |         |",
        "40,960 |         |",
        "32,768 |..BBB.CC.|",
        "24,576 |..BBB.CC.|",
        "16,384 |.AAAA.CC.|",
        " 8,192 |.AAAA.CC.|",
        "     0 +---------+",
    ]
    apart = mapped(APART, 60, scale)
    assert "." not in apart, "outer holds every byte for the whole loop"


def test_a_map_narrower_than_the_axis() -> None:
    lines = mapped(SHARED, 12, Scale.of([SHARED])).splitlines()
    assert {len(line) for line in lines} == {12}
    assert lines[-2] == " 4,096 |AAC|"


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ([512, 512], 8),
        ([512, 512, 512], 6),
        ([512] * 5, 5),
        ([512] * 4 + [1024] * 5, 14),
        ([3, 3, 3], 3),
        ([1], 1),
        ([], 1),
    ],
)
def test_rows_end_where_buffers_do(sizes: list[int], rows: int) -> None:
    scale = Scale.of([stacked(sizes)])
    assert (scale.rows, scale.exact) == (rows, True)
    assert all(edge % (scale.top // rows) == 0 for edge in accumulate(sizes))


def test_rows_are_of_unequal_height_where_equal_ones_would_be_too_many() -> None:
    scale = Scale.of([stacked([512, 512, 16])])
    assert (scale.exact, bool(scale.edges)) == (True, True)
    assert {512, 1024, 1040} <= {*scale.ends}
    assert str(scale) == "rows end where buffers do, not to scale"
    assert (scale.covered(1024, 1040), scale.used(1024)) == (
        range(scale.rows - 1, scale.rows),
        scale.rows - 1,
    )


SLIVERS = [buffer(f"sliver{number}", 16) for number in range(20)]
"""More buffers than a map has rows."""


def test_rows_are_rounded_where_buffers_are_too_many() -> None:
    scale = Scale.of([stacked([48, *[16] * 20, 1024])])
    assert (scale.rows, scale.exact, str(scale)) == (
        *(8, False),
        "a row: about 174 bytes; of several buffers in it the smallest is drawn, or they alternate",
    )


def test_small_buffers_of_one_row_take_turns_and_what_has_no_cell_is_named() -> None:
    """The slivers and a buffer of 64 bytes are in one row of 1,066."""
    small, large = buffer("small", 64), buffer("large", 8 * KB)
    offsets = {one: 16 * number for number, one in enumerate(SLIVERS)}
    offsets |= {small: 320, large: 384}
    timeline = replace(TIMELINE, names={one: one.name for one in offsets})

    def drawn(span: tuple[int, int]) -> str:
        spans = dict.fromkeys(offsets, (7, 9)) | {SLIVERS[0]: span, small: span, large: span}
        console = out(60)
        console.print(drawn_plan(console, plan("dataflow", offsets, spans), timeline))
        return printed(console)

    assert "|.UAUA.." in drawn((1, 5))
    assert "small at" not in drawn((1, 5))
    assert "small at 320" in drawn((1, 2))
    assert covered(APART, TIMELINE, Axis(9, 60), Scale.of([APART])) == []


def test_waits_have_a_row_of_their_own_and_hide_no_barrier() -> None:
    marks = [
        SyncMark(kind, at, SYNC)
        for kind, at in (
            ("to come", 2),
            ("wait", 2),
            ("barrier", 6),
            ("to come", 6),
            ("may come", 4),
        )
    ]
    timeline = replace(TIMELINE, marks=tuple(marks))
    console = out(120)
    console.print(drawn_plan(console, SHARED, timeline))
    text = printed(console)
    assert "barriers |  + ? #  |" in text
    assert "   waits |  :      |" in text
    told = " ".join(text.split())
    signs = "# barrier + barrier that the compiler will insert ? barrier that it may insert : wait"
    before = "each comes before the accesses of its column"
    assert f"barriers and waits: {signs}; {before}" in told


def test_a_map_and_a_chart_have_one_axis_and_its_scale() -> None:
    console = out(80)
    console.print(drawn_plan(console, SHARED, TIMELINE))
    lines = printed(console).splitlines()
    framed = [line for line in lines if line.endswith("|")]
    assert {(line.index("|"), len(line)) for line in framed} == {(9, 20)}
    assert lines.count("position  0 2 4 6 8") == 2


def test_positions_stand_at_their_columns_with_a_space_between() -> None:
    assert Axis(9, 60).ticks() == "0 2 4 6 8"
    assert Axis(47, 60).ticks() == "0    5    10   15   20   25   30   35   40   45"
    assert Axis(300, 30).ticks() == "0    50   100  150  200  250"
    assert Axis(1, 1).ticks() == "0"
    for length in range(1, 400, 7):
        for width in (1, 5, 24, 80):
            axis = Axis(length, width)
            found = [(one.start(), int(one.group())) for one in re.finditer(r"\d+", axis.ticks())]
            assert all(axis.column(position) == at for at, position in found)
            assert len(axis.ticks()) <= axis.columns


ARMS = (
    ConcurrentArm("threads 0-127", 1, 5, 0),
    ConcurrentArm("threads 128-255", 5, 8, 0),
    ConcurrentArm("thread 0", 3, 5, 1),
)


def test_groups_of_threads_that_run_at_the_same_time_are_said_to() -> None:
    timeline = replace(TIMELINE, arms=ARMS)
    lines = chart(timeline.spans(SHARED), timeline).splitlines()
    assert lines[1:4] == ["  groups | <--><-> |", "         |   <>    |", "   loops |<for b-->|"]
    console = out(200)
    console.print(drawn_plan(console, SHARED, timeline))
    text = printed(console)
    told = "groups of threads run at the same time, though one stands after the other"
    depths = "a row for each depth (of loops 3 at most), named where there is room"
    assert f"groups and loops: < begins   > ends; {depths}\n{told}\n" in text
    assert "beyond its accesses" not in text, "each is live from its first access to its last"
    console = out(200)
    console.print(drawn_plan(console, plan("dataflow", {A: 0}, {A: (1, 9)}), timeline))
    users = "a loop, another group or an asynchronous access may use it"
    assert f"; live beyond its accesses where {users}\n" in printed(console)


def test_a_column_of_a_read_and_a_write_says_both() -> None:
    lines = chart({A: (0, 9)}, width=8 + 3 + 2).splitlines()
    assert lines[-1] == "      As |*)|"


def test_a_buffer_of_symbolic_size_is_named() -> None:
    symbolic = buffer("Ss", Call("mul", (Var("n"), Const(4))))
    made = plan("dataflow", {A: 0}, {A: (1, 5)}, symbolic_offsets={symbolic: Const(16 * KB)})
    console = out(80)
    timeline = replace(TIMELINE, names={A: "As", symbolic: "Ss"})
    console.print(drawn_plan(console, made, timeline))
    assert "not in the map, of a size that only the launch knows: Ss" in printed(console)


def test_policies_with_one_layout_have_one_map() -> None:
    console = out(80)
    console.print(
        drawn_plans(console, {"chosen": SHARED, "outer": APART, "inner": INNER_PLAN}, TIMELINE)
    )
    text = printed(console)
    assert "chosen and inner, 32,768 bytes" in " ".join(text.split())
    assert text.count("+-") == 2


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 160])
def test_maps_of_several_policies_are_never_cut(width: int) -> None:
    console = out(width)
    swapped = replace(INNER_PLAN, offsets={A: 16 * KB, B: 0, C: 0})
    console.print(
        drawn_plans(console, {"chosen": SHARED, "outer": APART, "inner": swapped}, TIMELINE)
    )
    text = printed(console)
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.count("+-") == text.count("-+") == 3
    stacked_maps = [line for line in text.splitlines() if line.startswith("65,536 |")]
    assert len(stacked_maps) == (3 if width < 80 else 1)
    assert text.count("CC") >= 3 * 4


def test_neighbours_differ_on_a_terminal_of_8_colours() -> None:
    console = out(80, force_terminal=True, color_system="standard")
    console.print(drawn_plan(console, SHARED, TIMELINE))
    text = printed(console)
    colours = {letter: set(re.findall(rf"\[30;(\d+)m{letter}", text)) for letter in "ABC"}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 3
    assert len(set(ANSI)) == len(ANSI)


def test_a_lifetime_chart() -> None:
    assert chart(TIMELINE.spans(SHARED)).splitlines() == [
        "position  0 2 4 6 8",
        "   loops |<for b-->|",
        "         |   <->   |",
        "barriers |      #  |",
        "      As | w==r    |",
        "      Bs |  w=r    |",
        "      Cs |      wr |",
    ]


def test_what_a_statement_does_shows_where_there_is_room() -> None:
    spans = dict.fromkeys(TIMELINE.names, (0, 9))
    lines = chart(spans).splitlines()
    assert lines[-3:] == ["      As |[w==r===)|", "      Bs |[=w=r===)|", "      Cs |[=====wr)|"]


def test_colour_on_a_terminal_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> str:
        console = out(80, force_terminal=True, color_system="truecolor")
        console.print(drawn_plan(console, SHARED, TIMELINE))
        return printed(console)

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "48;2;" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "48;2;" not in drawn()
