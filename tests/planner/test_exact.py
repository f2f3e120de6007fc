"""The exact search: what it finds is smallest, and it knows when it did not finish."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.planner import PACKERS, Problem, validate
from smemreuse.planner.best import smallest
from smemreuse.planner.exact import Budget, within
from smemreuse.planner.greedy import first_fit

ENOUGH = 100_000

sizes = st.integers(0, 6)
alignments = st.sampled_from([1, 1, 2, 4])


@st.composite
def interval_problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(1, 5))
    ranges = [draw(st.tuples(st.integers(0, 5), st.integers(1, 4))) for _ in range(count)]
    return Problem.from_intervals(
        [draw(sizes) for _ in range(count)],
        [draw(alignments) for _ in range(count)],
        [(begin, begin + length) for begin, length in ranges],
    )


@st.composite
def graph_problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(1, 5))
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(count))
    pairs = list(combinations(range(count), 2))
    graph.add_edges_from(pair for pair in pairs if draw(st.booleans()))
    item_sizes = [draw(sizes) for _ in range(count)]
    return Problem(item_sizes, [draw(alignments) for _ in range(count)], graph, max(item_sizes))


def brute_force(problem: Problem) -> int:
    """The smallest arena: first fit in the order of a smallest placement's offsets finds it."""
    orders = permutations(range(len(problem.sizes)))
    return min(first_fit(problem, order).arena for order in orders)


@given(st.one_of(interval_problems(), graph_problems()))
def test_the_smallest_is_found_and_proved(problem: Problem) -> None:
    placement = smallest(problem, Budget(ENOUGH))
    validate(problem, placement)
    assert placement.arena == brute_force(problem)
    assert placement.proved


@given(st.one_of(interval_problems(), graph_problems()), st.integers(0, 30))
def test_a_capacity_is_met_or_proved_too_small(problem: Problem, capacity: int) -> None:
    placement = within(problem, capacity, Budget(ENOUGH))
    assert (placement is not None) == (brute_force(problem) <= capacity)
    if placement is not None:
        validate(problem, placement)
        assert placement.arena <= capacity


def hard_problem() -> Problem:
    """No placement meets the bound, and no greedy order finds the smallest at once."""
    items = [(2, 0, 3), (1, 0, 2), (2, 2, 5), (1, 3, 6), (1, 4, 8), (2, 5, 8), (3, 7, 9), (1, 6, 9)]
    return Problem.from_intervals(
        [size for size, _, _ in items], [1] * len(items), [(b, e) for _, b, e in items]
    )


@cache
def hard_arena() -> int:
    """The smallest arena of `hard_problem`, of its 40,320 orders."""
    return brute_force(hard_problem())


def test_a_spent_budget_proves_nothing() -> None:
    budget = Budget(0)
    assert within(hard_problem(), hard_problem().lower_bound, budget) is None
    assert budget.exhausted


def test_alignment_can_cost_more_than_the_bound() -> None:
    problem = Problem.from_intervals([1, 1, 1], [4, 4, 4], [(0, 1)] * 3)
    placement = PACKERS["best"](problem)
    assert (problem.lower_bound, placement.arena, placement.proved) == (3, 9, True)


@pytest.mark.parametrize("size", [0, 2**40])
def test_sizes_of_any_order(size: int) -> None:
    problem = Problem.from_intervals([size, 16, size], [16, 1024, 16], [(0, 2), (1, 3), (2, 4)])
    placement = PACKERS["best"](problem)
    validate(problem, placement)
    assert placement.proved
