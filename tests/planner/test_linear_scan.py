"""TileLang's scan: largest first of those that begin together, into the tightest hole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from smemreuse.errors import PlanError
from smemreuse.planner import Placement, Problem
from smemreuse.planner.linear_scan import by_name, linear_scan, linear_scan_on_top
from smemreuse.planner.problem import arena_of
from tests.planner.problems import problems


@given(problem=problems())
@settings(max_examples=60)
def test_it_rounds_the_arena_up_and_no_further(problem: Problem) -> None:
    placement = linear_scan(problem)
    assert placement.arena % 16 == 0
    assert placement.arena - arena_of(problem, placement.offsets) < 16


def test_it_needs_live_ranges() -> None:
    with pytest.raises(PlanError, match="needs live ranges"):
        linear_scan(Problem([16], [16], Problem.from_intervals([16], [16], [(0, 1)]).conflicts))


def test_it_packs_as_its_source_says() -> None:
    """By beginning, larger first; best fit among the freed, then the tail, then the top."""
    problem = Problem.from_intervals(
        [64, 32, 48, 16, 96], [16] * 5, [(0, 2), (0, 4), (2, 4), (2, 4), (4, 5)], list("abcde")
    )
    # a 0..64, b 64..96; at 2 a is freed: c takes 0..48, d the 16 left; at 4 all is free.
    assert linear_scan(problem) == Placement((0, 64, 0, 48, 0), 96)


def test_it_breaks_ties_by_name() -> None:
    problem = Problem.from_intervals([16, 16], [16, 16], [(0, 1), (0, 1)], ["b", "a"])
    assert linear_scan(problem).offsets == (16, 0)


def test_it_gives_back_the_gap_before_an_aligned_buffer() -> None:
    problem = Problem.from_intervals(
        [48, 64, 16], [16, 64, 16], [(0, 9), (1, 9), (2, 9)], ["a", "b", "c"]
    )
    assert linear_scan(problem) == Placement((0, 64, 48), 128)


def test_at_first_it_put_on_top_what_fits_nowhere() -> None:
    """Neither the free end of the arena nor the gap before an aligned buffer was used."""
    tail = Problem.from_intervals([64, 96], [16, 16], [(0, 1), (1, 2)], ["a", "b"])
    assert linear_scan(tail) == Placement((0, 0), 96)
    assert linear_scan_on_top(tail) == Placement((0, 64), 160)
    gap = Problem.from_intervals(
        [48, 64, 16], [16, 64, 16], [(0, 9), (1, 9), (2, 9)], ["a", "b", "c"]
    )
    assert linear_scan_on_top(gap) == Placement((0, 64, 128), 144)


def test_at_first_bytes_before_an_aligned_buffer_were_no_waste() -> None:
    """`d` fits into a's 144 bytes at 0, of which 80 are left behind it, and into b's 112 at 208:
    there it begins at 256, behind 48 that were not counted, and nothing is left."""
    problem = Problem.from_intervals(
        [144, 64, 112, 16, 64],
        [16, 16, 16, 16, 64],
        [(0, 2), (0, 9), (0, 2), (0, 9), (2, 9)],
        ["a", "x", "b", "y", "d"],
    )
    free = {"a": 0, "b": 144, "x": 256, "y": 320}
    assert dict(zip(["a", "x", "b", "y"], linear_scan(problem).offsets, strict=False)) == free
    assert linear_scan(problem).offsets[4] == linear_scan_on_top(problem).offsets[4] == 0


def test_side_by_side_is_by_name() -> None:
    problem = Problem.from_intervals([16, 32, 8], [16, 64, 16], [(0, 1)] * 3, ["c", "a", "b"])
    assert by_name(problem) == Placement((48, 0, 32), 64)
