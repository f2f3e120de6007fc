"""The search for a capacity: it agrees with every order tried out, and knows when it gave up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.benchmark_packers import problem_of, random_ranges, rectangles
from smemreuse.planner import Problem, exact, validate
from smemreuse.planner.exact import Budget, within_by_turns
from smemreuse.planner.greedy import greedy
from smemreuse.planner.problem import Placement
from smemreuse.planner.reduced import reduced
from tests.planner.problems import HOLES
from tests.planner.test_exact import (
    ENOUGH,
    brute_force,
    hard_arena,
    hard_problem,
    interval_problems,
)


def decide(problem: Problem, capacity: int, nodes: int = ENOUGH, seed: int = 0) -> Placement | None:
    """The answer for the problem in its own units; None must be a proof."""
    small = reduced(problem)
    assert small is not None
    budget = Budget(nodes)
    found = within_by_turns(small.problem, capacity // small.unit, budget, seed)
    assert not budget.exhausted
    return None if found is None else small.restored(found)


@settings(max_examples=300)
@given(interval_problems(), st.integers(0, 30), st.integers(0, 2))
def test_a_capacity_is_met_or_proved_too_small(problem: Problem, capacity: int, seed: int) -> None:
    found = decide(problem, capacity, seed=seed)
    assert (found is not None) == (brute_force(problem) <= capacity)
    if found is not None:
        validate(problem, found)
        assert found.arena <= capacity


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(6, 12), st.sampled_from([1, 2, 3]), st.integers(0, 2))
def test_both_searches_agree(seed: int, count: int, alignment: int, more: int) -> None:
    """On problems too large for all orders, at the bound and just above it."""
    rng = random.Random(seed)
    ranges = [
        (rng.randrange(1, 9), begin, begin + rng.randrange(1, 7))
        for begin in (rng.randrange(12) for _ in range(count))
    ]
    problem = Problem.from_intervals(
        [size for size, _, _ in ranges],
        [rng.choice((1, alignment)) for _ in ranges],
        [(begin, end) for _, begin, end in ranges],
    )
    capacity = problem.lower_bound + more
    other = Budget(10**6)
    expected = exact.within(problem, capacity, other)
    assert not other.exhausted
    found = decide(problem, capacity, 10**6)
    assert (found is None) == (expected is None)
    if found is not None:
        validate(problem, found)
        assert found.arena <= capacity


@pytest.mark.parametrize(
    ("problem", "smallest"),
    [(HOLES, lambda: brute_force(HOLES)), (hard_problem(), hard_arena)],
    ids=["holes", "hard"],
)
def test_smallest_and_one_byte_less(problem: Problem, smallest: Callable[[], int]) -> None:
    arena = smallest()
    assert decide(problem, arena) is not None
    assert decide(problem, arena - 1) is None


def test_hundreds_of_ranges_that_leave_no_gap() -> None:
    """No greedy order finds the packing that the pieces were cut from."""
    problem = problem_of(rectangles(random.Random(1), 150))
    assert greedy(problem, problem.lower_bound).arena > problem.lower_bound
    found = decide(problem, problem.lower_bound)
    assert found is not None
    validate(problem, found)
    assert found.arena == problem.lower_bound
    assert found == decide(problem, problem.lower_bound), "the same again"


def test_parts_are_decided_alone() -> None:
    """Twenty copies of a problem, one after the other, of which the last does not fit: as quickly
    refuted as one."""
    base = hard_problem()
    assert base.intervals is not None
    copies = [(begin + 10 * n, end + 10 * n) for n in range(20) for begin, end in base.intervals]
    sizes = [*base.sizes] * 20
    problem = Problem.from_intervals(sizes, [1] * len(sizes), copies)
    assert decide(problem, hard_arena()) is not None
    assert decide(problem, hard_arena() - 1, nodes=2_000) is None


def test_a_spent_budget_proves_nothing() -> None:
    problem = problem_of(random_ranges(random.Random(3), 60))
    small = reduced(problem)
    assert small is not None
    for budget in (Budget(0), Budget(ENOUGH, deadline=0)):
        found = within_by_turns(small.problem, small.problem.lower_bound, budget)
        assert found is not None or budget.exhausted


@pytest.mark.parametrize("scale", [1, 2**61, 2**80])
@pytest.mark.parametrize("more", [0, -1])
def test_numbers_that_numpy_cannot_add(scale: int, more: int) -> None:
    base = hard_problem()
    problem = Problem.from_intervals(
        [size * scale for size in base.sizes], base.alignments, base.intervals or []
    )
    found = exact.within(problem, scale * (hard_arena() + more), Budget(ENOUGH))
    assert (found is None) == (more < 0)


def test_a_graph_has_no_units_of_its_own() -> None:
    assert reduced(Problem(HOLES.sizes, HOLES.alignments, HOLES.conflicts)) is None


def test_no_deadline_is_one_that_never_comes() -> None:
    assert within_by_turns(hard_problem(), 100, Budget(ENOUGH, math.inf)) is not None
