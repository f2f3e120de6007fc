"""Many files at once: one that cannot be read costs the others nothing."""

import json
from pathlib import Path

import pytest

from tests.commands.running import run
from tests.conftest import ROOT

GOOD = [
    str(ROOT / "fixtures" / "dumps" / name) for name in ("halo.sm_80.tir", "leaf_both.sm_80.tir")
]


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.tir"
    path.write_text("x = (\n")
    return str(path)


@pytest.mark.parametrize("verb", ["compare", "lint"])
def test_the_others_are_read_and_the_exit_code_says_so(verb: str, bad: str) -> None:
    files = [GOOD[0], bad, "nowhere.tir", GOOD[1]]
    result = run(verb, *files, "--format", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout) == json.loads(run(verb, *GOOD, "--format", "json").stdout)
    told = result.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == [bad, "nowhere.tir"]


@pytest.mark.parametrize("verb", ["compare", "lint"])
def test_the_only_one_ends_it(verb: str, bad: str) -> None:
    result = run(verb, bad)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("smemreuse: ") == 1


def test_a_page_is_written_of_what_there_is(bad: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("report", bad, GOOD[0], "-o", str(page))
    assert result.exit_code == 2
    assert "halo_kernel" in page.read_text()
