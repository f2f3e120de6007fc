"""Does it fit: yes with a packing, no with a proof, or not known; in one process and in two."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.benchmark_packers import problem_of, rectangles
from smemreuse.planner import Placement, Problem, cpsat, exact, fit, validate
from smemreuse.planner.best import NODES
from smemreuse.planner.exact import Budget
from tests.planner.problems import HOLES
from tests.planner.test_exact import ENOUGH, brute_force, graph_problems, interval_problems

HARD = problem_of(rectangles(random.Random(1), 150))
LATER = 300.0  # seconds, which a test never waits for


def budget(seconds: float = LATER) -> Budget:
    return Budget(10**9, time.monotonic() + seconds)


@settings(max_examples=200)
@given(st.one_of(interval_problems(), graph_problems()), st.integers(0, 30))
def test_small_problems_are_always_decided(problem: Problem, capacity: int) -> None:
    decision = fit.decided(problem, capacity, Budget(ENOUGH))
    validate(problem, decision.placement)
    assert decision.fits == (brute_force(problem) <= capacity)
    assert (decision.placement.arena <= capacity) == decision.fits


@given(interval_problems())
def test_the_smallest_is_smallest(problem: Problem) -> None:
    found = fit.minimized(problem, Budget(ENOUGH))
    validate(problem, found)
    assert (found.arena, found.proved) == (brute_force(problem), True)


def test_what_is_smaller_than_the_bound_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Placement | None:
        raise AssertionError

    monkeypatch.setattr(exact, "within", never)
    assert fit.decided(HOLES, HOLES.lower_bound - 1, budget()).fits is False


@pytest.mark.parametrize("solver", [True, False], ids=["with the solver", "without"])
def test_processes_decide_what_the_short_search_leaves_open(
    solver: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if solver and not cpsat.available():
        pytest.skip("OR-Tools is not installed")
    monkeypatch.setattr(cpsat, "available", lambda: solver)
    decision = fit.decided(HARD, HARD.lower_bound, budget(), processes=2)
    validate(HARD, decision.placement)
    assert (decision.fits, decision.placement.arena) == (True, HARD.lower_bound)


def test_a_proof_in_another_process() -> None:
    """Three of 4 bytes at multiples of 6 end at 16, and the bound says 12."""
    problem = Problem.from_intervals([4, 4, 4], [6, 6, 6], [(0, 1)] * 3)
    for capacity, fits in ((15, False), (16, True)):
        spent = budget()
        assert (fit.raced(problem, capacity, spent, 2) is not None) == fits
        assert not spent.exhausted


def test_no_time_is_no_answer() -> None:
    decision = fit.decided(HARD, HARD.lower_bound, budget(0), processes=2)
    assert decision.fits is None
    validate(HARD, decision.placement)


def test_an_interrupt_gives_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> fit.RaceAnswer:
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "_first_answer", interrupted)
    decision = fit.decided(HARD, HARD.lower_bound, budget(), processes=2)
    assert decision.fits is None
    validate(HARD, decision.placement)


def test_a_process_that_dies_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "_run", print)  # it ends without an answer
    spent = budget()
    assert fit.raced(HARD, HARD.lower_bound, spent, 2) is None
    assert spent.exhausted


def test_more_nodes_than_a_lowering_has_are_asked_for_alone() -> None:
    decision = fit.decided(HARD, HARD.lower_bound, Budget(NODES))
    assert decision.fits is None


def test_an_empty_range_that_is_too_large_does_not_fit() -> None:
    problem = Problem.from_intervals([9, 1], [1, 1], [(3, 3), (0, 1)])
    assert fit.decided(problem, 8, budget()).fits is False
    assert fit.decided(problem, 9, budget()).fits is True
