"""What a problem and the same one in larger units have in common: every answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.planner import Placement, Problem, validate
from smemreuse.planner.best import smallest
from smemreuse.planner.exact import Budget
from smemreuse.planner.greedy import first_fit
from smemreuse.planner.reduced import reduced
from tests.planner.test_exact import ENOUGH, interval_problems


@given(interval_problems(), st.sampled_from([1, 3, 1024]), st.sampled_from([1, 2, 3, 1024]))
def test_the_smallest_is_the_same(problem: Problem, factor: int, other: int) -> None:
    sizes = [size * factor for size in problem.sizes]
    alignments = [a * other if a > 1 else 1 for a in problem.alignments]
    scaled = Problem.from_intervals(sizes, alignments, problem.intervals or [])
    small = reduced(scaled)
    assert small is not None
    found = small.restored(smallest(small.problem, Budget(ENOUGH)))
    validate(scaled, found)
    assert found.proved
    assert found.arena == smallest(scaled, Budget(ENOUGH)).arena


@pytest.mark.parametrize(
    ("sizes", "alignments", "unit", "left"),
    [
        ([2048, 3072], [1, 1], 1024, [1, 1]),
        ([2048, 3072], [16, 512], 1024, [1, 1]),
        ([2048, 3072], [4096, 1], 1024, [4, 1]),
        ([12, 24], [4, 8], 4, [1, 2]),
        ([12, 24], [6, 8], 2, [3, 4]),
        ([12, 24], [5, 1], 1, [5, 1]),
        ([7], [1], 7, [1]),
    ],
)
def test_the_unit(sizes: list[int], alignments: list[int], unit: int, left: list[int]) -> None:
    small = reduced(Problem.from_intervals(sizes, alignments, [(0, 1)] * len(sizes)))
    assert small is not None
    assert (small.unit, list(small.problem.alignments)) == (unit, left)
    assert [size * unit for size in small.problem.sizes] == sizes


def test_empty_items_come_back_at_the_bottom() -> None:
    problem = Problem.from_intervals([0, 8, 5, 8], [64, 1, 1, 1], [(0, 9), (0, 9), (4, 4), (0, 9)])
    small = reduced(problem)
    assert small is not None
    assert (small.items, small.unit) == ((1, 3), 8)
    restored = small.restored(first_fit(small.problem, range(2)))
    validate(problem, restored)
    assert restored.offsets == (0, 0, 0, 8)


def test_nothing_at_all() -> None:
    small = reduced(Problem.from_intervals([], [], []))
    assert small is not None
    assert small.restored(Placement((), 0)) == Placement((), 0)
