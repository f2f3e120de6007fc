"""What each verb answers to good input."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from smemreuse import __version__
from smemreuse.cli import main
from tests.commands.running import (
    SMALLEST,
    SMEMREUSE,
    VERBS,
    assert_one_line_error,
    run,
    run_json,
    run_process,
    run_without_reader,
)
from tests.compilers.text.texts import LAUNCH, dump, launched
from tests.conftest import DUMPS, needs_dot

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
HALO = DUMPS / "halo.sm_80.tir"
WARP_SPECIALIZED = DUMPS / "divergent_arms.sm_80.tir"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_reads_every_kind_of_kernel(verb: str, sample_path: Path) -> None:
    result = run(*VERBS[verb](str(sample_path)))
    assert result.exit_code == 0
    assert result.stdout.strip()
    if verb.endswith("json"):
        assert json.loads(result.stdout)["schema"] == f"smemreuse.{verb.split('-')[0]}/1"


def test_analyze_json() -> None:
    data = run_json("analyze", "--policy", "outer", "--format", "json", BATCHED)
    (kernel,) = data["kernels"]
    assert data["schema"] == "smemreuse.analyze/1"
    assert (kernel["name"], kernel["scope"]) == ("batched_gemm_kernel", "shared.dyn")
    assert kernel["alloc_level"] == {"As": 1, "Bs": 1, "Cs": 1}
    assert {entry["stmt"] for entry in kernel["sequence"]} == {"AttrStmt", "For"}
    for entry in kernel["sequence"]:
        assert {"stmt", "label", "scope_pair_offset", "touched"} <= set(entry)


def test_analyze_inner_has_leaves() -> None:
    data = run_json("analyze", "--policy", "inner", "--format", "json", BATCHED)
    stmts = {entry["stmt"] for entry in data["kernels"][0]["sequence"]}
    assert stmts == {"AttrStmt", "For", "BufferStore", "Evaluate"}


def test_compare_json() -> None:
    data = run_json("compare", *SMALLEST, "--format", "json", BATCHED)
    (kernel,) = data["kernels"]
    assert kernel["file"] == str(BATCHED)
    assert kernel["total_bytes"] == 65536
    assert kernel["dialect"] == "tilelang"
    sizes = {buffer["name"]: buffer["bytes"] for buffer in kernel["buffers"]}
    assert sizes == {"As": 16384, "Bs": 16384, "Cs": 32768}
    arenas = {name: found["arena_bytes"] for name, found in kernel["policies"].items()}
    assert (arenas["outer"], arenas["inner"]) == (65536, 32768)
    for found in kernel["policies"].values():
        assert found["arena_bytes"] >= found["lower_bound_bytes"]
        assert set(found["offsets"]) == set(found["live"]) == set(sizes)


def test_compare_takes_several_files_in_order() -> None:
    files = [DUMPS / "gemm.sm_90a.tir", BATCHED, DUMPS / "gemm.sm_80.tir"]
    data = run_json("compare", "--format", "json", *files)
    assert [kernel["file"] for kernel in data["kernels"]] == list(map(str, files))


def test_plan_json_says_how_it_was_made() -> None:
    options = ("--policy", "inner", "--packer", "tilelang", "--objective", "none")
    (kernel,) = run_json("plan", *options, "--format", "json", BATCHED)["kernels"]
    made = {key: kernel[key] for key in ("policy", "packer", "objective", "arena_bytes")}
    assert made == {
        "policy": "inner",
        "packer": "tilelang",
        "objective": "none",
        "arena_bytes": 65536,
    }


def test_maps_of_kernels_of_one_name_tell_the_file() -> None:
    files = [DUMPS / "gemm.sm_80.tir", DUMPS / "gemm.sm_90a.tir", BATCHED]
    lines = run("compare", *files).stdout.splitlines()
    for file in files[:2]:
        assert f"{file.name}: gemm_kernel (shared.dyn)" in lines
    assert "batched_gemm_kernel (shared.dyn)" in lines


def test_tables_are_plain_and_wide_when_piped() -> None:
    result = run("compare", BATCHED)
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert "65,536" in result.stdout
    assert "32,768" in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_of_host_functions_only_is_an_honest_empty_answer(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "host.tir"
    path.write_text(dump("T.evaluate(0)\n"))
    result = run(*VERBS[verb](str(path)))
    assert result.exit_code == 0
    assert result.stderr.count("\n") == (2 if verb == "apply" else 1)
    if verb == "apply":
        assert result.stdout == path.read_text()
    elif verb.endswith("json"):
        assert json.loads(result.stdout)["kernels"] == []
    else:
        assert result.stdout == "next: nothing to do: there are no shared buffers\n"


@pytest.mark.parametrize("verb", ["compare", "plan", "analyze"])
def test_a_kernel_without_shared_memory_has_an_entry(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    path.write_text(dump(LAUNCH + "T.evaluate(0)\n"))
    (kernel,) = run_json(verb, "--format", "json", path)["kernels"]
    assert (kernel["name"], kernel["scope"]) == ("main", "shared.dyn")
    if verb != "analyze":
        assert kernel["buffers"] == []


@pytest.mark.parametrize("verb", ["compare", "plan", "explain", "check"])
def test_a_kernel_without_shared_memory_is_one_line_for_people(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    path.write_text(dump(LAUNCH + "T.evaluate(0)\n"))
    there, then = run(verb, path).stdout.replace("\n", " ").split(" next: ")
    assert there == f"{path}: main has no shared buffers"
    assert then == "nothing to do: there are no shared buffers "


def test_compare_tells_those_without_shared_memory_behind_the_others(tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    path.write_text(dump(LAUNCH + "T.evaluate(0)\n"))
    both = run("compare", path, BATCHED).stdout
    assert "65,536" in both
    assert both.count("main") == 1
    assert "main has no shared buffers" in both


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_and_version(option: str) -> None:
    result = run(option)
    assert result.exit_code == 0
    assert (__version__ if option == "--version" else "analyze") in result.stdout


@pytest.mark.parametrize("verb", ["analyze", "apply", "compare", "plan"])
def test_every_verb_has_help(verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


@pytest.mark.parametrize(
    "args",
    [
        ("frobnicate",),
        ("analyze",),
        ("compare",),
        ("plan", "a", "b"),
        ("apply", "a"),
        ("plan", "--policy", "tightest", "a"),
        ("plan", "--packer", "magic", "a"),
        ("plan", "--objective", "beauty", "a"),
        ("analyze", "--format", "xml", "a"),
        ("analyze", "--nonsense", "a"),
    ],
)
def test_bad_usage_is_exit_code_2(args: tuple[str, ...]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error: " in result.stderr


# apply ----------------------------------------------------------------------------------------


def test_what_gains_no_byte_is_told_so_before_and_after(tmp_path: Path) -> None:
    dump, out = DUMPS / "flash_attention.sm_90a.tir", tmp_path / "merged.tir"
    told = "no byte is gained over TileLang's default merge; proved sound"
    result = run("apply", dump, "-o", out)
    assert told in " ".join(result.stderr.split())
    assert " ".join(result.stdout.split()) == (
        f"next ({out} is not needed: the default merge is proved, and takes as many bytes; the "
        f"kernel's own hazards, and their fixes): smemreuse lint {dump}"
    )


def test_a_hazard_of_the_kernel_is_told_with_what_was_written(tmp_path: Path) -> None:
    """As `check` tells it, with the lines of the dump that was read."""
    dump, out = DUMPS / "flash_attention.sm_90a.tir", tmp_path / "merged.tir"
    told = " ".join(run("apply", dump, "-o", out).stderr.split())
    own = "lint was run on the unmerged kernel, which has hazards of its own: a wait can hang at"
    assert f"{own} line " in told
    assert told.endswith(f"sharing adds none lines are those of {dump}")
    assert f"lines are those of {out}" in " ".join(run("check", out).stdout.split())


@pytest.mark.parametrize(
    ("name", "gain"),
    [
        ("halo.sm_80", "enough for one more block by shared memory, but not by registers"),
        ("miss_rows.sm_80", "and gain no block"),
        ("flash_attention.sm_90a", "and gain no block"),  # shared memory stops none
    ],
)
def test_what_a_change_gains_nothing_by_is_told(name: str, gain: str) -> None:
    told = " ".join(run("explain", DUMPS / f"{name}.tir").stdout.split())
    assert re.search(
        rf"of the source would reduce the arena to (as few as )?[\d,]+ bytes, {gain}", told
    )


def test_apply_writes_a_file_and_says_what_it_did(tmp_path: Path) -> None:
    out = tmp_path / "merged.tir"
    result = run("apply", *SMALLEST, BATCHED, "-o", out, "--policy", "inner")
    assert result.exit_code == 0
    assert result.stdout == f"next (check what was written): smemreuse check {out}\n"
    assert result.stderr == (
        f"wrote {out}\n"
        "batched_gemm_kernel: 3 shared.dyn buffers, 65,536 bytes side by side -> 32,768 bytes "
        "merged; TileLang's default merge takes 65,536; proved sound, if ThreadSync follows\n"
    )
    result = run("apply", *SMALLEST, BATCHED, "-o", out, "--force", "--unchecked")
    assert result.stderr.endswith("; not checked, by --unchecked\n")
    (kernel,) = run_json("compare", "--format", "json", out)["kernels"]
    assert [buffer["name"] for buffer in kernel["buffers"]] == ["buf_dyn_shmem"]
    assert kernel["total_bytes"] == 32768


def test_apply_says_if_a_block_does_not_fit(tmp_path: Path) -> None:
    dump, out = DUMPS / "batched_gemm.sm_90a.tir", tmp_path / "merged.tir"
    result = run("apply", dump, "-o", out, "--objective", "none", "--arch", "sm_75")
    assert result.exit_code == 0
    assert result.stdout == f"next (what would make it fit): smemreuse fit {dump} --arch sm_75\n"
    assert "takes 66,560 bytes, more than sm_75 has, which is 65,536" in result.stderr


def test_apply_to_standard_output_writes_nothing_else_there() -> None:
    to_file = run("apply", BATCHED, "-o", "-")
    assert to_file.stdout.startswith("# from tvm.script import ir as I\n")
    assert "arena" not in to_file.stdout


def test_apply_twice_merges_nothing_the_second_time(tmp_path: Path) -> None:
    once, twice = tmp_path / "1.tir", tmp_path / "2.tir"
    run("apply", BATCHED, "-o", once)
    result = run("apply", once, "-o", twice)
    assert "nothing to merge" in result.stderr
    assert twice.read_text() == once.read_text()


def test_apply_overwrites_only_when_told(tmp_path: Path) -> None:
    out = tmp_path / "out.tir"
    out.write_text("precious\n")
    result = run("apply", BATCHED, "-o", out)
    assert result.exit_code == 2
    assert result.stderr == f"smemreuse: {out}: exists already; --force overwrites it\n"
    assert out.read_text() == "precious\n"
    assert run("apply", *SMALLEST, BATCHED, "-o", out, "--force").exit_code == 0
    assert out.read_text().startswith("# from tvm.script")


def test_apply_may_overwrite_its_own_input_when_told(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched("As[0] = Bs[0]\n"))
    assert run("apply", path, "-o", path).exit_code == 2
    assert path.read_text() == launched("As[0] = Bs[0]\n")
    assert run("apply", path, "-o", path, "--force").exit_code == 0
    assert "buf_dyn_shmem" in path.read_text()


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_apply_into_a_folder_that_is_missing(tmp_path: Path, force: list[str]) -> None:
    out = tmp_path / "no" / "out.tir"
    result = run("apply", *SMALLEST, BATCHED, "-o", out, *force)
    assert result.exit_code == 2
    assert result.stderr == f"smemreuse: {out}: cannot be written: No such file or directory\n"


@pytest.mark.parametrize(
    ("force", "words"), [([], "is a directory"), (["--force"], "Is a directory")]
)
def test_apply_onto_a_folder(tmp_path: Path, force: list[str], words: str) -> None:
    result = run("apply", BATCHED, "-o", tmp_path, *force)
    assert result.exit_code == 2
    assert result.stderr == f"smemreuse: {tmp_path}: cannot be written: {words}\n"


@pytest.mark.parametrize("verb", ["apply", "report", pytest.param("graph", marks=needs_dot)])
def test_a_device_is_no_file_to_be_overwritten(verb: str) -> None:
    assert run(verb, BATCHED, "-o", "/dev/null").exit_code == 0


def test_nor_is_a_named_pipe(tmp_path: Path) -> None:
    named_pipe = tmp_path / "pipe"
    os.mkfifo(named_pipe)
    reader = os.open(named_pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run("graph", BATCHED, "--format", "dot", "-o", named_pipe).exit_code == 0
    assert os.read(reader, 7) == b"digraph"
    os.close(reader)


def test_apply_keeps_line_ends(tmp_path: Path) -> None:
    path, out = tmp_path / "k.tir", tmp_path / "out.tir"
    path.write_bytes(launched("As[0] = Bs[0]\n").replace("\n", "\r\n").encode())
    assert run("apply", path, "-o", out).exit_code == 0
    data = out.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n")


# As a program ---------------------------------------------------------------------------------

WRITING = ("analyze", "compare-json", "apply")
"""A verb for each way to standard output: tables, JSON, text."""


def test_the_program_prints_one_json_document() -> None:
    done = run_process("compare", "--format", "json", HALO)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["schema"] == "smemreuse.compare/1"


def test_a_name_that_the_terminal_cannot_write_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched("Größe = As[0]\nBs[0] = Größe\n").replace("main", "größe"))
    done = CliRunner(charset="ascii").invoke(main, ["plan", str(path)])
    assert (done.exception, done.exit_code) == (None, 0)
    assert r"gr\xf6\xdfe" in done.stdout


def test_a_reader_that_goes_away_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched("As[0] = Bs[0]\n" * 1000))
    assert len(run("analyze", "--policy", "inner", path).stdout) > 70_000, "more than a pipe holds"
    with subprocess.Popen(
        [SMEMREUSE, "analyze", "--policy", "inner", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("verb", WRITING)
def test_without_a_reader_the_exit_code_is_still_0(verb: str) -> None:
    done = run_without_reader(*VERBS[verb](str(HALO)))
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "Broken pipe" not in done.stderr


def test_without_a_reader_a_finding_is_still_one(tmp_path: Path) -> None:
    merged = tmp_path / "merged.tir"
    run("apply", *SMALLEST, BATCHED, "-o", merged)
    for output_format in ("table", "json"):
        done = run_without_reader(
            *("check", "--barriers", "present", "--format", output_format, merged)
        )
        why = "smemreuse: exit code 1: 1 plan unsound\n"
        assert (done.returncode, done.stderr) == (1, why)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("verb", WRITING)
def test_a_full_disk_is_one_line(verb: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SMEMREUSE, *VERBS[verb](str(HALO))],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert_one_line_error(done.returncode, "", done.stderr)
    assert "standard output: cannot be written: No space left on device" in done.stderr


def test_a_packer_that_knows_no_conflicts_gives_way_and_says_so() -> None:
    """TileLang's scan takes live ranges alone; the arms of a warp-specialized GEMM are more."""
    (kernel,) = run_json("plan", "--packer", "tilelang", "--format", "json", WARP_SPECIALIZED)[
        "kernels"
    ]
    assert any(
        "packed by `best`, since packer 'tilelang' fails" in note for note in kernel["notes"]
    )


@pytest.mark.parametrize("verb", ["plan", "compare", "check", "explain"])
def test_what_is_allocated_and_never_touched_is_named(verb: str, tmp_path: Path) -> None:
    """Once for each kernel, whatever scopes it has; the answer itself stays as it is."""
    path = tmp_path / "cut.tir"
    static = 'Cs = T.alloc_buffer((64,), scope="shared")\n'
    path.write_text(launched(static + "As[0] = T.float32(0)"))
    warning = f"{path}: main allocates Cs, Bs, which nothing touches; is the dump complete?\n"
    for options in ([], ["--format", "json"]):
        result = run(verb, str(path), *options)
        assert result.stderr.startswith(warning)
        assert result.stderr.count("which nothing touches") == 1
    assert json.loads(result.stdout)["kernels"] or verb == "explain"
