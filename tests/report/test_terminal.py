"""Maps and charts in characters."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from smemreuse.commands.common import read_subjects
from smemreuse.planning import plan_kernel
from smemreuse.report.terminal import drawn_plan, lifetime_chart, memory_map
from smemreuse.report.timeline import Timeline
from tests.commands.running import run
from tests.conftest import DUMPS

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def batched() -> tuple[Timeline, dict[str, str]]:
    """The batched GEMM's timeline, and its memory map under each policy, 50 columns wide."""
    (subject,) = read_subjects([str(BATCHED)])
    timeline = Timeline(subject.kernel, subject.scope)
    maps = {}
    for policy in ("outer", "dataflow"):
        plan = plan_kernel(subject.kernel, subject.scope, policy=policy)
        maps[policy] = memory_map(plan, timeline, 60, 65_536).plain
    return timeline, maps


def test_a_memory_map() -> None:
    _, maps = batched()
    lines = maps["dataflow"].splitlines()
    assert lines[0] == "65,536 |" + " " * 50 + "|"
    assert lines[4] == "32,768 |" + "." * 7 + "B" * 29 + "." * 7 + "C" * 4 + "..." + "|"
    assert lines[6] == "16,384 |" + "." * 4 + "A" * 29 + "." * 10 + "C" * 4 + "..." + "|"
    assert lines[8] == "     0 +" + "-" * 50 + "+"
    assert "." * 5 not in maps["outer"], "outer holds every byte for the whole loop"


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
