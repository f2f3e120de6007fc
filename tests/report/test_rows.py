"""The overview's numbers of a kernel made by hand."""

from __future__ import annotations

import pytest

from smemreuse.report.page.rows import overview_row
from tests.report.made import KB, entry


def test_before_is_side_by_side_and_after_the_last_plan() -> None:
    row = overview_row(entry(), "gemm")
    wanted = {
        "title": "gemm",
        "file": "made.tir",
        "plan": "dataflow",
        "compared_with": "side by side",
        "buffers": 3,
        "before": 64 * KB,
        "after": 32 * KB,
        "bound": 32 * KB,
        "saved": 0.5,
        "arch": "sm_80",
        "arch_assumed": False,
        "verdict": "sound",
    }
    assert {name: row[name] for name in wanted} == wanted
    assert row["names"] == ["As", "Bs", "Cs"]


def test_before_may_be_a_plan_of_its_own() -> None:
    given = entry(before="inner")
    row = overview_row(given, "gemm")
    assert (row["before"], row["saved"], row["compared_with"]) == (32 * KB, 0, "inner")


def test_before_is_what_the_compiler_makes_where_that_is_known() -> None:
    given = entry()
    given["default"] = {**given["side_by_side"], "name": "TileLang's default", "bytes": 40 * KB}
    row = overview_row(given, "gemm")
    wanted = (40 * KB, pytest.approx(0.2), "TileLang's default")
    assert (row["before"], row["saved"], row["compared_with"]) == wanted


def test_what_does_not_fit_has_no_block_and_what_is_not_known_none() -> None:
    given = entry()
    given["side_by_side"].update(fits=False, blocks=None)
    given["policies"]["dataflow"].update(fits=None, blocks=None)
    assert overview_row(given, "gemm")["blocks"] == [0, None]


@pytest.mark.parametrize("place", ["side_by_side", "dataflow"])
def test_nothing_is_saved_of_what_is_not_known(place: str) -> None:
    given = entry()
    one = given["side_by_side"] if place == "side_by_side" else given["policies"]["dataflow"]
    one["arena"] = "n * 4 + 32768"
    row = overview_row(given, "gemm")
    assert row["saved"] is None
    assert "n * 4 + 32768" in (row["before_text"], row["after_text"])
