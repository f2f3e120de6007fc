"""Packer `tvm`: Apache TVM's free map, its order of events, and where its layers go wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from smemreuse.errors import PlanError
from smemreuse.planner import PACKERS, Event, Placement, Problem, validate, without_reuse
from tests.planner.problems import problems

TVM = PACKERS["tvm"]


def packed(*spans: tuple[int, int, int], alignment: int = 1) -> tuple[int, ...]:
    """Offsets and then the arena of items `(size, begin, end)`."""
    problem = Problem.from_intervals(
        [size for size, _, _ in spans],
        [alignment] * len(spans),
        [(begin, end) for _, begin, end in spans],
    )
    placement = TVM(problem)
    return (*placement.offsets, placement.arena)


@given(problem=problems())
@settings(max_examples=100)
def test_side_by_side_it_keeps_to_the_problem(problem: Problem) -> None:
    apart = without_reuse(problem)
    validate(apart, TVM(apart))


@given(problem=problems())
@settings(max_examples=100)
def test_every_item_is_aligned_and_inside_the_arena(problem: Problem) -> None:
    placement = TVM(problem)
    alone = Problem.from_intervals(problem.sizes, problem.alignments, [(0, 0)] * len(problem.sizes))
    validate(alone, placement)


def test_a_freed_entry_is_taken_whole() -> None:
    assert packed((100, 0, 1), (50, 1, 2)) == (0, 0, 100)


def test_an_entry_of_more_than_sixteen_times_the_size_is_left_alone() -> None:
    assert packed((160, 0, 1), (10, 1, 2)) == (0, 0, 160)
    assert packed((161, 0, 1), (10, 1, 2)) == (10, 0, 171)


def test_smaller_entries_are_joined_from_the_largest_on() -> None:
    assert packed((10, 0, 1), (30, 0, 1), (20, 0, 1), (45, 1, 2)) == (0, 10, 40, 10, 60)


def test_one_smaller_entry_is_enlarged() -> None:
    assert packed((10, 0, 1), (30, 1, 2)) == (0, 0, 30)


def test_of_equal_entries_the_first_freed_is_taken() -> None:
    assert packed((10, 0, 2), (10, 0, 1), (10, 3, 9), (10, 3, 5)) == (0, 10, 10, 0, 20)


def test_entries_are_laid_out_by_size() -> None:
    assert packed((30, 0, 9), (10, 0, 9), (20, 0, 9)) == (30, 0, 10, 60)


def test_offsets_are_aligned_and_the_arena_is_not() -> None:
    assert packed((10, 0, 9), (70, 0, 9), (5, 0, 9), alignment=64) == (64, 128, 0, 198)


def test_items_of_32_bits_are_never_reused() -> None:
    assert packed((4, 0, 1), (4, 1, 2), (5, 2, 3), (5, 3, 4)) == (5, 9, 0, 0, 13)


def test_events_decide_what_is_freed_first_at_one_position() -> None:
    sizes, intervals = [10, 10, 10], [(0, 1), (0, 1), (1, 2)]
    begun = [Event(0, True), Event(1, True)]

    def third(*freed: int) -> int:
        events = [*begun, *(Event(item, False) for item in freed), Event(2, True), Event(2, False)]
        problem = Problem.from_intervals(sizes, [1] * 3, intervals, events=events)
        offsets = TVM(problem).offsets
        return offsets.index(offsets[2])

    assert third(0, 1) == 0
    assert third(1, 0) == 1


def test_it_needs_live_ranges() -> None:
    problem = Problem.from_intervals([8], [1], [(0, 1)])
    with pytest.raises(PlanError, match="needs live ranges"):
        TVM(Problem(problem.sizes, problem.alignments, problem.conflicts))


def test_joined_layers_break_the_problem() -> None:
    """`b` reuses `a` while `c` lives; then `e` joins both entries: `c, a` below `b` below `e`."""
    names = ("a", "c", "b", "e")
    intervals = [(0, 1), (0, 2), (1, 2), (2, 3)]
    events = [Event(0, True), Event(1, True), Event(0, False), Event(2, True)]
    events += [Event(2, False), Event(1, False), Event(3, True), Event(3, False)]
    problem = Problem.from_intervals([64] * 3 + [128], [64] * 4, intervals, names, events)
    placement = TVM(problem)
    assert placement == Placement((64, 0, 0, 0), 128)
    with pytest.raises(PlanError, match="c and b conflict and share bytes"):
        validate(problem, placement)
