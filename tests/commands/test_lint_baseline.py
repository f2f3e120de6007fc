"""`lint --baseline`: each hazard silences one of its own, and no more severe one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import assert_one_line_error, run
from tests.conftest import ROOT

RACE = (ROOT / "fixtures" / "lint" / "race_between_threads.tir").read_text()
READ = "        Y_1[tx] = As_1[127 - tx]\n"
CLEAN = RACE.replace(READ, '        T.tvm_storage_sync("shared.dyn")\n' + READ)
POSSIBLE = RACE.replace(READ, f"        if X_1[0] > T.float32(3):\n    {READ}")
TWICE = RACE + READ
OPEN = CLEAN + "        T.evaluate(T.unheard_of(As.data))\n"


def dump(tmp_path: Path, text: str, name: str = "dump.tir") -> Path:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def baseline(tmp_path: Path, *files: Path, name: str = "known.json") -> Path:
    path = tmp_path / name
    path.write_text(run("lint", *files, "--format", "json").stdout)
    return path


@pytest.mark.parametrize(
    ("before", "now", "options", "silenced", "code"),
    [
        (RACE, RACE, [], 1, 0),
        (POSSIBLE, POSSIBLE, ["--strict"], 1, 0),
        (POSSIBLE, RACE, [], 0, 1),
        (RACE, POSSIBLE, ["--strict"], 1, 0),
        (RACE, TWICE, [], 1, 1),
        (TWICE, RACE, [], 1, 0),
        (CLEAN, RACE, [], 0, 1),
        (CLEAN, OPEN, ["--strict"], 0, 1),
        (OPEN, OPEN, ["--strict"], 0, 0),
        (OPEN, OPEN.replace("unheard", "unseen"), ["--strict"], 0, 1),
    ],
    ids=[
        "the same",
        "the same, possible",
        "certain now",
        "only possible now",
        "a second one of the same text",
        "one of two is gone",
        "a new one",
        "not followed now",
        "not followed before either",
        "something else is not followed",
    ],
)
def test_what_a_baseline_silences(
    tmp_path: Path, before: str, now: str, options: list[str], silenced: int, code: int
) -> None:
    known = baseline(tmp_path, dump(tmp_path, before))
    path = dump(tmp_path, now)
    result = run("lint", path, "--baseline", known, *options, "--format", "json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert (result.exit_code, kernel["silenced"]) == (code, silenced)
    assert kernel["fails"] is bool(code)
    found = json.loads(run("lint", path, "--baseline", known, *options, "--format", "sarif").stdout)
    levels = [one["level"] for one in found["runs"][0]["results"]]
    assert ("error" in levels) is bool(code)


@pytest.mark.parametrize(("origin", "code"), [("compiler", 1), ("author", 0), (None, 0)])
def test_one_of_the_compilers_silences_none_of_the_authors(
    tmp_path: Path, origin: str | None, code: int
) -> None:
    path = dump(tmp_path, RACE)
    known = baseline(tmp_path, path)
    data = json.loads(known.read_text())
    for hazard in data["kernels"][0]["hazards"]:
        hazard["origin"] = origin
    known.write_text(json.dumps(data))
    assert run("lint", path, "--baseline", known).exit_code == code


def test_lines_may_change_where_something_was_not_followed(tmp_path: Path) -> None:
    known = baseline(tmp_path, dump(tmp_path, OPEN))
    path = dump(tmp_path, "\n\n" + OPEN)
    assert run("lint", path, "--baseline", known, "--strict").exit_code == 0


def test_a_kernel_with_known_hazards_is_not_called_clean(tmp_path: Path) -> None:
    path = dump(tmp_path, RACE)
    result = run("lint", path, "--baseline", baseline(tmp_path, path), "--format", "json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert (kernel["status"], kernel["clean"], kernel["hazards"]) == ("hazards", False, [])
    told = run("lint", path, "--baseline", tmp_path / "known.json").stdout
    assert told.startswith("hazards: ")
    assert "1 hazard in the baseline, not listed" in told


def test_a_hazard_of_one_file_is_not_known_in_another(tmp_path: Path) -> None:
    """All kernels of a folder may have one name."""
    one, two = dump(tmp_path, RACE, "one.tir"), dump(tmp_path, CLEAN, "two.tir")
    known = baseline(tmp_path, one, two)
    one.write_text(CLEAN)
    two.write_text(RACE)
    assert run("lint", one, two, "--baseline", known).exit_code == 1


def test_two_hazards_of_one_text_are_two_results(tmp_path: Path) -> None:
    """GitHub takes two results of one fingerprint for one."""
    log = json.loads(run("lint", dump(tmp_path, TWICE), "--format", "sarif").stdout)
    found = [one["partialFingerprints"]["hazard/v1"] for one in log["runs"][0]["results"]]
    assert len(found) == len(set(found)) == 2
    assert found[1] == f"{found[0]}/2"


def test_a_file_may_have_a_new_name_whatever_others_there_are(tmp_path: Path) -> None:
    known = baseline(tmp_path, dump(tmp_path, RACE, "old.tir"))
    moved, other = dump(tmp_path, RACE, "new.tir"), dump(tmp_path, CLEAN, "other.tir")
    assert run("lint", moved, other, "--baseline", known).exit_code == 0
    twice = dump(tmp_path, RACE, "twice.tir")
    assert run("lint", moved, twice, "--baseline", known).exit_code == 1


def test_a_baseline_of_other_barriers_is_refused(tmp_path: Path) -> None:
    path, known = dump(tmp_path, CLEAN), tmp_path / "known.json"
    known.write_text(run("lint", path, "--barriers", "later", "--format", "json").stdout)
    assert run("lint", path, "--barriers", "later", "--baseline", known).exit_code == 0
    result = run("lint", path, "--baseline", known)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "written with --barriers later, and this call is with --barriers auto" in result.stderr


def test_nor_is_what_was_written_against_a_baseline_one(tmp_path: Path) -> None:
    """It lacks what was known, which would all be new."""
    path = dump(tmp_path, RACE)
    known, later = baseline(tmp_path, path), tmp_path / "later.json"
    later.write_text(run("lint", path, "--baseline", known, "--format", "json").stdout)
    result = run("lint", path, "--baseline", later)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "left out of it; give what `lint --format json` wrote without --bas" in result.stderr


def test_what_was_not_followed_is_known_to_a_whole_baseline_alone(tmp_path: Path) -> None:
    path, known = dump(tmp_path, OPEN), tmp_path / "known.json"
    known.write_text(run("lint", path, "--format", "json", "--only-findings").stdout)
    assert json.loads(known.read_text())["partial"] is True
    assert run("lint", path, "--baseline", known).exit_code == 0
    result = run("lint", path, "--baseline", known, "--strict")
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "have left kernels out of it" in result.stderr
