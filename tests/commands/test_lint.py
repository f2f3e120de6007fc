"""`lint`: statuses, exit codes, formats and baselines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smemreuse.commands.lint import EACH
from smemreuse.commands.output import ANNOTATIONS, NO_ANNOTATION
from smemreuse.report.hazard_exits import MOST_OTHERS
from smemreuse.results.hazards import HazardKind
from tests.commands.running import assert_one_line_error, run, run_json
from tests.conftest import DUMPS, ROOT

FIXTURES = ROOT / "fixtures" / "lint"
RACE = FIXTURES / "race_between_threads.tir"
MENDED = FIXTURES / "race_between_threads.mended.tir"
POSSIBLE = FIXTURES / "parity_that_never_comes.tir"


@pytest.mark.parametrize(
    ("file", "options", "code"),
    [
        (RACE, [], 1),
        (MENDED, [], 0),
        (POSSIBLE, [], 0),
        (POSSIBLE, ["--strict"], 1),
        (MENDED, ["--strict"], 0),
        (RACE, ["--barriers", "later"], 0),
    ],
)
def test_only_what_is_certain_fails_unless_strict(
    file: Path, options: list[str], code: int
) -> None:
    assert run("lint", file, *options).exit_code == code


def test_what_is_not_followed_is_told_and_fails_if_strict(tmp_path: Path) -> None:
    text = MENDED.read_text().replace(
        "Y_1[tx] = As_1", "T.evaluate(T.unheard_of(As.data))\n        Y_1[tx] = As_1"
    )
    path = tmp_path / "dump.tir"
    path.write_text(text)
    result = run("lint", path, "--format", "json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert result.exit_code == 0
    assert (kernel["status"], kernel["clean"]) == ("unknown", False)
    assert "unheard_of" in kernel["unknown"][0]
    assert not kernel["fails"]
    strict = run("lint", path, "--strict", "--format", "json", "--only-findings")
    assert strict.exit_code == 1
    assert [one["fails"] for one in json.loads(strict.stdout)["kernels"]] == [True]
    told = run("lint", path, "--strict", "--format", "github").stdout
    assert told.startswith("::error file=")
    assert "not-followed in kernel::not followed: " in told
    assert run("lint", path, "--format", "github").stdout == ""


def test_the_table_tells_where_what_and_the_mend() -> None:
    text = " ".join(run("lint", RACE).stdout.split())
    assert text.startswith("hazards: ")
    assert "linted with the barriers that the dump has" in text
    head = "line 23: can read stale data: race (certain by PTX; in the source): "
    assert f"{head}thread 0 writes byte 0 of As" in text
    assert "fix: let threads 0-127 meet at a barrier between line 22 and line 23." in text


def test_it_is_told_when_barriers_are_to_follow() -> None:
    assert "barriers and fences that the compiler will insert" in " ".join(
        run("lint", DUMPS / "gemm.sm_80.tir").stdout.split()
    )
    assert "clean: " in run("lint", DUMPS / "gemm.sm_80.tir").stdout


def test_json_has_all_of_a_hazard() -> None:
    result = run("lint", RACE, "--format", "json")
    data = json.loads(result.stdout)
    assert data["schema"] == "smemreuse.lint/1"
    (kernel,) = data["kernels"]
    assert (kernel["status"], kernel["barriers"], kernel["silenced"]) == ("hazards", "present", 0)
    (hazard,) = kernel["hazards"]
    assert (hazard["kind"], hazard["certain"], hazard["buffers"]) == ("race", True, ["As"])
    statement = "Y_1[tx] = As_1[127 - tx]"
    assert hazard["site"] == {"statement": statement, "line": 23, "source": None, "loops": {}}
    assert hazard["other"]["line"] == 22
    assert hazard["agents"] == ["thread 0", "thread 127"]
    assert hazard["blocks"] == {"bx": 0}
    mend = hazard["mend"]
    assert (mend["remedy"], mend["threads"]) == ("barrier", [0, 128])
    assert (mend["behind"]["line"], mend["before"]["line"]) == (22, 23)


def test_sarif_has_a_rule_for_each_kind_and_a_result_at_the_line() -> None:
    log = json.loads(run("lint", RACE, POSSIBLE, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    (run_,) = log["runs"]
    rules = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    assert rules == [*(kind.value for kind in HazardKind), "not-followed"]
    race, deadlock = run_["results"]
    assert (race["ruleId"], race["level"]) == ("race", "error")
    assert (deadlock["ruleId"], deadlock["level"]) == ("barrier-deadlock", "note")
    place = race["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 23}
    assert place["artifactLocation"]["uri"].endswith("race_between_threads.tir")


def test_sarif_names_the_other_statement_and_the_lines_of_python(tmp_path: Path) -> None:
    path = tmp_path / "dump.tir"
    lines = RACE.read_text().splitlines()
    lines[22] += "  # from a b/k.py:88"
    path.write_text("\n".join(lines))
    (result,) = json.loads(run("lint", path, "--format", "sarif").stdout)["runs"][0]["results"]
    places = [one["physicalLocation"] for one in result["relatedLocations"]]
    where = [(one["artifactLocation"]["uri"], one["region"]["startLine"]) for one in places]
    assert where == [(path.as_uri(), 22), ("a%20b/k.py", 88)]


def test_github_gets_one_line_for_each_hazard() -> None:
    lines = run("lint", RACE, POSSIBLE, MENDED, "--format", "github").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning"]
    assert ",line=23,title=race in kernel::thread 0 writes" in lines[0]


def test_outside_of_github_it_is_said_what_annotations_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert ANNOTATIONS in run("lint", RACE, "--format", "github").stderr
    nothing = run("lint", MENDED, "--format", "github").stderr
    assert nothing.startswith(f"{NO_ANNOTATION}; 1 kernel in 1 file, linted with the barriers that")
    assert nothing.endswith(": 1 clean\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert ANNOTATIONS not in run("lint", RACE, "--format", "github").stderr


def test_barriers_of_all_kernels_are_told_once() -> None:
    """They are those that the dump has, or those to come; of several kinds each line says it."""
    alike = run("lint", RACE, POSSIBLE).stdout
    assert alike.startswith("2 kernels in 2 files, linted with the barriers that the dump has: ")
    assert alike.count("linted with") == 1
    mixed = run("lint", RACE, DUMPS / "gemm.sm_80.tir").stdout
    assert mixed.startswith("2 kernels in 2 files: ")
    assert mixed.count("linted with") == 2


def test_clean_kernels_that_are_not_listed_say_that_they_rest_on_an_assumption() -> None:
    assuming = FIXTURES / "index_that_data_decide.mended.tir"
    told = "1 kernel is clean on an assumption"
    assert told in run("lint", assuming, MENDED, "--only-findings").stdout
    whole = run("lint", assuming, MENDED).stdout
    assert told not in whole
    assert "stays inside its buffer: As (line 23)" in " ".join(whole.split())


def test_a_baseline_silences_what_is_known(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text(run("lint", RACE, "--format", "json").stdout)
    moved = tmp_path / "moved.tir"
    moved.write_text(RACE.read_text().replace("@I.ir_module", "\n\n@I.ir_module"))
    result = run("lint", moved, POSSIBLE, "--baseline", known, "--format", "json")
    assert result.exit_code == 0
    first, second = json.loads(result.stdout)["kernels"]
    assert (first["status"], first["hazards"], first["silenced"]) == ("hazards", [], 1)
    assert len(second["hazards"]) == 1
    told = run("lint", moved, "--baseline", known).stdout
    assert "1 hazard in the baseline, not listed" in told
    assert told.endswith("next: nothing to do: no hazard that is not in the baseline was found\n")


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("", "not JSON"),
        ("[]", "the schema must be"),
        ('{"schema": "smemreuse.lint/1"}', "no list of kernels"),
        ('{"schema": "smemreuse.lint/1", "kernels": [{"hazards": [{}]}]}', "no list of kernels"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_baseline_is_one_line(tmp_path: Path, text: str, mend: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    result = run("lint", RACE, "--baseline", path)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert mend in result.stderr


def test_several_files_are_one_document() -> None:
    data = run_json("lint", MENDED, DUMPS / "two_kernels.sm_80.tir", "--format", "json")
    assert [kernel["status"] for kernel in data["kernels"]] == ["clean"] * 3


def test_a_long_statement_is_short_for_people_and_whole_in_json() -> None:
    file = DUMPS / "gemm.sm_90a-plain.tir"
    text = run("lint", file).stdout
    (kernel,) = json.loads(run("lint", "--format", "json", file).stdout)["kernels"]
    found = kernel["hazards"]
    longest = max((one["site"]["statement"] for one in found), key=len)
    assert longest not in text
    assert "[...]" in text
    assert any(longest in one["witness"] for one in found)


def test_a_certain_finding_says_what_such_hazards_did_on_hardware() -> None:
    data = json.loads(run("lint", RACE, "--format", "json").stdout)
    (hazard,) = data["kernels"][0]["hazards"]
    assert any(one["wrong"] == one["launches"] > 0 for one in hazard["seen"])
    assert hazard["mechanism"] == "read after write"
    told = " ".join(run("lint", RACE).stdout.split())
    assert "of 3 other kernels with race (read after write), 3 gave wrong results on an " in told
    assert ", in 37 of " in told, "launches"
    assert (
        "certain by PTX: with all inputs, or those that are named, nothing in the PTX ISA prevents "
        "it; whether a GPU does it depends on its timing in brackets"
    ) in told
    assert "smemreuse reproduce SCRIPT --finding ID" in told
    (possible,) = run_json("lint", POSSIBLE, "--format", "json")["kernels"][0]["hazards"]
    assert possible["seen"] == []
    assert "other kernels" not in run("lint", POSSIBLE).stdout


def test_what_was_not_measured_says_so() -> None:
    file = "fixtures/field/dumps/waits_before_it_is_set_up.varied.before.tir"
    data = json.loads(run("lint", file, "--format", "json").stdout)
    (hazard,) = data["kernels"][0]["hazards"]
    mechanism = "mbarrier completed by TMA after its initialization"
    assert (hazard["mechanism"], hazard["seen"]) == (mechanism, [])
    told = " ".join(run("lint", file).stdout.split())
    assert f"missing-fence ({mechanism}): wrong by the PTX ISA, not yet measured" in told


def test_an_mbarrier_has_the_name_that_its_statement_gives_it() -> None:
    """Not that of the allocation, of which the statement has a view."""
    told = " ".join(run("lint", DUMPS / "gemm.sm_90a.tir").stdout.split())
    assert "for parity 1 of mbarrier_1[2], which returns at once" in told


def test_the_way_into_a_build_comes_before_a_copy_of_the_dump() -> None:
    _, step = run("lint", DUMPS / "gemm.sm_90a.tir").stdout.split("\nnext: ")
    build, copy = " ".join(step.split()).split(" or (make all fixes in a copy of the dump): ")
    assert "inside `with smemreuse.tilelang.merge(mend=True):`" in build
    assert copy.endswith(" --fix -o fixed.tir")


def test_a_finding_is_shown_as_a_timeline() -> None:
    data = json.loads(run("lint", RACE, "--format", "json").stdout)
    (hazard,) = data["kernels"][0]["hazards"]
    for name in (hazard["finding"], hazard["fingerprint"]):
        result = run("lint", RACE, "--show", name)
        assert "x: what is missing between the two; =>: what that may lead to" in result.stdout
        assert result.exit_code == 1
        assert "a barrier is missing" in result.stdout
        assert result.stdout.index("writes byte 0") < result.stdout.index("reads byte 0")


def test_beside_one_finding_the_exit_code_is_told_to_be_for_others(tmp_path: Path) -> None:
    """What is shown may be only possible, where something else is certain: that is named, and where
    many are, what lists them."""
    (tmp_path / "race.tir").write_text(RACE.read_text())
    (tmp_path / "possible.tir").write_text(POSSIBLE.read_text())
    kernels = json.loads(run("lint", tmp_path, "--format", "json").stdout)["kernels"]
    found = {one["certain"]: one["finding"] for each in kernels for one in each["hazards"]}
    lines = {one["certain"]: one["site"]["line"] for each in kernels for one in each["hazards"]}
    told = "1 kernel with certain hazards of the kernel's own source (--fail-on author)"
    for certain, beside in (
        (True, ""),
        (
            False,
            f"not for {found[False]}, but for 1 other finding, [{found[True]}] at line "
            f"{lines[True]} (`smemreuse lint FILE` reports each): ",
        ),
    ):
        result = run("lint", tmp_path, "--show", found[certain])
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1] == f"smemreuse: exit code 1: {beside}{told}"
    for number in range(MOST_OTHERS):
        (tmp_path / f"race{number}.tir").write_text(RACE.read_text())
    result = run("lint", tmp_path, "--show", found[False])
    beside = (
        f"not for {found[False]}, but for 4 other findings (`smemreuse lint FILE` lists them): "
    )
    assert beside in result.stderr.splitlines()[-1]


def test_a_finding_that_there_is_not_is_bad_usage() -> None:
    for options, why in ([], "there is no finding 00000000"), (["--format", "json"], "--format"):
        result = run("lint", RACE, "--show", "00000000", *options)
        assert_one_line_error(result.exit_code, result.stdout, result.stderr)
        assert why in result.stderr


TWO_READS = """
@T.prim_func
def kernel(D: T.Buffer((64,), "int32"), O: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    As = T.alloc_buffer((64,), "int32", scope="shared")
    if D[0] * D[0] == 7:
        As[tx] = tx
        O[tx] = As[63 - tx]
        O[tx] = As[tx ^ 1]
"""


def test_hazards_of_one_cause_are_told_together_and_stay_apart_in_json(tmp_path: Path) -> None:
    file = tmp_path / "dump.tir"
    file.write_text(TWO_READS)
    table, each = (
        run("lint", file, "--barriers", "present", *more).stdout for more in ([], ["--each"])
    )
    (kernel,) = run_json("lint", file, "--barriers", "present", "--format", "json")["kernels"]
    first, second = kernel["hazards"]
    assert first["group"] == second["group"]
    assert (first["undecided"]["kind"], first["undecided"]["site"]["line"]) == ("branch", 6)
    more = f"    1 more of this cause: As at lines 7, 9 [{second['finding']}]"
    assert more in table.splitlines()
    assert EACH in table.splitlines()
    assert (table.count("fix: "), each.count("fix: ")) == (1, 2)
    assert "more of this cause" not in each
    assert EACH not in each
