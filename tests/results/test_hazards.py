"""What is wrong with a kernel, on its way from one process to another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport
from smemreuse.results.serialized import as_data, from_data
from tests.conftest import ROOT

FILES = sorted((ROOT / "fixtures" / "lint").glob("*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_report_is_the_same_behind_json(path: Path) -> None:
    for kernel in read_dump(path).kernels:
        report = lint(kernel).without_statements()
        assert report.hazards or report.unknown or report.clean
        assert from_data(LintReport, json.loads(json.dumps(as_data(report)))) == report
