"""Findings as SARIF and as GitHub's workflow commands."""

from __future__ import annotations

from typing import Any

import pytest

from smemreuse.report.annotations import github_lines, sarif
from smemreuse.results.findings import Finding, Level, Location

PLACE = Location("a dir/k 1%.tir", 3, "A[0] = 1")
FOUND = Finding(
    "race", Level.ERROR, "main", "a\nb, 100 %: c", PLACE, "abc", (Location("/x/k.tir"),)
)
RULES = {"race": "Two accesses are not ordered"}


def require(data: Any, *keys: str) -> None:
    assert all(key in data for key in keys), (keys, data)


def test_what_sarif_requires_is_there() -> None:
    """The required properties of the schema of SARIF 2.1.0, and what GitHub asks for besides."""
    log: Any = sarif([FOUND], RULES, "smemreuse lint", "1.0")
    require(log, "version", "runs", "$schema")
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    require(run, "tool")
    require(run["tool"], "driver")
    driver = run["tool"]["driver"]
    require(driver, "name", "version", "rules")
    for rule in driver["rules"]:
        require(rule, "id", "shortDescription")
        require(rule["shortDescription"], "text")
    (result,) = run["results"]
    require(result, "message", "ruleId", "level", "locations", "partialFingerprints")
    require(result["message"], "text")
    assert result["ruleId"] in {rule["id"] for rule in driver["rules"]}
    assert result["level"] in ("none", "note", "warning", "error")
    assert all(isinstance(one, str) for one in result["partialFingerprints"].values())


def test_places_are_uris_and_lines() -> None:
    log: Any = sarif([FOUND], RULES, "smemreuse lint", "1.0")
    (result,) = log["runs"][0]["results"]
    (place,) = result["locations"]
    assert place == {
        "physicalLocation": {
            "artifactLocation": {"uri": "a%20dir/k%201%25.tir"},
            "region": {"startLine": 3},
        },
        "message": {"text": "A[0] = 1"},
    }
    (other,) = result["relatedLocations"]
    assert other == {"physicalLocation": {"artifactLocation": {"uri": "file:///x/k.tir"}}}


@pytest.mark.parametrize(
    ("level", "word"),
    [(Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.NOTE, "warning")],
)
def test_a_workflow_command_is_one_line(level: Level, word: str) -> None:
    found = Finding("race", level, "main", FOUND.message, PLACE, "abc")
    (line,) = github_lines([found])
    assert line == (f"::{word} file=a dir/k 1%25.tir,line=3,title=race in main::a%0Ab, 100 %25: c")
