"""`reproduce`: of a dump all but the run, of a script without a GPU the files."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import assert_one_line_error, run
from tests.conftest import ROOT
from tests.schemas import require_valid

LINT = ROOT / "fixtures" / "lint"
RACE = LINT / "race_round_the_loop.tir"
LATE_WARPS = ROOT / "fixtures" / "reproduce" / "late_warps.py"


def refused(*args: str | Path, says: str) -> None:
    result = run("reproduce", *args)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert says in result.stderr


def document(folder: Path) -> Any:
    found = json.loads((folder / "reproduce.json").read_text())
    require_valid(found)
    return found


def test_of_a_dump_there_is_a_report_that_says_it_was_not_run(tmp_path: Path) -> None:
    result = run("reproduce", "-o", tmp_path / "out", RACE)
    assert result.exit_code == 1
    assert "1 certain finding, none launched" in result.stderr
    assert f"wrote the reports and reproduce.json to {tmp_path / 'out'}" in result.stderr
    assert result.stdout.count("not run: a dump has no host code to launch it; ") == 1
    (finding,) = document(tmp_path / "out")["findings"]
    assert (finding["shown"], finding["why"]) == ("not run", "a dump has no host code to launch it")
    text = (tmp_path / "out" / finding["report"]).read_text()
    assert "Not run: a dump has no host code to launch it." in text
    assert "k = 0  reads byte 0 of As" in text
    assert "a barrier is missing" in text
    assert "```diff\n--- dump\n+++ fixed\n" in text
    assert finding["script"] is None
    assert [each.suffix for each in sorted((tmp_path / "out").iterdir())] == [".md", ".json"]


def test_json_is_what_the_folder_gets(tmp_path: Path) -> None:
    result = run("reproduce", "-o", tmp_path, "--format", "json", RACE)
    assert json.loads(result.stdout) == document(tmp_path)


def test_one_finding_may_be_asked_for(tmp_path: Path) -> None:
    data = json.loads(run("lint", RACE, "--format", "json").stdout)
    name = data["kernels"][0]["hazards"][0]["finding"]
    result = run("reproduce", "-o", tmp_path / "one", "--finding", name, RACE)
    assert (result.exit_code, len(document(tmp_path / "one")["findings"])) == (1, 1)
    refused("-o", tmp_path / "two", "--finding", "00000000", RACE, says="no certain finding")


def test_an_earlier_run_is_a_reproduce_json(tmp_path: Path) -> None:
    assert run("reproduce", "-o", tmp_path / "one", RACE).exit_code == 1
    earlier = tmp_path / "one" / "reproduce.json"
    script = tmp_path / "script.py"
    script.write_text("")
    refused("-o", tmp_path / "two", "--after", script, script, says="is no reproduce.json")
    refused("-o", tmp_path / "three", "--after", earlier, script, says="compiled no kernel")


def test_a_kernel_without_certain_findings_is_fine(tmp_path: Path) -> None:
    result = run("reproduce", "-o", tmp_path, LINT / "race_round_the_loop.mended.tir")
    assert result.exit_code == 0
    assert document(tmp_path)["findings"] == []
    assert "no certain finding" in result.stderr


def test_what_is_there_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    refused("-o", tmp_path, RACE, says="--force")
    assert run("reproduce", "-o", tmp_path, "--force", RACE).exit_code == 1
    assert (tmp_path / "mine").exists()


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    refused("-o", tmp_path, tmp_path / "none.py", says="cannot be read")


def test_a_dump_is_never_executed(tmp_path: Path) -> None:
    path = tmp_path / "dump.tir"
    path.write_text(f"open({str(tmp_path / 'made')!r}, 'w')\n{RACE.read_text()}")
    run("reproduce", "-o", tmp_path / "out", path)
    assert not (tmp_path / "made").exists()


@pytest.mark.tilelang
def test_of_a_script_without_a_gpu_the_files_are_written(tmp_path: Path) -> None:
    options = ("--lower-only", "--arch", "sm_90a", "-o", str(tmp_path / "out"))
    result = run("reproduce", *options, LATE_WARPS)
    assert result.exit_code == 1, result.stderr
    found = document(tmp_path / "out")["findings"]
    assert [one["hazard"]["kind"] for one in found] == [
        *("race", "race", "missing-wait", "missing-fence")
    ]
    for one in found:
        assert (one["shown"], one["why"]) == ("not run", "--lower-only launches nothing")
        script = (tmp_path / "out" / one["script"]).read_text()
        ast.parse(script)
        assert script.count("\n") <= 150
        report = (tmp_path / "out" / one["report"]).read_text()
        assert one["mends"]
        assert "+++ kernel.fixed.cu" in report
        assert "late_warps.py" in report
    delayed = (tmp_path / "out" / found[1]["report"]).read_text()
    assert "+    smemreuse_delay(96, 128, 20000, (k == 0));" in delayed


@pytest.mark.tilelang
def test_what_must_come_out_may_be_given(tmp_path: Path) -> None:
    options = ("--lower-only", "--arch", "sm_90a", "-o", str(tmp_path / "out"))
    given = ROOT / "fixtures" / "reproduce" / "expected" / "barrier_in_each_arm.py"
    script = ROOT / "fixtures" / "reproduce" / "field.py"
    result = run("reproduce", *options, "--expected", given, script, "barrier_in_each_arm")
    assert result.exit_code == 1, result.stderr
    (finding, *_) = document(tmp_path / "out")["findings"]
    assert finding["reference"] == "expected"
    text = (tmp_path / "out" / finding["script"]).read_text()
    ast.parse(text)
    assert 'SEED, REFERENCE = 1, "expected"' in text.replace("'", '"')
    assert "def expected(x: Any, y: Any) -> None" in text


@pytest.mark.tilelang
def test_what_refutes_a_plan_is_written_as_a_finding(tmp_path: Path) -> None:
    options = ("--lower-only", "--arch", "sm_90a", "-o", str(tmp_path / "out"))
    script = ROOT / "fixtures" / "reproduce" / "plans.py"
    result = run("reproduce", *options, "--policy", "inner", script, "divergent_arms", "gemm")
    assert result.exit_code == 1, result.stderr
    (finding,) = document(tmp_path / "out")["findings"]
    assert finding["hazard"]["buffers"] == ["right", "left"]
    assert finding["reference"] == "fixed"
    text = (tmp_path / "out" / finding["script"]).read_text()
    assert "'tl.disable_shared_memory_reuse': True" in text.replace('"', "'")
    assert '"fixed": []' in text
    report = (tmp_path / "out" / finding["report"]).read_text()
    assert "fix: keep right and left apart" in report
    assert "smemreuse_delay(0, 32, 20000" in report


def test_a_file_without_what_must_come_out_is_bad_input(tmp_path: Path) -> None:
    given = tmp_path / "given.py"
    for text, says in (("x = 1\n", "no function `expected`"), ("x =\n", "is no Python")):
        given.write_text(text)
        options = ("-o", tmp_path / "out", "--force", "--lower-only", "--expected", given)
        refused(*options, LATE_WARPS, says=says)


@pytest.mark.tilelang
def test_a_script_that_compiles_nothing_is_bad_input(tmp_path: Path) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("x = 1\n")
    refused("--lower-only", "-o", tmp_path / "out", script, says="compiled no kernel")


def test_options_may_stand_behind_the_file(tmp_path: Path) -> None:
    assert run("reproduce", RACE, "-o", tmp_path / "out").exit_code == 1
    assert len(document(tmp_path / "out")["findings"]) == 1
