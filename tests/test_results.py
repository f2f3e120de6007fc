"""The results in the README are those that were committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.render_results import PAGES, RESULTS, TVM_RESULTS, filled


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_show_the_committed_results(page: Path) -> None:
    text = page.read_text()
    assert text.count("<!-- ") >= 8
    assert filled(text) == text


@pytest.mark.parametrize(("path", "kernels"), [(RESULTS, 40), (TVM_RESULTS, 9)])
def test_no_result_was_wrong_under_the_dataflow_policy(path: Path, kernels: int) -> None:
    runs = json.loads(path.read_text())["runs"]
    dataflow = [run for run in runs if run["merge"] == "smemreuse dataflow"]
    assert len({run["fixture"] for run in dataflow}) > kernels
    for run in dataflow:
        assert run["correct"] or run["launch_error"], run
        assert run["bitwise_equal"] is not False, run


def test_stock_tvm_was_wrong_through_address_of() -> None:
    """And the wide batched GEMM ran only where its output tile took the operands' bytes."""
    runs = json.loads(TVM_RESULTS.read_text())["runs"]
    by_key = {(run["fixture"], run["config"], run["merge"]): run for run in runs}
    stock = by_key["address_of_alias", "small", "TVM default"]
    assert stock["wrong_launches"] == stock["launches"]
    assert by_key["batched_gemm", "wide", "TVM default"]["launch_error"]
    assert by_key["batched_gemm", "wide", "smemreuse dataflow"]["correct"]
