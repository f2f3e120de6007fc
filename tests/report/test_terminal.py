"""Maps and charts in characters."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from rich.console import Console

from smemreuse.commands.common import read_subjects
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.palette import ANSI
from smemreuse.report.terminal import Scale, drawn_plan, drawn_plans, lifetime_chart, memory_map
from smemreuse.report.timeline import Timeline
from smemreuse.results.plan import Plan
from tests.commands.running import run
from tests.conftest import DUMPS

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def batched() -> tuple[Timeline, dict[str, str]]:
    """The batched GEMM's timeline, and its memory map under each policy, 50 columns wide."""
    (subject,) = read_subjects([str(BATCHED)])
    timeline = Timeline(subject.kernel, subject.scope)
    policies = ("outer", "dataflow")
    plans = [plan_kernel(subject.kernel, subject.scope, policy=one) for one in policies]
    scale = Scale.of(plans)
    return timeline, {one.policy: memory_map(one, timeline, 60, scale).plain for one in plans}


def test_a_memory_map() -> None:
    _, maps = batched()
    lines = maps["dataflow"].splitlines()
    assert lines[0] == "65,536 |" + " " * 50 + "|"
    assert lines[4] == "32,768 |" + "." * 7 + "B" * 29 + "." * 7 + "C" * 4 + "..." + "|"
    assert lines[6] == "16,384 |" + "." * 4 + "A" * 29 + "." * 10 + "C" * 4 + "..." + "|"
    assert lines[8] == "     0 +" + "-" * 50 + "+"
    assert "." * 5 not in maps["outer"], "outer holds every byte for the whole loop"


def plan_of(sizes: Sequence[int]) -> Plan:
    """Buffers one above the other."""
    plan = plan_kernel(*_scope(BATCHED), objective="none")
    buffers = [
        Buffer(f"B{n}", "uint8", (Const(size),), "shared.dyn") for n, size in enumerate(sizes)
    ]
    offsets = dict(zip(buffers, accumulate(sizes, initial=0), strict=False))
    return replace(plan, buffers=buffers, offsets=offsets, arena_bytes=sum(sizes))


def _scope(path: Path) -> tuple[Kernel, str]:
    (subject,) = read_subjects([str(path)])
    return subject.kernel, subject.scope


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
    scale = Scale.of([plan_of(sizes)])
    assert (scale.rows, scale.exact) == (rows, True)
    assert all(edge % (scale.top // rows) == 0 for edge in accumulate(sizes))


def test_rows_are_rounded_where_there_would_be_too_many() -> None:
    scale = Scale.of([plan_of([512, 512, 16])])
    assert (scale.rows, scale.exact, str(scale)) == (8, False, "a row: about 130 bytes")


def test_equal_buffers_have_equal_rows(dump_path: Path) -> None:
    for subject in read_subjects([str(dump_path)]):
        plan = plan_kernel(subject.kernel, subject.scope)
        scale = Scale.of([plan])
        timeline = Timeline(subject.kernel, subject.scope)
        lines = memory_map(plan, timeline, 300, scale).plain.splitlines()
        for number, buffer in enumerate(timeline.names):
            if scale.exact and buffer in plan.offsets:
                drawn = sum(chr(ord("A") + number) in line for line in lines)
                assert drawn * scale.top // scale.rows == buffer.size
        legend = run("plan", dump_path).stdout
        assert not plan.offsets or str(scale) in legend


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 160])
def test_maps_of_several_policies_are_never_cut(width: int) -> None:
    kernel, scope = _scope(BATCHED)
    plans = [plan_kernel(kernel, scope, policy=one) for one in ("outer", "inner", "dataflow")]
    out = Console(file=io.StringIO(), width=width)
    out.print(drawn_plans(out, plans, Timeline(kernel, scope)))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.count("+-") == text.count("-+") == 3
    stacked = [line for line in text.splitlines() if line.startswith("65,536 |")]
    assert len(stacked) == (3 if width < 110 else 1)
    assert text.count("CC") >= 3 * 4


def test_neighbours_differ_on_a_terminal_of_8_colours() -> None:
    kernel, scope = _scope(BATCHED)
    out = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    out.print(drawn_plan(out, plan_kernel(kernel, scope), Timeline(kernel, scope)))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    colours = {letter: set(re.findall(rf"\[30;(\d+)m{letter}", text)) for letter in "ABC"}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 3
    assert len(set(ANSI)) == len(ANSI)


def test_a_lifetime_chart() -> None:
    (subject,) = read_subjects([str(BATCHED)])
    timeline = Timeline(subject.kernel, subject.scope)
    ranges = timeline.ranges(plan_kernel(subject.kernel, subject.scope))
    lines = lifetime_chart(ranges, timeline, 60).plain.splitlines()
    assert lines[0].startswith("loops | <for b in serial(4)-----")
    assert lines[-1] == "   Cs |" + " " * 43 + "[==)" + " " * 3 + "|"
    assert lines[-3].index("[") == 7 + 4, "As begins at position 4"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int, dump_path: Path) -> None:
    for subject in read_subjects([str(dump_path)]):
        plan = plan_kernel(subject.kernel, subject.scope)
        out = Console(file=io.StringIO(), width=width)
        if plan.offsets:
            out.print(drawn_plan(out, plan, Timeline(subject.kernel, subject.scope)))
            text = out.file.getvalue()  # type: ignore[attr-defined]
            assert max(map(len, text.splitlines())) <= width
            assert all(line.count("|") == 2 for line in text.splitlines() if "|A" in line)


@pytest.mark.parametrize("verb", ["compare", "plan", "analyze"])
def test_piped_output_is_plain_ascii(verb: str) -> None:
    result = run(verb, BATCHED)
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert ("[==)" in result.stdout) == (verb != "compare")
    assert ("|BBB" in result.stdout) == (verb == "compare")


def test_colour_on_a_terminal_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    (subject,) = read_subjects([str(BATCHED)])
    plan = plan_kernel(subject.kernel, subject.scope)
    timeline = Timeline(subject.kernel, subject.scope)

    def printed() -> str:
        file = io.StringIO()
        out = Console(file=file, width=80, force_terminal=True, color_system="truecolor")
        out.print(drawn_plan(out, plan, timeline))
        return file.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "48;2;" in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "48;2;" not in printed()


def test_many_kernels_are_compared_without_maps() -> None:
    files = sorted(DUMPS.glob("*.tir"))[:6]
    assert "|BBB" not in run("compare", *files).stdout
