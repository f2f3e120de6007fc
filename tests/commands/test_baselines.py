"""Baselines of `compare` and `check`, and findings for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import SMALLEST, assert_one_line_error, run, run_json
from tests.commands.test_exit_codes import kernel as kernel_of
from tests.commands.test_exit_codes import module
from tests.conftest import DUMPS, ROOT

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
REFUTED = DUMPS / "gemm_three_groups.sm_90a.tir"
SMALL = DUMPS / "leaf_both.sm_80.tir"


def baseline(tmp_path: Path, verb: str, *files: Path | str) -> Path:
    path = tmp_path / f"{verb}.json"
    path.write_text(run(verb, *files, "--format", "json").stdout)
    return path


def edited(path: Path, **values: object) -> Path:
    """The baseline with fields of its first kernel, or of the plan that would be applied, set."""
    data = json.loads(path.read_text())
    kernel = data["kernels"][0]
    plan = kernel.get("policies", {}).get("dataflow", kernel)
    plan.update(values)
    path.write_text(json.dumps(data))
    return path


def test_nothing_is_worse_than_the_same(tmp_path: Path) -> None:
    known = baseline(tmp_path, "compare", BATCHED, SMALL)
    result = run("compare", BATCHED, SMALL, "--baseline", known)
    assert result.exit_code == 0
    assert "against the baseline: 2 as before" in result.stdout
    options = ("--baseline", known, "--format", "json")
    for kernel in run_json("compare", BATCHED, SMALL, *options)["kernels"]:
        arena = kernel["policies"]["dataflow"]["arena_bytes"]
        told = {"arena_bytes": arena, "verdict": "sound", "regressions": []}
        assert kernel["baseline"] == told
    assert run_json("compare", BATCHED, *options, "--only-findings")["kernels"] == []
    assert run_json("compare", BATCHED, *options, "--changed-only")["kernels"] == []


@pytest.mark.parametrize(
    ("before", "kind", "sentence"),
    [
        ({"arena_bytes": 16_384}, "larger-footprint", "16,384 -> 32,768 bytes"),
        ({"arena_bytes": 65_536}, None, "65,536 -> 32,768 bytes"),
        ({"blocks_per_sm": 16}, "fewer-blocks", "16 -> 4 blocks per SM"),
        ({"verdict": "unproved"}, None, "unproved -> sound"),
    ],
)
def test_only_what_is_worse_is_a_finding(
    tmp_path: Path, before: dict[str, object], kind: str | None, sentence: str
) -> None:
    known = edited(baseline(tmp_path, "compare", BATCHED, *SMALLEST), **before)
    result = run("compare", *SMALLEST, BATCHED, "--baseline", known)
    assert result.exit_code == (kind is not None)
    assert f"batched_gemm_kernel (shared.dyn): {sentence}" in result.stdout
    sarif = run("compare", *SMALLEST, BATCHED, "--baseline", known, "--format", "sarif").stdout
    log = json.loads(sarif)
    found = log["runs"][0]["results"]
    assert [each["ruleId"] for each in found] == ([kind] if kind else [])
    for each in found:
        assert sentence in each["message"]["text"]
        assert each["level"] == "error"


def test_many_files_have_a_column_of_what_changed(tmp_path: Path) -> None:
    files = sorted(DUMPS.glob("[a-d]*.sm_80.tir"))
    known = edited(baseline(tmp_path, "compare", *files[:-1]), arena_bytes=16)
    result = run("compare", *files, "--baseline", known)
    assert result.exit_code == 1
    assert f"against the baseline: 1 worse, 1 new, {len(files) - 2} as before" in result.stdout
    assert "16 -> 8,192 bytes" in result.stdout
    lines = run("compare", *files, "--baseline", known, "--changed-only").stdout.splitlines()
    assert sum(line.startswith("| ") for line in lines) == 3


def test_a_verdict_that_is_worse_and_a_new_violation(tmp_path: Path) -> None:
    dump, plan = DUMPS / "while_table.sm_80.tir", tmp_path / "plan.json"
    plan.write_text(run("plan", dump, "--policy", "inner", "--format", "json").stdout)
    refuted = (dump, "--plan", plan)
    known = baseline(tmp_path, "check", *refuted)
    assert run("check", *refuted).exit_code == 1
    assert run("check", *refuted, "--baseline", known).exit_code == 0
    edited(known, violations=[])
    result = run("check", *refuted, "--baseline", known, "--format", "json")
    assert result.exit_code == 1
    (kernel,) = json.loads(result.stdout)["kernels"]
    (worse,) = kernel["baseline"]["regressions"]
    assert worse == {"kind": "new-violation", "sentence": "rule 2, table and scratch"}
    edited(known, verdict="unproved")
    lines = run("check", *refuted, "--baseline", known, "--format", "github").stdout.splitlines()
    assert [line.partition("title=")[2].partition(" in ")[0] for line in lines] == [
        "worse-verdict",
        "new-violation",
    ]
    told = run("check", *refuted, "--baseline", known).stdout
    assert "against the baseline: unproved -> unsound; rule 2, table and scratch" in told


@pytest.mark.parametrize(
    ("refuted", "told"),
    [(None, "fenced, open; fenced, refuted"), (False, "fenced, refuted"), (True, None)],
)
def test_a_proof_assumes_what_it_did_not(
    tmp_path: Path, refuted: bool | None, told: str | None
) -> None:
    dump, plan = ROOT / "fixtures/lint/refilled_without_fence.tir", tmp_path / "plan.json"
    plan.write_text(run("plan", dump, "--format", "json").stdout)
    known = baseline(tmp_path, "check", dump, "--plan", plan)
    rests_on = json.loads(known.read_text())["kernels"][0]["rests_on"]
    (assumption,) = rests_on["open"]
    rests_on["open"] = [] if refuted is None else [{**assumption, "refuted": refuted}]
    edited(known, rests_on=rests_on)
    options = ("--plan", plan, "--baseline", known, "--format", "json")
    result = run("check", dump, *options)
    worse = json.loads(result.stdout)["kernels"][0]["baseline"]["regressions"]
    assert result.exit_code == (told is not None)
    assert worse == ([{"kind": "new-assumption", "sentence": told}] if told else [])


def test_a_kernel_that_was_unproved_has_no_plan_now(tmp_path: Path) -> None:
    plan, none = tmp_path / "plan.json", tmp_path / "none.json"
    both = tmp_path / "both.tir"
    both.write_text(module(kernel_of("k"), kernel_of("m")))
    data = json.loads(run("plan", both, "--format", "json").stdout)
    plan.write_text(json.dumps(data))
    none.write_text(json.dumps({**data, "kernels": data["kernels"][1:]}))
    known = edited(baseline(tmp_path, "check", both, "--plan", plan), verdict="unproved")
    result = run("check", both, "--plan", none, "--baseline", known)
    assert result.exit_code == 1
    assert "unproved -> no plan" in result.stdout


@pytest.mark.parametrize("options", [[], ["--allow-unproved"]])
def test_a_new_file_has_a_plan(tmp_path: Path, options: list[str]) -> None:
    """A file without one that the baseline has is as before."""
    known = baseline(tmp_path, "check", SMALL)
    assert run("check", SMALL, "--baseline", known).exit_code == 0
    result = run("check", SMALL, BATCHED, "--baseline", known, *options, "--format", "github")
    assert result.exit_code == (0 if options else 1)
    assert result.stdout.count("title=nothing-to-audit in ") == result.exit_code
    told = run("check", SMALL, BATCHED, "--baseline", known, *options).stdout
    assert ("nothing to check in 1 file:" in told) is not bool(options)


@pytest.mark.parametrize("options", [["--only-findings"], ["--changed-only"]])
def test_what_is_left_out_is_counted_all_the_same(tmp_path: Path, options: list[str]) -> None:
    known = edited(baseline(tmp_path, "compare", BATCHED, SMALL), arena_bytes=16)
    told = run("compare", BATCHED, SMALL, "--baseline", known, *options).stdout
    assert "against the baseline: 1 worse, 1 as before" in told


def test_files_may_move_and_a_new_kernel_is_none_unless_it_is_wrong(tmp_path: Path) -> None:
    known = baseline(tmp_path, "compare", BATCHED, *SMALLEST)
    moved = tmp_path / "other" / "renamed.tir"
    moved.parent.mkdir()
    moved.write_text(BATCHED.read_text())
    result = run("compare", *SMALLEST, moved, SMALL, "--baseline", known, "--format", "json")
    assert result.exit_code == 0
    first, second = json.loads(result.stdout)["kernels"]
    assert first["baseline"]["arena_bytes"] == 32_768
    assert second["baseline"] == {"arena_bytes": None, "verdict": None, "regressions": []}


@pytest.mark.parametrize("verb", ["compare", "check"])
@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": "smemreuse.lint/1", "kernels": []}', '{"kernels": [{}]}', "[" * 100_000],
)
def test_a_bad_baseline_is_one_line(tmp_path: Path, verb: str, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = run(verb, BATCHED, "--baseline", path)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert f"give what `{verb} --format json` wrote" in result.stderr


@pytest.mark.parametrize(
    ("verb", "then", "now", "told"),
    [
        (
            "compare",
            ["--objective", "none"],
            [],
            "--objective none, and this call is with --objective speed",
        ),
        ("compare", [], ["--packer", "tvm"], "--packer best, and this call is with --packer tvm"),
        ("compare", ["--arch", "sm_80"], [], "--arch sm_80, and this call is without --arch"),
        (
            "check",
            ["--barriers", "present"],
            [],
            "--barriers present, and this call is with --barriers auto",
        ),
    ],
)
def test_a_baseline_of_other_options_is_refused(
    tmp_path: Path, verb: str, then: list[str], now: list[str], told: str
) -> None:
    known = baseline(tmp_path, verb, SMALL, *then)
    assert run(verb, SMALL, "--baseline", known, *then).exit_code == 0
    result = run(verb, SMALL, "--baseline", known, *now)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert f"written with {told}; give what `{verb} --format json` wrote" in result.stderr


def test_an_objective_has_two_names(tmp_path: Path) -> None:
    known = baseline(tmp_path, "compare", SMALL, "--objective", "occupancy")
    assert run("compare", SMALL, "--baseline", known, "--objective", "speed").exit_code == 0


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_baseline_without_the_options_is_taken_as_it_is(tmp_path: Path, verb: str) -> None:
    known = baseline(tmp_path, verb, SMALL)
    data = json.loads(known.read_text())
    del data["options"]
    known.write_text(json.dumps(data))
    assert run(verb, SMALL, "--baseline", known).exit_code == 0


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_against_a_baseline_without_a_kernel_nothing_would_be_worse(
    tmp_path: Path, verb: str
) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"schema": f"smemreuse.{verb}/1", "kernels": []}))
    result = run(verb, BATCHED, "--baseline", path)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "there is no kernel in it" in result.stderr


STANDING = {
    **{"file": "a", "name": "b", "scope": "c", "fits": True},
    **{"verdict": "sound", "violations": [], "arena_bytes": float("inf")},
}


@pytest.mark.parametrize(
    "kernel",
    [
        {},
        {"file": "a", "name": "b", "scope": "c"},
        {"verdict": "wonderful", "violations": 3},
        {**STANDING, "policies": {"dataflow": STANDING}},
    ],
)
@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_kernel_of_a_baseline_must_have_what_is_compared(
    tmp_path: Path, verb: str, kernel: dict[str, Any]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"schema": f"smemreuse.{verb}/1", "kernels": [kernel]}))
    result = run(verb, BATCHED, "--baseline", path)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "lacks its bytes or its verdict" in result.stderr


def test_findings_of_compare_and_check_at_a_line() -> None:
    log = json.loads(run("compare", REFUTED, BATCHED, "--format", "sarif").stdout)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("unsound-outer", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file:///")
    assert "alloc_buffer" in REFUTED.read_text().splitlines()[place["region"]["startLine"] - 1]
    github = run("compare", REFUTED, BATCHED, "--format", "github")
    assert github.exit_code == 0
    (line,) = github.stdout.splitlines()
    assert line.startswith(f"::warning file={REFUTED},line={place['region']['startLine']},title=")
    assert run("compare", BATCHED, "--format", "github").stdout == ""
