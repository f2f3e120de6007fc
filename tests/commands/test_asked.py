"""What a baseline has and the command line asks for is found again, or told to be gone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commands.running import assert_one_line_error, run
from tests.commands.test_exit_codes import GROWN, HOST, K, kernel, module
from tests.commands.test_lint_baseline import CLEAN, RACE

M = kernel("m")
WIDE = kernel("k", 256)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**files: str) -> None:
    """Dumps by name, `x__a` being `x/a.tir`."""
    for name, text in files.items():
        path = Path(name.replace("__", "/")).with_suffix(".tir")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def known(verb: str, *files: str) -> str:
    """A baseline of these files."""
    Path("known.json").write_text(run(verb, *files, "--format", "json").stdout)
    return "known.json"


@pytest.mark.parametrize("verb", ["compare", "check"])
@pytest.mark.parametrize(
    ("now", "missing"),
    [(["a.tir", "b.tir"], ["k"]), (["b.tir", "a.tir"], ["k"]), (["a.tir"], ["k"])],
    ids=["among others", "the last", "alone"],
)
def test_a_file_that_was_given_has_no_kernel_any_more(
    verb: str, now: list[str], missing: list[str]
) -> None:
    write(a=K, b=M)
    baseline = known(verb, "a.tir", "b.tir")
    write(a=HOST)
    result = run(verb, *now, "--baseline", baseline, "--format", "json")
    assert result.exit_code == 1
    assert [one["name"] for one in json.loads(result.stdout)["missing"]] == missing
    told = run(verb, *now, "--baseline", baseline).stdout
    assert "k (shared.dyn) is missing" in " ".join(told.split())


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_nor_has_one_of_its_name_elsewhere(verb: str) -> None:
    write(old__a=K, old__b=M, new__a=HOST, new__b=M)
    baseline = known(verb, "old/a.tir", "old/b.tir")
    result = run(verb, "new/a.tir", "new/b.tir", "--baseline", baseline, "--format", "github")
    assert result.exit_code == 1
    assert "title=missing-kernel in k" in result.stdout


@pytest.mark.parametrize("verb", ["compare", "check"])
def test_a_file_is_gone_and_the_shell_gives_the_others(verb: str) -> None:
    write(a=K, b=M)
    baseline = known(verb, "a.tir", "b.tir")
    assert run(verb, "b.tir", "--baseline", baseline).exit_code == 0
    Path("a.tir").unlink()
    result = run(verb, "b.tir", "--baseline", baseline)
    assert result.exit_code == 1
    assert "a.tir: k (shared.dyn) is missing: it had " in " ".join(result.stdout.split())


def test_where_nothing_is_left_of_a_baseline_it_says_so() -> None:
    write(a=HOST, b=K)
    baseline = known("compare", "b.tir")
    result = run("compare", "a.tir", "--baseline", baseline, "--format", "github")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "no device kernel in a.tir",
        "smemreuse: exit code 1: there is no device kernel, and the baseline has some",
    ]


@pytest.mark.parametrize("path", ["y/a.tir", "./y/a.tir", "{here}/y/a.tir", "y"])
@pytest.mark.parametrize(("now", "code"), [(K, 0), (GROWN, 1)])
def test_a_file_has_a_namesake_in_another_folder(path: str, now: str, code: int) -> None:
    write(x__a=WIDE, y__a=K)
    baseline = known("compare", "x", "y")
    write(y__a=now)
    given = path.format(here=Path.cwd())
    assert run("compare", given, "--baseline", baseline).exit_code == code


def test_folders_in_another_order_by_absolute_paths() -> None:
    write(x__a=WIDE, y__a=K)
    baseline = known("compare", "x", "y")
    given = [Path.cwd() / "y", Path.cwd() / "x"]
    assert run("compare", *given, "--baseline", baseline).exit_code == 0


def test_which_of_two_namesakes_it_is_is_not_told() -> None:
    write(x__a=WIDE, y__a=GROWN)
    known("compare", "x", "y")
    os.chdir("y")
    result = run("compare", "a.tir", "--baseline", "../known.json")
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "kernel k of x/a.tir and of y/a.tir; give it by its path there" in result.stderr


@pytest.mark.parametrize(
    ("before", "now"),
    [(K, kernel("new", 128)), (module(K, K), module(K, GROWN))],
    ids=["with its kernel", "of two kernels of one name"],
)
def test_a_file_was_renamed_and_a_kernel_grew(before: str, now: str) -> None:
    write(a=before)
    baseline = known("compare", "a.tir")
    Path("a.tir").unlink()
    write(b=now)
    result = run("compare", "b.tir", "--baseline", baseline, "--format", "github")
    assert result.exit_code == 1
    assert "title=larger-footprint in " in result.stdout


@pytest.mark.parametrize("given", [["a.tir", "a.tir"], [".", "a.tir"], ["./a.tir", "a.tir"]])
def test_what_is_given_twice_is_there_once(given: list[str]) -> None:
    write(a=RACE)
    baseline = known("lint", "a.tir")
    result = run("lint", *given, "--baseline", baseline, "--format", "json")
    assert (result.exit_code, len(json.loads(result.stdout)["kernels"])) == (0, 1)


def test_a_hazard_of_a_file_that_is_still_there_is_not_known_in_another() -> None:
    """A copy of a kernel has its hazards once more, though only the copy is linted."""
    write(a=RACE, b=CLEAN)
    baseline = known("lint", "a.tir", "b.tir")
    write(c=RACE)
    assert run("lint", "c.tir", "--baseline", baseline).exit_code == 1
    Path("a.tir").unlink()
    assert run("lint", "c.tir", "--baseline", baseline).exit_code == 0


def test_nor_is_one_of_a_namesake() -> None:
    write(x__a=RACE, y__a=CLEAN)
    baseline = known("lint", "x", "y")
    write(y__a=RACE)
    assert run("lint", Path.cwd() / "y" / "a.tir", "--baseline", baseline).exit_code == 1


def test_hazards_of_a_kernel_that_was_renamed_are_known() -> None:
    write(a=RACE, b=CLEAN)
    baseline = known("lint", "a.tir", "b.tir")
    write(a=RACE.replace("def kernel(", "def renamed("))
    result = run("lint", "a.tir", "b.tir", "--baseline", baseline, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["kernels"][0]["silenced"]) == (0, 1)


def test_a_kernel_of_another_name_in_a_file_of_its_own_is_new() -> None:
    write(a=RACE, b=CLEAN)
    baseline = known("lint", "a.tir", "b.tir")
    write(c=RACE.replace("def kernel(", "def another("))
    assert run("lint", "c.tir", "--baseline", baseline).exit_code == 1


@pytest.mark.parametrize("verb", ["compare", "check", "lint"])
@pytest.mark.parametrize("given", ["a.tir", "."])
@pytest.mark.parametrize("name", ["x" * 5000, "a\0b.tir", "\ud800.tir", ""])
def test_a_baseline_names_whatever_file_and_kernel(verb: str, given: str, name: str) -> None:
    write(a=RACE)
    path = Path(known(verb, "a.tir"))
    data = json.loads(path.read_text())
    data["kernels"].append({**data["kernels"][0], "file": name, "name": "k\ud800\n::error::"})
    path.write_text(json.dumps(data))
    result = run(verb, given, "--baseline", path, "--format", "github")
    assert [line[:8] for line in result.stdout.splitlines()] == ["::error "] * result.exit_code
