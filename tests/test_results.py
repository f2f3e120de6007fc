"""The results in the README are those that were committed."""

from __future__ import annotations

import json

from scripts.render_results import RESULTS, filled
from tests.conftest import ROOT


def test_the_readme_shows_the_committed_results() -> None:
    readme = (ROOT / "README.md").read_text()
    assert filled(readme, json.loads(RESULTS.read_text())) == readme


def test_no_result_was_wrong_under_the_dataflow_policy() -> None:
    runs = json.loads(RESULTS.read_text())["runs"]
    dataflow = [run for run in runs if run["merge"] == "smemreuse dataflow"]
    assert len({run["fixture"] for run in dataflow}) > 40
    for run in dataflow:
        assert run["correct"] or run["launch_error"], run
        assert run["bitwise_equal"] is not False, run
