"""What is wrong with a kernel, on its way from one process to another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport
from smemreuse.results.serialized import as_data, from_data
from smemreuse.results.sites import Site
from tests.conftest import ROOT
from tests.results.test_hazard_groups import CERTAIN

FILES = sorted((ROOT / "fixtures" / "lint").glob("*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_report_is_the_same_behind_json(path: Path) -> None:
    for kernel in read_dump(path).kernels:
        report = lint(kernel).without_statements()
        assert report.hazards or report.unknown or report.clean
        assert from_data(LintReport, json.loads(json.dumps(as_data(report)))) == report


@pytest.mark.parametrize(
    ("loops", "other", "words"),
    [
        ((("k", 0),), (("k", 2), ("i", 7)), "is long enough, at least 3 rounds"),
        ((("k - begin", 0),), None, "is long enough, at least 1 round"),
        ((("k", 0),), (("k", 65_534),), "is long enough"),
        ((("i", 4),), None, "is long enough"),
    ],
)
def test_how_long_a_loop_has_to_be_is_told_where_it_is_known(
    loops: tuple[tuple[str, int], ...], other: tuple[tuple[str, int], ...] | None, words: str
) -> None:
    sites = [None if one is None else Site("As[0] = 1", 4, one) for one in (loops, other)]
    hazard = replace(CERTAIN, site=sites[0] or CERTAIN.site, other=sites[1], if_long=("k",))
    assert hazard.condition == f"the loop over k {words}"
    assert replace(hazard, if_long=("j", "k")).condition == "the loop over j and k is long enough"
