"""`apply --trim`: barriers that nobody needs are taken out of a dump, and told; no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text import trim as text_trim
from smemreuse.compilers.text.reader import read_dump
from smemreuse.compilers.text.trim import trim_text
from smemreuse.linter import lint
from smemreuse.mender.trimmer import MERGED
from smemreuse.results.verdict import UNPROVED, Verdict
from tests.commands.running import run
from tests.conftest import DUMPS, ROOT

TURNS = ROOT / "fixtures" / "tvm_dumps" / "two_kernels_static.tir"
"""Two buffers in turn: the barrier of each orders the accesses of the other one, too."""
NEEDED = ROOT / "fixtures" / "tvm_dumps" / "gemm.tir"
BARRIER = "tvm_storage_sync"


def test_barriers_that_nobody_needs_go_and_are_told(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.tir", tmp_path / "trimmed.tir"
    run("apply", TURNS, "-o", plain)
    result = run("apply", TURNS, "--trim", "-o", path)
    assert result.exit_code == 0
    assert "main: removed `tvm_storage_sync('shared.dyn')` (line 24)" in result.stderr
    texts = [one.read_text().count(BARRIER) for one in (plain, path)]
    assert texts[0] - texts[1] == result.stderr.count("removed `") == 5
    for kernel in read_dump(path).kernels:
        report = lint(kernel, BarrierStage.PRESENT)
        assert (report.clean, report.assumptions) == (True, ())


def test_its_plans_hold_and_are_as_small(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.tir", tmp_path / "trimmed.tir"
    summaries = []
    for more, out in (((), plain), (("--trim",), path)):
        told = run("apply", TURNS, *more, "-o", out).stderr.splitlines()
        summaries.append([line for line in told if "bytes merged" in line])
    assert summaries[0] == summaries[1]
    assert run("check", path).stdout.count("\nsound: ") == 2


def test_a_merged_dump_is_trimmed_where_its_layout_holds(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.tir", tmp_path / "trimmed.tir"
    run("apply", TURNS, "-o", plain)
    result = run("apply", plain, "--trim", "-o", path)
    assert result.stderr.count("removed `") == 5
    assert run("check", path).stdout.count("\nsound: ") == 2
    assert "clean" in run("lint", path, "--barriers", "present").stdout


def test_a_merged_dump_whose_layout_is_not_sound_keeps_all(tmp_path: Path) -> None:
    source = ROOT / "fixtures" / "tvm_dumps" / "leaf_in_place.tir"
    merged, path = tmp_path / "merged.tir", tmp_path / "trimmed.tir"
    run("apply", source, "-o", merged)
    text = merged.read_text()
    merged.write_text(text.replace("buf_dyn_shmem[4096]", "buf_dyn_shmem[0]"))
    assert merged.read_text() != text
    result = run("apply", merged, "--trim", "-o", path)
    assert "main: trimming removes nothing: " + MERGED in result.stderr
    assert path.read_text() == merged.read_text()


def test_nothing_is_taken_out_unasked(tmp_path: Path) -> None:
    path = tmp_path / "plain.tir"
    assert "taken out" not in run("apply", TURNS, "-o", path).stderr
    assert path.read_text().count(BARRIER) == TURNS.read_text().count(BARRIER)


@pytest.mark.parametrize(
    ("dump", "why"),
    [
        (NEEDED, "main: each of its 4 barriers and fences is needed"),
        (
            DUMPS / "gemm.sm_80.tir",
            "gemm_kernel: trimming removes nothing: the compiler inserts its barriers only after "
            "this dump; while it compiles, `smemreuse.tilelang.merge(trim=True)` takes out those",
        ),
    ],
)
def test_what_is_kept_is_told(tmp_path: Path, dump: Path, why: str) -> None:
    plain, path = tmp_path / "plain.tir", tmp_path / "trimmed.tir"
    run("apply", dump, "-o", plain)
    assert why in run("apply", dump, "--trim", "-o", path).stderr
    assert path.read_text() == plain.read_text()


def test_no_barrier_goes_without_which_a_plan_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(text_trim, "judge", lambda _kernel, _plan: Verdict(UNPROVED))
    result = run("apply", TURNS, "--trim", "-o", tmp_path / "trimmed.tir")
    assert "taken out" not in result.stderr


def test_no_barrier_goes_if_lint_finds_something_else_in_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was written is linted once more, as it was read."""
    dump = read_dump(ROOT / "fixtures" / "lint" / "race_between_threads.tir")
    racing = lint(dump.kernels[0], BarrierStage.PRESENT)
    monkeypatch.setattr(text_trim, "lint", lambda _kernel, _barriers: racing)
    found = trim_text(read_dump(TURNS), lambda _kernel: ())
    assert found.dump.source == TURNS.read_text()
    assert [one.removals for one in found.trimmings] == [(), ()]
    assert all("in the text without them" in one.why for one in found.trimmings)


def test_operations_are_written_as_the_file_writes_them(tmp_path: Path) -> None:
    """The first call of a dump may be one of a buffer."""
    kept = [one for one in TURNS.read_text().splitlines() if "func_attr" not in one]
    viewed = "\n".join(kept).replace("T.decl_buffer((16384,), data=A.data)", "A.view(16384)")
    path, out = tmp_path / "viewed.tir", tmp_path / "trimmed.tir"
    path.write_text(viewed)
    assert "A.view" in viewed
    assert run("apply", path, "--trim", "-o", out).exit_code == 0
    assert "T.evaluate(0)" in out.read_text()
    assert "A.evaluate" not in out.read_text()
