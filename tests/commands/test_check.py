"""`check`: plan files, and the plans that a compiler or `apply` left in a dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smemreuse.report.next_steps import BUILD
from smemreuse.report.preconditions import PROVED
from tests.commands.running import SMALLEST, run, run_json
from tests.compilers.text.texts import launched
from tests.conftest import DUMPS, ROOT

WHILE_TABLE = str(DUMPS / "while_table.sm_80.tir")
BATCHED = str(DUMPS / "batched_gemm.sm_80.tir")
GEMM = str(DUMPS / "gemm.sm_90a.tir")


def plan_file(tmp_path: Path, dump: str, policy: str) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(run("plan", *SMALLEST, dump, "--policy", policy, "--format", "json").stdout)
    return path


def changed(path: Path, **values: object) -> Path:
    """The plan file with fields of its only kernel replaced."""
    data = json.loads(path.read_text())
    data["kernels"][0].update(values)
    path.write_text(json.dumps(data))
    return path


def verdict_of(*arguments: str, exit_code: int) -> dict[str, Any]:
    result = run("check", *arguments, "--format", "json")
    assert result.exit_code == exit_code, result.output
    data = json.loads(result.stdout)
    assert data["schema"] == "smemreuse.check/1"
    (kernel,) = data["kernels"]
    assert isinstance(kernel, dict)
    return kernel


def test_an_unsound_plan_is_a_finding(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, WHILE_TABLE, "inner")
    found = verdict_of(WHILE_TABLE, "--plan", str(plan), exit_code=1)
    assert (found["sound"], found["verdict"]) == (False, "unsound")
    (violation,) = found["violations"]
    assert violation["rule"] == 2
    assert violation["buffers"] == ["table", "scratch"]
    assert "overwrote it" in violation["witness"]
    assert "(line 37)" in violation["witness"]


@pytest.mark.parametrize(
    ("dump", "agents", "lacks"),
    [
        ("while_table.sm_80", ("threads 0-127", "thread 127"), "table and scratch must not share"),
        ("tma_store_in_flight.sm_90a", ("TMA store of thread 0", "thread 32"), "a wait is missing"),
        ("divergent_arms.sm_80", ("thread 0", "thread 64"), "a barrier is missing, or right and"),
    ],
)
def test_the_witness_against_a_plan_is_drawn(
    tmp_path: Path, dump: str, agents: tuple[str, str], lacks: str
) -> None:
    file = f"fixtures/dumps/{dump}.tir"
    plan = plan_file(tmp_path, file, "inner")
    acts = verdict_of(file, "--plan", str(plan), exit_code=1)["violations"][0]["acts"]
    assert {one["agent"] for one in acts} == {*agents}
    drawn = run("check", file, "--plan", str(plan), "--show").stdout
    assert f"  x  {lacks}" in drawn
    heads = [line.split("  ") for line in drawn.splitlines() if line.endswith(agents[1])]
    assert any({*agents} <= {part.strip() for part in head} for head in heads)
    assert "  x  " not in run("check", file, "--plan", str(plan)).stdout


@pytest.mark.parametrize("dump", [WHILE_TABLE, BATCHED, GEMM])
def test_a_dataflow_plan_is_sound(tmp_path: Path, dump: str) -> None:
    plan = plan_file(tmp_path, dump, "dataflow")
    assert verdict_of(dump, "--plan", str(plan), exit_code=0)["verdict"] == "sound"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"offsets": {"As": 8, "Bs": 32768, "Cs": 65536}, "arena_bytes": 98304}, 7),
        ({"offsets": {"As": 0, "Bs": 16384, "Cs": 32768}, "arena_bytes": 1024}, 7),
        ({"offsets": {"As": -16, "Bs": 16384, "Cs": 32768}}, 7),
        ({"offsets": {"As": 0, "Bs": 0, "Cs": 16384}, "arena_bytes": 65536}, 2),
    ],
)
def test_what_is_wrong_with_a_plan(tmp_path: Path, fields: dict[str, object], rule: int) -> None:
    plan = changed(plan_file(tmp_path, BATCHED, "outer"), **fields)
    found = verdict_of(BATCHED, "--plan", str(plan), exit_code=1)
    assert rule in {violation["rule"] for violation in found["violations"]}


@pytest.mark.parametrize("policy", ["outer", "inner", "dataflow"])
def test_what_apply_wrote_is_read_back(tmp_path: Path, policy: str) -> None:
    merged = tmp_path / "merged.tir"
    applied = run("apply", *SMALLEST, BATCHED, "-o", str(merged), "--policy", policy)
    assert applied.exit_code == 0
    found = verdict_of(str(merged), exit_code=0)
    options = (*SMALLEST, "--policy", policy, "--format", "json")
    planned = run_json("plan", BATCHED, *options)["kernels"][0]
    assert found["plan"] == "merged in the file"
    assert found["offsets"] == planned["offsets"]
    assert found["arena_bytes"] == planned["arena_bytes"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("buf_dyn_shmem.data, 16384", "buf_dyn_shmem.data, 32768"), ("(32768,), ", "(100,), ")],
    ids=["a buffer behind the arena", "an arena too small"],
)
def test_a_merge_that_leaves_its_arena_breaks_rule_7(tmp_path: Path, old: str, new: str) -> None:
    merged = tmp_path / "merged.tir"
    run("apply", *SMALLEST, BATCHED, "-o", str(merged))
    assert old in merged.read_text()
    merged.write_text(merged.read_text().replace(old, new, 1))
    found = verdict_of(str(merged), exit_code=1)
    assert {violation["rule"] for violation in found["violations"]} == {7}


@pytest.mark.parametrize(("guard", "verdict"), [("tx < 64", "sound"), ("tx < 65", "unproved")])
def test_an_access_that_leaves_its_buffer_is_named(
    tmp_path: Path, guard: str, verdict: str
) -> None:
    """What is taken for granted of the kernel, and is not so."""
    path = tmp_path / "dump.tir"
    body = f'tx = T.launch_thread("threadIdx.x", 128)\nif {guard}:\n    As[tx] = T.float32(0)\n'
    path.write_text(launched(body + "Bs[tx % 64] = T.float32(1)\n"))
    plan = plan_file(tmp_path, str(path), "inner")
    assert json.loads(plan.read_text())["kernels"][0]["arena_bytes"] == 256
    exit_code = 1 if verdict == "unproved" else 0
    found = verdict_of(str(path), "--plan", str(plan), exit_code=exit_code)
    assert found["verdict"] == verdict
    allowed = ("--plan", str(plan), "--allow-unproved")
    assert verdict_of(str(path), *allowed, exit_code=0) == {**found, "fails": False}
    leaving = ["`As[tx] = 0.0` (line 10) leaves As, which has 256 bytes"]
    assert found["uncovered"] == (leaving if verdict == "unproved" else [])


def test_an_unsound_merge_in_a_file_is_found(tmp_path: Path) -> None:
    merged = tmp_path / "merged.tir"
    run("apply", WHILE_TABLE, "-o", str(merged), "--policy", "inner", "--unchecked")
    assert verdict_of(str(merged), exit_code=1)["verdict"] == "unsound"


def test_apply_takes_the_next_plan_that_holds(tmp_path: Path) -> None:
    merged = tmp_path / "merged.tir"
    result = run("apply", WHILE_TABLE, "-o", str(merged), "--policy", "inner")
    assert result.exit_code == 0
    assert "a plan of 4,096 bytes was not applied, unsound" in result.stderr
    assert verdict_of(str(merged), exit_code=0)["verdict"] == "sound"


def test_without_barriers_nothing_orders_the_threads(tmp_path: Path) -> None:
    """The same merge, held against the barriers that are in the file: there are none."""
    merged = tmp_path / "merged.tir"
    run("apply", *SMALLEST, BATCHED, "-o", str(merged))
    found = verdict_of(str(merged), "--barriers", "present", exit_code=1)
    assert {violation["rule"] for violation in found["violations"]} == {6}


def test_a_dump_that_is_not_merged_shares_nothing() -> None:
    """Which is no success: nobody has looked at a merge."""
    found = verdict_of(BATCHED, exit_code=1)
    assert (found["plan"], found["offsets"], found["sound"]) == ("nothing merged", {}, True)
    assert verdict_of(BATCHED, "--allow-unproved", exit_code=0) == {**found, "fails": False}


def test_the_table_begins_with_the_verdict_where_there_is_one(tmp_path: Path) -> None:
    merged = tmp_path / "merged.tir"
    run("apply", *SMALLEST, BATCHED, "-o", str(merged))
    assert run("check", str(merged)).stdout.startswith("sound, if ThreadSync follows: ")
    told = printed("check", BATCHED)
    assert told.startswith(f"{BATCHED}: batched_gemm_kernel (shared.dyn): no buffers are merged")
    side_by_side = "there is no layout to check (side by side they are sound)"
    assert f"{side_by_side} next (compute smemreuse's layout" in told


def test_a_plan_places_what_is_used(tmp_path: Path) -> None:
    path = tmp_path / "dump.tir"
    unused = 'Us = T.alloc_buffer((64,), scope="shared.dyn")\n'
    path.write_text(launched(f"{unused}As[0] = Bs[0]\n"))
    plan = plan_file(tmp_path, str(path), "dataflow")
    assert json.loads(plan.read_text())["kernels"][0]["offsets"].keys() == {"As", "Bs"}
    assert verdict_of(str(path), "--plan", str(plan), exit_code=0)["sound"]


def test_a_plan_with_a_symbolic_offset_is_not_checked(tmp_path: Path) -> None:
    """What lies behind an unknown number of bytes cannot be executed."""
    path = tmp_path / "dump.tir"
    symbolic = 'Ns = T.alloc_buffer((n,), scope="shared.dyn")\nNs[0] = As[0] + Bs[0]\n'
    path.write_text(launched(symbolic))
    result = run("check", str(path), "--plan", str(plan_file(tmp_path, str(path), "dataflow")))
    assert result.exit_code == 2
    assert "the offset of Ns in kernel main is symbolic; plans are checked by numbers" in (
        result.stderr
    )


def test_a_dump_that_is_not_merged_has_nothing_to_audit(tmp_path: Path) -> None:
    """Its verdict is true of a plan that shares nothing, and could be read as one on the kernel."""
    text = printed("check", BATCHED)
    assert "no buffers are merged here, so there is no layout to check (side by side" in text
    assert "0 buffers" not in text
    merged = tmp_path / "merged.tir"
    run("apply", *SMALLEST, BATCHED, "-o", str(merged))
    text = printed("check", str(merged))
    assert "merged in the file, 3 buffers in 32,768 bytes" in text
    assert f"sound, if ThreadSync follows: {merged}: batched_gemm_kernel (shared.dyn)" in text
    assert f"next: {BUILD}" in text
    assert "lint was run on the unmerged kernel: no hazard was found" in text
    assert "inside branches, too (docs/soundness.md, rule 6)" in text


def printed(*arguments: str) -> str:
    """Standard output on one line."""
    return " ".join(run(*arguments).stdout.split())


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("", "not JSON"),
        ("[1, 2]", "the schema must be"),
        ('{"schema": "smemreuse.plan/2", "kernels": []}', "the schema must be"),
        ('{"schema": "smemreuse.plan/1"}', "no list of kernels"),
        ('{"schema": "smemreuse.plan/1", "kernels": [3]}', "not an object"),
        ('{"schema": "smemreuse.plan/1", "kernels": [{}]}', "no name or scope"),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "k", "scope": "shared"}]}',
            "no offsets or arena_bytes",
        ),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "nobody", "scope": "shared.dyn", '
            '"offsets": {}, "arena_bytes": 0}]}',
            "which the dump does not have",
        ),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "batched_gemm_kernel", '
            '"scope": "shared.dyn", "offsets": {"Zs": 0}, "arena_bytes": 0}]}',
            "no buffer 'Zs'; there are As, Bs, Cs",
        ),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "batched_gemm_kernel", '
            '"scope": "shared.dyn", "offsets": {"As": 1.5}, "arena_bytes": 0}]}',
            "no number of bytes",
        ),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "batched_gemm_kernel", '
            '"scope": "shared.dyn", "offsets": {"As": 0, "Cs": 16384}, "arena_bytes": 49152}]}',
            "gives no place to Bs, which kernel batched_gemm_kernel uses",
        ),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "batched_gemm_kernel", '
            '"scope": "shared.dyn", "offsets": {"As": 0, "Bs": "As", "Cs": 16384}, '
            '"arena_bytes": 49152}]}',
            "the offset of Bs in kernel batched_gemm_kernel is no number of bytes",
        ),
        ('{"schema": "smemreuse.plan/1", "kernels": []}', "plans none of the kernels"),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [{"name": "batched_gemm_kernel", '
            '"scope": "shared.dyn", "offsets": {"As": 0, "Bs": 16384, "As": 16384, "Cs": 0}, '
            '"arena_bytes": 49152}]}',
            "an object has 'As' twice",
        ),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_plan_file_is_one_line(tmp_path: Path, text: str, mend: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = run("check", BATCHED, "--plan", str(path))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr
    assert mend in result.stderr


def test_a_sound_plan_tells_what_it_rests_on(tmp_path: Path) -> None:
    """Nothing where lint calls the kernel clean."""
    plan = plan_file(tmp_path, BATCHED, "dataflow")
    found = verdict_of(BATCHED, "--plan", str(plan), exit_code=0)
    assert found["rests_on"] == {"lint": "clean", "proved": True, "open": [], "assumptions": []}
    told = " ".join(run("check", BATCHED, "--plan", str(plan)).stdout.split())
    assert PROVED in told


def test_an_assumption_that_does_not_hold_is_told(tmp_path: Path) -> None:
    dump = str(ROOT / "fixtures" / "lint" / "refilled_without_fence.tir")
    plan = plan_file(tmp_path, dump, "dataflow")
    found = verdict_of(dump, "--plan", str(plan), exit_code=0)
    assert found["verdict"] == "sound"
    (one,) = found["rests_on"]["open"]
    assert (one["assumption"], one["refuted"]) == ("fenced", True)
    assert "with no proxy fence between" in one["why"]
    told = " ".join(run("check", dump, "--plan", str(plan)).stdout.split())
    assert "that the unmerged kernel has every proxy fence that it needs; lint refutes that" in told
    assert told.startswith("sound, if the kernel's own hazards are fixed: ")
    assert told.endswith(f"next (the kernel's own hazards, and their fixes): smemreuse lint {dump}")


def test_a_plan_that_is_not_sound_rests_on_nothing(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, WHILE_TABLE, "inner")
    assert verdict_of(WHILE_TABLE, "--plan", str(plan), exit_code=1)["rests_on"] is None


def test_nor_does_a_kernel_in_which_nothing_is_merged() -> None:
    data = json.loads(run("check", WHILE_TABLE, "--format", "json").stdout)
    assert [kernel["rests_on"] for kernel in data["kernels"]] == [None]
