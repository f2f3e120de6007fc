"""Tables, maps and charts of real dumps, in terminals of several widths and piped."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.commands.subjects import read_subjects
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.frames import ChartFrame
from smemreuse.report.map_scale import Scale
from smemreuse.report.terminal import drawn_plan, memory_map
from tests.commands.running import SMALLEST, run
from tests.conftest import DUMPS
from tests.report.made import out, printed

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def test_equal_buffers_have_equal_rows(sample_path: Path) -> None:
    for subject in read_subjects([str(sample_path)]):
        plan = plan_kernel(subject.kernel, subject.scope)
        scale = Scale.of([plan])
        timeline = timeline_of(subject.kernel, subject.scope)
        frame = ChartFrame.within(300, timeline.length, scale.margin)
        lines = memory_map(plan, timeline, frame, scale).plain.splitlines()
        for number, buffer in enumerate(timeline.names):
            if scale.exact and not scale.edges and buffer in plan.offsets:
                drawn = sum(chr(ord("A") + number) in line for line in lines)
                assert drawn * scale.top // scale.rows == buffer.size
        legend = run("plan", *SMALLEST, sample_path).stdout
        assert not plan.sharing_pairs() or str(scale) in legend


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int, sample_path: Path) -> None:
    for subject in read_subjects([str(sample_path)]):
        plan = plan_kernel(subject.kernel, subject.scope)
        console = out(width)
        if plan.offsets:
            console.print(drawn_plan(console, plan, timeline_of(subject.kernel, subject.scope)))
            lines = printed(console).splitlines()
            assert max(map(len, lines)) <= width
            assert all(line.count("|") == 2 for line in lines if "|A" in line)


@pytest.mark.parametrize("verb", ["compare", "plan", "analyze"])
def test_piped_output_is_plain_ascii(verb: str) -> None:
    result = run(verb, BATCHED)
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert ("= live" in result.stdout) == (verb != "compare")
    assert ("|BBB" in result.stdout) == (verb == "compare")


def test_barriers_to_come_are_drawn_where_a_dump_has_none_yet() -> None:
    assert "+ barrier that the compiler will insert" in run("plan", BATCHED).stdout
    proved = (
        "the proof holds where ThreadSync runs after the merge and inserts barriers as marked +, "
        "as in TileLang's builds"
    )
    shares = "where buffers share bytes this plan needs barriers such as those marked +"
    checked = "; `smemreuse check` says whether those that it needs are sure to come"
    for options, told in (
        (("--objective", "bytes"), proved),
        (("--policy", "inner", "--objective", "bytes"), f"{shares}{checked}"),
        (
            ("--objective", "none"),
            "no buffers share bytes, so this plan adds no need of a barrier; the kernel itself may "
            "need those marked +",
        ),
    ):
        assert told in run("plan", *options, BATCHED).stdout
    merged = DUMPS.parent / "tvm_dumps" / "two_kernels_static.tir"
    told = run("plan", merged).stdout
    assert "\nbarriers: # barrier; each comes before" in told
    assert "will insert" not in told


def test_many_kernels_are_compared_without_maps() -> None:
    files = sorted(DUMPS.glob("*.tir"))[:6]
    assert "|BBB" not in run("compare", *files).stdout


def test_piped_tables_are_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = run("compare", BATCHED).stdout
    for columns, width in (("60", 60), ("80", 80), ("", 160), ("0", 160), ("wide", 160)):
        monkeypatch.setenv("COLUMNS", columns)
        text = run("compare", BATCHED).stdout
        assert max(map(len, text.splitlines())) <= width
        assert (text == wide) == (width == 160)


def test_plan_says_that_no_block_launches(tmp_path: Path) -> None:
    """Also where it is planned for bytes, which asks for no architecture."""
    dump, large = DUMPS / "stream_k.sm_90a.tir", "no block launches on sm_75, where one has at most"
    assert (
        f"{large} 65,536 bytes of shared memory\n"
        in run("plan", "--objective", "bytes", "--arch", "sm_75", dump).stdout
    )
    assert "no block launches" not in run("plan", "--objective", "bytes", dump).stdout
    told = run("plan", "--arch", "sm_75", dump).stdout
    assert f"{large} 65,536 bytes of shared memory\n" in told
    assert "does not fit" not in told
    own = tmp_path / "own.tir"
    own.write_text(dump.read_text().replace("sm_90a", "sm_75"))
    told = run("plan", own).stdout
    assert f"{large} 65,536 bytes of shared memory; --arch plans for another GPU" in told


def test_where_the_default_merge_takes_as_many_bytes_there_is_nothing_to_do() -> None:
    """Unless that layout is not proved: then there is one to write that is."""
    told = run("plan", DUMPS / "flash_attention.sm_90a.tir").stdout
    assert "next: nothing to do: the default merge takes as many bytes, and is proved" in told
    assert "next (write the merged TIR): " in run("plan", "--objective", "bytes", BATCHED).stdout


def test_a_plan_says_how_many_blocks_there_are_what_stops_one_more_and_what_l1_has() -> None:
    told = " ".join(run("plan", "--objective", "bytes", BATCHED).stdout.split())
    assert "blocks per SM of sm_80: 2; one more is stopped by registers (192 for each of " in told
    sizes = "33,792 bytes (32,768 arena, 1,024 for the driver)"
    assert f"L1 has 92 of 192 KB: 2 blocks of {sizes} take the carve-out of 100 KB" in told
