"""Files whose names are made to steer a terminal, an annotation or a log: all are data."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from tests.commands.running import run
from tests.conftest import DUMPS, ROOT

REFUTED = DUMPS / "producer_consumer_groups.sm_90a.tir"
"""`compare` has something to tell of it."""

HAZARDOUS = ROOT / "fixtures/lint/index_out_of_bounds.tir"
"""`lint` has something to tell of it."""

NAMES = {
    "escape": b"a\x1b[31mred\x07.tir",
    "one-byte escape": "a\x9b31mred.tir".encode(),
    "line end": b"a\n::error file=x::pwned\r.tir",
    "property": b"a,title=b::c%0A.tir",
    "no text": b"a\xff.tir",
    "direction": "a\u202erit.tir".encode(),
}


@pytest.fixture(params=[*NAMES.values()], ids=[*NAMES])
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a dump of a hostile name, one in a folder of that name, and what is skipped."""
    name = os.fsdecode(request.param)
    below = tmp_path / name.removesuffix(".tir")
    below.mkdir()
    (tmp_path / name).write_bytes(REFUTED.read_bytes())
    (below / "b.tir").write_bytes(HAZARDOUS.read_bytes())
    (tmp_path / f"skipped.{name.removesuffix('.tir')}").touch()
    return tmp_path


def assert_harmless(text: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in text), text
    assert not re.search(r"^\s*::error", text, re.MULTILINE), text


@pytest.mark.parametrize("verb", ["compare", "check", "lint"])
def test_a_table_is_text(verb: str, hostile: Path) -> None:
    result = run(verb, hostile)
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)


@pytest.mark.parametrize("verb", ["plan", "analyze", "explain", "check", "compare", "diff"])
def test_so_is_what_is_told_of_one(verb: str, hostile: Path) -> None:
    (path,) = (one for one in hostile.glob("a*.tir") if one.is_file())
    result = run(verb, path, path) if verb == "diff" else run(verb, path)
    assert result.exit_code in (0, 1)
    assert_harmless(result.stdout)
    assert_harmless(result.stderr)


@pytest.mark.parametrize("verb", ["compare", "lint"])
def test_an_annotation_stays_one_line(verb: str, hostile: Path) -> None:
    """Escapes are dropped where no terminal reads; the runner splits lines and properties."""
    result = run(verb, hostile, "--format", "github")
    lines = result.stdout.splitlines()
    assert lines, "something is told"
    for line in lines:
        assert re.match(r"::(warning|error) file=[^,:]*,line=\d+,title=[^,:]*::", line), line


def places(log: Any) -> list[str]:
    results = log["runs"][0]["results"]
    return [
        place["physicalLocation"]["artifactLocation"]["uri"]
        for one in results
        for place in one["locations"]
    ]


@pytest.mark.parametrize(("verb", "of"), [("compare", "a*.tir"), ("lint", "*/b.tir")])
def test_an_address_in_sarif_is_the_files_own(
    verb: str, of: str, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = (os.fsencode(one.relative_to(hostile)) for one in hostile.glob(of))
    monkeypatch.chdir(hostile)
    for folder, prefix in ((".", b""), (hostile, b"file://" + os.fsencode(hostile) + b"/")):
        found = places(json.loads(run(verb, folder, "--format", "sarif").stdout))
        assert all(re.fullmatch(r"[\w.~/:%()-]+", one, re.ASCII) for one in found), found
        assert {unquote_to_bytes(one) for one in found} == {prefix + path}


EVIL = "k\x1b[31m\x07"


@pytest.mark.parametrize("change", ["name", "buffer"])
def test_names_in_a_result_are_data_too(change: str, tmp_path: Path) -> None:
    """`diff` reads JSON, in which a name may be anything."""
    written = run("plan", DUMPS / "halo.sm_80.tir", "--format", "json").stdout
    old = (
        "halo_kernel"
        if change == "name"
        else json.loads(written)["kernels"][0]["buffers"][0]["name"]
    )
    (tmp_path / "old.json").write_text(written)
    new = written.replace(json.dumps(old), json.dumps(EVIL))
    grown = re.sub(r'"arena_bytes": \d+', '"arena_bytes": 99999', new)
    (tmp_path / "new.json").write_text(grown)
    result = run("diff", tmp_path / "old.json", tmp_path / "new.json")
    assert result.exit_code in (1, 2)
    assert_harmless(result.stdout + result.stderr)
    checked = run("check", DUMPS / "halo.sm_80.tir", "--plan", tmp_path / "new.json")
    assert checked.exit_code == 2
    assert_harmless(checked.stderr)
