"""What the model says of levers, held against what they took."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.score_levers import Pair, errors_table, kind_of, pairs_in

STAGES = "the loop over k has 1 stage instead of 3"
LATER = "the loop over k loads each tile where it is used, not 3 ahead"
AGAIN = "Ks and Qs are loaded again for each use"
SLICES = f"{AGAIN}, for products of Qs with Ks in 2 slices"


def run(took: float, said: float | None, *steps: str, status: str = "ok") -> dict[str, Any]:
    written = {"status": "ok", "median_us": 100.0}
    fitting = {"steps": list(steps), "slowdown": said}
    return {"status": status, "median_us": took, "fitting": fitting, "written": written}


def test_pairs_are_tiles_that_ran_both_ways() -> None:
    runs = [
        run(90, 0.8, STAGES),
        run(90, None, STAGES),
        run(90, 0.8, STAGES, status="wrong"),
        {**run(90, 0.8, STAGES), "written": None},
    ]
    (pair,) = pairs_in({"runs": {"attention": runs}})
    assert (pair.measured, pair.said) == (0.9, 0.8)
    assert pair.error == pytest.approx(1.125)


def test_what_was_pulled_for_speed_counts_by_the_gain_that_was_said() -> None:
    one = run(90, None, STAGES)
    one["speedup"] = {"steps": one.pop("fitting")["steps"], "said": 1.25}
    (pair,) = pairs_in({"runs": {"attention": [one]}})
    assert (pair.kind, pair.measured, pair.said) == ("fewer stages", 0.9, 0.8)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ([STAGES], "fewer stages"),
        ([STAGES, LATER], "later loads"),
        ([LATER, AGAIN], "tiles loaded again"),
        ([STAGES, SLICES], "products in slices"),
    ],
)
def test_a_tile_counts_by_its_most_expensive_lever(steps: list[str], kind: str) -> None:
    assert kind_of(steps) == kind


def test_a_gain_counts_above_the_largest_error_alone() -> None:
    stages = [Pair("fewer stages", *ratios) for ratios in ((0.5, 0.6), (1.2, 1.0), (1.05, 0.9))]
    (row,) = errors_table(stages).splitlines()[2:]
    assert row == "| fewer stages | 3 | 1.20 | 1.20 | 2 | 1.17 | 1 | 1 |"
    assert "products" not in row
