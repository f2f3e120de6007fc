"""The dumps of TVM before 2026 in the repository: what is published about them must come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse import versions
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.ir.labels import node_name
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from tests.commands.running import SMALLEST, VERBS, assert_one_line_error, run, run_json
from tests.conftest import ROOT

LEGACY = ROOT / "fixtures" / "legacy"
STREAM_K = LEGACY / "stream_k_2024.tir"
PARTIAL = LEGACY / "stream_k_partial.tir"
A, B, RED, C = "A_shared_full_tiles", "B_shared_full_tiles", "red_buf0", "C_shared"


def kernel_in(path: Path) -> Kernel:
    (kernel,) = read_dump(path).kernels
    return kernel


def sequence(kernel: Kernel) -> tuple[list[int], dict[int, list[str]], list[str]]:
    """Outer's listing: offsets, what is touched where, and TIR's names for the statements."""
    entries = sequence_of(kernel, "shared.dyn", "outer")[0].entries
    touched = {
        position: [touch.buffer.name for touch in entry.touched]
        for position, entry in enumerate(entries)
        if entry.touched
    }
    offsets = [entry.scope_pair_offset for entry in entries]
    return offsets, touched, [node_name(entry.stmt) for entry in entries]


@pytest.mark.parametrize("path", sorted(LEGACY.glob("*.tir")), ids=lambda path: path.stem)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "apply"])
def test_every_verb_reads_every_dump(verb: str, path: Path) -> None:
    assert run(*VERBS[verb](str(path))).exit_code == 0


@pytest.mark.parametrize("path", [STREAM_K, PARTIAL], ids=lambda path: path.stem)
def test_apply_refuses_with_the_line(path: Path) -> None:
    result = run("apply", path, "-o", "-")
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert result.stderr.startswith(f"smemreuse: {path}:19: A_shared")
    assert "`apply` does not write" in result.stderr


def test_the_published_stream_k_kernel() -> None:
    """The dump of "TVM's shared memory reuse pass" (LeiWang1999, September 2024), unchanged."""
    kernel = kernel_in(STREAM_K)
    assert (kernel.name, kernel.version) == ("fragment", versions.LEGACY)
    sizes = {buffer.name: buffer.size for buffer in kernel.allocations("shared.dyn")}
    assert sizes == {A: 33280, B: 32768, RED: 131072, C: 2048}


def test_the_levels_of_the_published_kernel() -> None:
    """All at level 1, as published, though their views are declared outside of the launch."""
    linear = sequence_of(kernel_in(STREAM_K), "shared.dyn", "outer")[0]
    levels = {buffer.name: level for buffer, level in linear.alloc_level.items()}
    assert levels == {A: 1, B: 1, RED: 1, C: 1}


def test_the_published_kernel_under_outer() -> None:
    offsets, touched, names = sequence(kernel_in(STREAM_K))
    # fmt: off
    assert offsets == [
        29,
        1, -1, 1, -1,
        7, 1, -1, 1, -1, 1, -1, -7,
        1, -1,
        7, 1, -1, 1, -1, 1, -1, -7,
        3, 1, -1, -3,
        1, -1,
        -29,
    ]
    # fmt: on
    assert touched == {
        2: [A],
        4: [B],
        12: [A, B, A, B],
        14: [A, B],
        22: [RED] * 8,
        26: [C],
        28: [C],
    }
    assert names[0] == "AttrStmt"
    assert set(names[1:15]) == {"For"}
    assert names[16:22] == ["IfThenElse"] * 6


def test_the_arena_of_the_published_kernel() -> None:
    options = ("--policy", "outer", "--packer", "best", "--format", "json")
    (plan,) = run_json("plan", *SMALLEST, *options, STREAM_K)["kernels"]
    assert plan["arena_bytes"] == plan["lower_bound_bytes"] == 131072
    assert plan["offsets"][RED] == 0


def test_the_published_kernel_launches_an_axis_with_two_extents() -> None:
    """`threadIdx.y` is launched with 1 and inside with 4: nothing is proved about such a block."""
    kernel = kernel_in(STREAM_K)
    verdict = judge(kernel, plan_kernel(kernel, "shared.dyn", policy="outer"))
    assert verdict.verdict == "unproved"
    assert "threadIdx.y" in verdict.uncovered[0]


def test_the_partial_tile_under_outer() -> None:
    """The published listing of `StmtEntry` is of this kernel's shape.

    It has A, B, B where the first loop ends: TVM's pass of that time did not see the read of A
    through `address_of` in `T.ptx_ldmatrix`. Every access counts here, so A comes once more.
    """
    offsets, touched, names = sequence(kernel_in(PARTIAL))
    # fmt: off
    assert offsets == [
        23,
        7, 1, -1, 1, -1, 1, -1, -7,
        7, 1, -1, 1, -1, 1, -1, -7,
        3, 1, -1, -3,
        1, -1,
        -23,
    ]
    # fmt: on
    assert touched == {
        8: ["A_shared", "B_shared", "A_shared", "B_shared"],
        16: [RED] * 8,
        20: [C],
        22: [C],
    }
    loops, branch = ["For"] * 9, "IfThenElse"
    assert names[:10] == ["AttrStmt", *loops]
    assert names[10:16] == [branch] * 6
    assert names[16:] == ["For", branch, "For", "For", branch, branch, branch, "AttrStmt"]


@pytest.mark.parametrize("policy", ["outer", "inner", "dataflow"])
def test_the_partial_tile_reuses_each_phase_for_the_next(policy: str) -> None:
    kernel = kernel_in(PARTIAL)
    plan = plan_kernel(kernel, "shared.dyn", policy=policy)
    assert plan.arena_bytes == plan.lower_bound_bytes == 131072
    assert judge(kernel, plan).sound, "its asynchronous copies are waited for"


def test_the_barriers_of_the_partial_tile_are_not_enough(tmp_path: Path) -> None:
    """TVM inserted barriers before it merged, so none stands between the last read of the
    reduction and the first write of C_shared, which now has its bytes (rule 6)."""
    path = tmp_path / "plan.json"
    path.write_text(run("plan", *SMALLEST, "--policy", "outer", "--format", "json", PARTIAL).stdout)
    result = run("check", PARTIAL, "--plan", path)
    assert result.exit_code == 1
    assert "rule 6 (no barrier is possible), C_shared and red_buf0" in result.stdout
    assert run("check", PARTIAL, "--plan", path, "--barriers", "later").exit_code == 0
