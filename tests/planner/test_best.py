"""The default packer: against the true optimum of small problems, and what it may cost."""

from __future__ import annotations

import importlib
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings

from smemreuse.planner import PACKERS, PASSES, Problem, exact, validate
from smemreuse.planner.best import NODES, fitting
from smemreuse.planner.exact import Budget
from tests.planner.problems import HOLES, problems

BEST = PACKERS["best"]


@given(problem=problems(most=8))
@settings(max_examples=60)
def test_names_do_not_change_the_size_that_best_finds(problem: Problem) -> None:
    renamed = Problem(
        problem.sizes,
        problem.alignments,
        problem.conflicts,
        problem.lower_bound,
        problem.intervals,
        [f"x{index}" for index in reversed(range(len(problem.sizes)))],
    )
    assert BEST(renamed).arena == BEST(problem).arena


def test_best_works_from_conflicts_alone() -> None:
    problem = Problem(HOLES.sizes, HOLES.alignments, HOLES.conflicts, HOLES.lower_bound)
    placement = BEST(problem)
    validate(problem, placement)
    assert placement.arena == optimum(problem)


def optimum(problem: Problem) -> int:
    """The smallest arena there is: some order, placed greedily from below, always finds it."""
    items = range(len(problem.sizes))
    return min(_stacked(problem, order) for order in permutations(items))


def _stacked(problem: Problem, order: tuple[int, ...]) -> int:
    offsets: dict[int, int] = {}
    for item in order:
        offset = 0
        while any(
            problem.conflicts.has_edge(item, other)
            and offset < start + problem.sizes[other]
            and start < offset + problem.sizes[item]
            for other, start in offsets.items()
        ):
            offset += problem.alignments[item]
        offsets[item] = offset
    return max((offset + problem.sizes[item] for item, offset in offsets.items()), default=0)


@given(problem=problems(most=4))
@settings(max_examples=60)
def test_best_never_beats_the_optimum(problem: Problem) -> None:
    assert problem.intervals is not None
    small = Problem.from_intervals(
        [size % 200 for size in problem.sizes],
        [min(alignment, 64) for alignment in problem.alignments],
        problem.intervals,
    )
    assert small.lower_bound <= optimum(small) <= BEST(small).arena


def test_best_is_optimal_on_every_problem_of_three_unaligned_items() -> None:
    """All interval patterns of three items on four positions, with unlike sizes."""
    spans = list(combinations(range(4), 2))
    for intervals in [(a, b, c) for a in spans for b in spans for c in spans]:
        problem = Problem.from_intervals([5, 3, 2], [1, 1, 1], intervals)
        assert BEST(problem).arena == optimum(problem) == problem.lower_bound, intervals


@pytest.mark.parametrize(
    ("sizes", "alignments", "intervals", "arena"),
    [
        pytest.param([32, 32, 32], [16] * 3, [(0, 2), (0, 2), (2, 4)], 64, id="batched-gemm"),
        pytest.param([16] * 4, [16] * 4, [(0, 1), (1, 2), (2, 3), (3, 4)], 16, id="one-by-one"),
        pytest.param([1, 2, 3], [1] * 3, [(0, 9)] * 3, 6, id="all-at-once"),
        pytest.param([8, 8, 8, 8], [8] * 4, [(0, 2), (1, 3), (2, 4), (3, 5)], 16, id="relay"),
        pytest.param([24, 8, 32], [8, 8, 32], [(0, 2), (0, 4), (2, 4)], 40, id="fills-the-hole"),
        pytest.param([100, 16], [16, 16], [(0, 1), (0, 1)], 116, id="odd-size-last"),
        pytest.param([16, 100], [16, 16], [(0, 1), (0, 1)], 116, id="odd-size-first"),
        pytest.param([10, 1024], [1, 1024], [(0, 1), (0, 1)], 1034, id="strict-first"),
        pytest.param([0, 0, 16], [1024, 16, 16], [(0, 9)] * 3, 16, id="empty-buffers"),
        pytest.param([2**62, 2**62], [1024] * 2, [(0, 1), (0, 1)], 2**63, id="huge"),
        pytest.param([], [], [], 0, id="none"),
    ],
)
def test_best_is_optimal_here(
    sizes: list[int], alignments: list[int], intervals: list[tuple[int, int]], arena: int
) -> None:
    problem = Problem.from_intervals(sizes, alignments, intervals)
    placement = BEST(problem)
    validate(problem, placement)
    assert placement.arena == arena
    if max(sizes, default=0) < 2**20:
        assert optimum(problem) == arena


def test_while_a_compiler_waits_nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [7 * index + 3 for index in range(60)]
    problem = Problem.from_intervals(sizes, [16] * 60, [(0, 1)] * 60)
    searched = counted(monkeypatch, exact.Budget, "spend")
    placement = PASSES["best in a lowering"](problem)
    validate(problem, placement)
    assert not searched
    assert not placement.proved
    even = Problem.from_intervals([16] * 60, [16] * 60, [(0, 1)] * 60)
    assert PASSES["best in a lowering"](even).proved


@pytest.mark.parametrize(("orders", "most"), [(3, 4), (20, 21), (1_000, 70)])
def test_what_a_packing_may_cost(orders: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd sizes that are all live at once miss the bound, so that every order would be tried:
    as many are as may look at `GREEDY_WORK` conflicts, and then `NODES` nodes are searched."""
    sizes = [7 * index + 3 for index in range(60)]
    problem = Problem.from_intervals(sizes, [16] * 60, [(0, 1)] * 60)
    module = importlib.import_module("smemreuse.planner.greedy")
    each = 2 * problem.conflicts.number_of_edges() + len(sizes) + 1
    monkeypatch.setattr(module, "GREEDY_WORK", orders * each)
    tried = counted(monkeypatch, module, "_fitted")
    searched = counted(monkeypatch, exact.Budget, "spend")
    validate(problem, BEST(problem))
    assert 0 < len(tried) <= most
    assert len(searched) == NODES + 1, "one more is asked for, and not given"


def counted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[object]:
    """Gets longer whenever that function is called."""
    calls: list[object] = []
    function = getattr(owner, name)

    def counting(*args: object) -> object:
        calls.append(None)
        return function(*args)

    monkeypatch.setattr(owner, name, counting)
    return calls


@given(problem=problems(most=8))
@settings(max_examples=60)
def test_what_fits_is_found_and_need_not_be_the_smallest(problem: Problem) -> None:
    smallest, capacity = BEST(problem).arena, sum(problem.sizes) + 16 * len(problem.sizes)
    for enough in (0, smallest, capacity):
        placement = fitting(problem, capacity, enough, Budget(NODES))
        validate(problem, placement)
        assert smallest <= placement.arena <= max(enough, smallest)
    assert fitting(problem, smallest, 0, Budget(NODES)).arena == smallest
    if smallest:
        beyond = fitting(problem, problem.lower_bound - 1, 0, Budget(NODES))
        validate(problem, beyond)
        assert beyond.arena >= smallest
