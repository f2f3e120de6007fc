"""CP-SAT against our own search, and what it decides that ours cannot."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.benchmark_packers import problem_of, rectangles
from smemreuse.planner import Placement, Problem, cpsat, exact, validate
from smemreuse.planner.best import NODES, smallest
from smemreuse.planner.exact import Budget
from smemreuse.planner.greedy import best_fit, first_fit, greedy
from tests.planner.test_exact import ENOUGH, brute_force, graph_problems, interval_problems

needs_solver = pytest.mark.skipif(not cpsat.available(), reason="OR-Tools is not installed")


def budget() -> Budget:
    """CP-SAT is asked only where there is a deadline; this one never comes."""
    return Budget(ENOUGH, math.inf)


@needs_solver
@settings(max_examples=40)
@given(st.one_of(interval_problems(), graph_problems()))
def test_both_searches_agree_on_the_smallest(problem: Problem) -> None:
    largest = first_fit(problem, range(len(problem.sizes)))
    spent = budget()
    found = cpsat.minimized(problem, largest, spent)
    validate(problem, found)
    assert not spent.exhausted
    assert found.arena == exact.minimized(problem, largest, budget()).arena == brute_force(problem)


@needs_solver
@settings(max_examples=40)
@given(st.one_of(interval_problems(), graph_problems()), st.integers(0, 30))
def test_both_searches_agree_on_a_capacity(problem: Problem, capacity: int) -> None:
    spent = budget()
    found = cpsat.within(problem, capacity, spent)
    assert not spent.exhausted
    assert (found is None) == (exact.within(problem, capacity, budget()) is None)
    if found is not None:
        validate(problem, found)
        assert found.arena <= capacity


@needs_solver
def test_a_hard_instance_is_solved() -> None:
    """150 rectangles without any gap: our own search does not get there."""
    problem = problem_of(rectangles(random.Random(1), 150))
    assert greedy(problem, problem.lower_bound).arena > problem.lower_bound
    found = cpsat.within(problem, problem.lower_bound, budget())
    assert found is not None
    validate(problem, found)
    assert found.arena == problem.lower_bound
    assert found == cpsat.within(problem, problem.lower_bound, budget())


@needs_solver
def test_no_time_is_no_proof() -> None:
    problem = problem_of(rectangles(random.Random(1), 150))
    spent = Budget(ENOUGH, deadline=0)
    assert cpsat.within(problem, problem.lower_bound, spent) is None
    assert spent.exhausted


LARGE = 2**62


@needs_solver
@pytest.mark.parametrize(
    ("sizes", "intervals", "alignment"),
    [
        ([LARGE, 1, LARGE], [(0, 2), (0, 3), (1, 3)], 1),
        ([2, 1, 2], [(0, 2 * LARGE), (0, 3 * LARGE), (LARGE, 3 * LARGE)], 1),
        ([2, 1, 2], [(-3 * LARGE, -LARGE), (-3 * LARGE, 0), (-2 * LARGE, 0)], 1),
        ([2, 1, 2], [(0, 2), (0, 3), (1, 3)], 4 * LARGE),
    ],
    ids=["bytes", "time", "negative time", "alignment"],
)
def test_what_the_solver_has_no_numbers_for_is_not_proved(
    sizes: list[int], intervals: list[tuple[int, int]], alignment: int
) -> None:
    problem = Problem.from_intervals(sizes, [alignment] * 3, intervals)
    found = first_fit(problem, range(3))
    spent = budget()
    assert cpsat.within(problem, found.arena - 1, spent) is None
    assert spent.exhausted
    assert cpsat.minimized(problem, found, budget()) == found


@needs_solver
@settings(max_examples=20)
@given(interval_problems(), st.integers(50, 64))
def test_large_numbers_change_no_answer(problem: Problem, shift: int) -> None:
    """Scaled up to the limit and beyond: the same packing, or none and no proof."""
    scaled = Problem.from_intervals(
        [size << shift for size in problem.sizes], problem.alignments, problem.intervals or []
    )
    largest = first_fit(scaled, range(len(scaled.sizes)))
    spent = budget()
    found = cpsat.minimized(scaled, largest, spent)
    validate(scaled, found)
    if not spent.exhausted:
        assert found.arena == exact.minimized(scaled, largest, budget()).arena


def test_without_the_solver_the_own_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "available", lambda: False)
    problem = problem_of(rectangles(random.Random(1), 150))
    found = smallest(problem, Budget(NODES + 500, math.inf))
    validate(problem, found)
    assert not found.proved


def test_best_fit_takes_the_smallest_gap() -> None:
    """Gaps of 6 and 3 bytes, and an item of 3 in conflict with what is around them."""
    sizes = [2, 6, 2, 3, 2, 3]
    intervals = [(0, 9), (0, 2), (0, 9), (0, 2), (0, 9), (2, 9)]
    problem = Problem.from_intervals(sizes, [1] * 6, intervals)
    assert first_fit(problem, range(6)).offsets == (0, 2, 8, 10, 13, 2)
    assert best_fit(problem, range(6)).offsets == (0, 2, 8, 10, 13, 10)


def test_an_empty_problem_is_packed() -> None:
    assert smallest(Problem.from_intervals([], [], []), budget()) == Placement((), 0, proved=True)
