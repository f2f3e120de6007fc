"""`apply --mend` and `lint --mend`: what is put in is written and told, and nothing unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from tests.commands.running import assert_one_line_error, run
from tests.conftest import DUMPS, ROOT

FIXTURES = ROOT / "fixtures" / "lint"
REFILLED = FIXTURES / "refilled_without_fence.tir"
RELEASED = FIXTURES / "released_too_early.tir"
FENCE = "T.fence_proxy_async()"


def is_clean(path: Path) -> bool:
    (kernel,) = read_dump(path).kernels
    return lint(kernel, BarrierStage.PRESENT).clean


def test_apply_writes_the_merged_kernel_with_its_mends(tmp_path: Path) -> None:
    path = tmp_path / "mended.tir"
    result = run("apply", REFILLED, "--mend", "-o", path)
    assert result.exit_code == 0
    lines = path.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if FENCE in line]
    assert len(at) == 1
    assert "T.ptx_arrive_barrier(mbarrier_1[1])" in lines[at[0] + 1]
    assert "handle_add_byte_offset" in path.read_text()
    assert is_clean(path)


def test_each_mend_is_told_with_its_statement_line_and_hazard(tmp_path: Path) -> None:
    told = run("apply", REFILLED, "--mend", "-o", tmp_path / "mended.tir").stderr
    first, second, wrote, third = told.splitlines()
    assert wrote == f"wrote {tmp_path / 'mended.tir'}"
    assert first.startswith(
        "kernel: inserted `fence_proxy_async()` before `ptx_arrive_barrier(mbarrier_1[1])` "
        "(line 36) to fix missing-fence (certain by PTX; in the source): threads 32-159 read"
    )
    assert second == "kernel: fixed: lint finds it clean"
    assert "take 4,096 bytes as before" in third


def test_nothing_is_mended_unasked(tmp_path: Path) -> None:
    path = tmp_path / "merged.tir"
    assert run("apply", REFILLED, "-o", path).exit_code == 0
    assert FENCE not in path.read_text()
    assert not is_clean(path)


def test_what_cannot_be_mended_is_told_and_stays(tmp_path: Path) -> None:
    plain, mended = tmp_path / "plain.tir", tmp_path / "mended.tir"
    run("apply", RELEASED, "-o", plain)
    result = run("apply", RELEASED, "--mend", "-o", mended)
    assert result.exit_code == 0
    assert mended.read_text() == plain.read_text()
    assert "kernel: not fixed: race at `Bs_1[tx] = X_1[k * 128 + tx]` (line 29)" in result.stderr
    assert "kernel: nothing inserted: lint finds it with certain hazards" in result.stderr


def test_a_clean_kernel_is_told_to_be(tmp_path: Path) -> None:
    result = run("apply", DUMPS / "gemm.sm_80.tir", "--mend", "-o", tmp_path / "merged.tir")
    assert "gemm_kernel: clean: nothing to fix" in result.stderr


def test_the_stage_decides_what_is_missing(tmp_path: Path) -> None:
    race = FIXTURES / "race_between_threads.tir"
    path = tmp_path / "mended.tir"
    run("apply", race, "--mend", "--barriers", "later", "-o", path)
    before = path.read_text().count("tvm_storage_sync")
    run("apply", race, "--mend", "--barriers", "present", "-o", path, "--force")
    assert path.read_text().count("tvm_storage_sync") == before + 1


@pytest.mark.parametrize("name", ["refilled_without_fence", "stored_without_fence"])
def test_lint_writes_the_kernel_with_nothing_else_changed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mended.tir"
    result = run("lint", FIXTURES / f"{name}.tir", "--barriers", "present", "--mend", "-o", path)
    assert result.exit_code == 0
    assert path.read_text() == (FIXTURES / f"{name}.mended.tir").read_text()
    assert result.stdout.startswith(f"clean: {path}")
    assert "inserted `" in result.stderr


def test_lint_tells_of_the_kernel_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "mended.tir"
    result = run("lint", RELEASED, "--mend", "-o", path)
    assert result.exit_code == 1
    assert path.read_text() == RELEASED.read_text()


def test_mends_as_data(tmp_path: Path) -> None:
    path = tmp_path / "mended.tir"
    result = run("lint", REFILLED, "--mend", "-o", path, "--format", "json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert (kernel["status"], kernel["hazards"]) == ("clean", [])
    found = kernel["mending"]
    assert (found["status_before"], found["status"], found["unmended"]) == ("hazards", "clean", [])
    (mend,) = found["mends"]
    assert (mend["remedy"], mend["put_in"], mend["side"]) == (
        "fence",
        ["fence_proxy_async()"],
        "before",
    )
    assert mend["at"]["line"] == 36
    assert mend["mends"]["kind"] == "missing-fence"


def test_it_may_go_to_standard_output() -> None:
    result = run("lint", REFILLED, "--mend", "-o", "-")
    assert result.stdout == (FIXTURES / "refilled_without_fence.mended.tir").read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mended.tir"
    path.write_text("mine")
    assert run("lint", REFILLED, "--mend", "-o", path).exit_code == 2
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments", [(REFILLED, "--mend"), (REFILLED, "-o", "x"), (REFILLED, RELEASED, "--mend")]
)
def test_one_file_goes_to_another(arguments: tuple[object, ...]) -> None:
    result = run("lint", *map(str, arguments))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "--fix (--mend) reads one FILE and writes to --output" in result.stderr


@pytest.mark.parametrize("verb", ["lint", "apply"])
def test_fix_is_another_name_of_mend(verb: str) -> None:
    fixed, mended = (run(verb, REFILLED, name, "-o", "-") for name in ("--fix", "--mend"))
    assert FENCE in fixed.stdout
    assert (fixed.stdout, fixed.stderr) == (mended.stdout, mended.stderr)
