"""The packing problem: conflicts, the lower bound, and a validator that misses nothing."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.errors import PlanError
from smemreuse.planner import Placement, Problem, validate, without_reuse
from smemreuse.planner.problem import _clique_bound, align_up, bounded, with_conflicts
from tests.planner.problems import problems


@given(problem=problems())
def test_items_conflict_exactly_where_their_ranges_overlap(problem: Problem) -> None:
    assert problem.intervals is not None
    overlapping = {
        (one, two)
        for one, two in combinations(range(len(problem.sizes)), 2)
        if max(problem.intervals[one][0], problem.intervals[two][0])
        < min(problem.intervals[one][1], problem.intervals[two][1])
    }
    assert {tuple(sorted(edge)) for edge in problem.conflicts.edges} == overlapping
    assert set(problem.conflicts.nodes) == set(range(len(problem.sizes)))


@given(problem=problems(), data=st.data())
def test_the_bound_with_one_more_conflict_is_the_heaviest_clique(
    problem: Problem, data: st.DataObject
) -> None:
    """It is found among what conflicts with both: no other clique is new."""
    items = st.integers(0, max(len(problem.sizes) - 1, 0))
    for pair in data.draw(st.lists(st.tuples(items, items), max_size=6)):
        if pair[0] != pair[1]:
            stricter = with_conflicts(problem, [pair])
            if stricter is not problem:
                assert stricter.lower_bound == _clique_bound(stricter.conflicts, problem.sizes)
            problem = stricter


@given(problem=problems())
def test_the_lower_bound_is_the_largest_sum_live_at_once(problem: Problem) -> None:
    assert problem.intervals is not None
    spans = list(zip(problem.intervals, problem.sizes, strict=True))
    at_each = (
        sum(size for (begin, end), size in spans if begin <= position < end)
        for position in range(25)
    )
    assert problem.lower_bound == max(at_each)


def test_an_empty_interval_conflicts_with_nothing_and_counts_for_nothing() -> None:
    problem = Problem.from_intervals([8, 8, 8], [1, 1, 1], [(2, 2), (0, 4), (4, 4)])
    assert not problem.conflicts.edges
    assert problem.lower_bound == 8


def test_the_empty_problem() -> None:
    problem = Problem.from_intervals([], [], [])
    assert problem.lower_bound == 0
    validate(problem, Placement((), 0))


@given(problem=problems())
def test_without_reuse_everything_conflicts(problem: Problem) -> None:
    apart = without_reuse(problem)
    count = len(problem.sizes)
    assert apart.conflicts.number_of_edges() == count * (count - 1) // 2
    assert apart.lower_bound == sum(problem.sizes)
    assert (apart.sizes, apart.names) == (problem.sizes, problem.names)
    assert apart.alignments == problem.alignments


TWO = Problem.from_intervals([32, 16], [16, 16], [(0, 2), (1, 3)], ["As", "Bs"])


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (Placement((0,), 64), "1 offsets for 2 buffers"),
        (Placement((0, 32, 64), 96), "3 offsets for 2 buffers"),
        (Placement((-16, 32), 64), "As at -16 is not 16-aligned"),
        (Placement((0, 40), 64), "Bs at 40 is not 16-aligned"),
        (Placement((0, 32), 47), "Bs ends after the arena of 47 bytes"),
        (Placement((16, 0), 47), "As ends after"),
        (Placement((0, 16), 64), "As and Bs conflict and share bytes"),
        (Placement((0, 0), 64), "As and Bs conflict and share bytes"),
        (Placement((16, 32), 64), "As and Bs conflict and share bytes"),
    ],
)
def test_a_broken_placement_is_named(placement: Placement, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        validate(TWO, placement)


@pytest.mark.parametrize("offsets", [(0, 32), (16, 0), (16, 48)])
def test_a_sound_placement_passes(offsets: tuple[int, int]) -> None:
    validate(TWO, Placement(offsets, 64))


def test_items_without_names_are_numbered() -> None:
    problem = Problem([8, 8], [1, 1], TWO.conflicts)
    with pytest.raises(PlanError, match="item 0 and item 1 conflict"):
        validate(problem, Placement((0, 4), 16))


@given(problem=problems(most=6, largest=100), data=st.data())
@settings(max_examples=100)
def test_the_validator_agrees_with_a_byte_by_byte_check(
    problem: Problem, data: st.DataObject
) -> None:
    assert problem.intervals is not None
    offsets = tuple(data.draw(st.integers(0, 6)) * 16 for _ in problem.sizes)
    placement = Placement(offsets, data.draw(st.integers(0, 200)))
    broken = False
    owner: dict[tuple[int, int], int] = {}
    for item, (offset, size) in enumerate(zip(offsets, problem.sizes, strict=True)):
        broken |= offset % problem.alignments[item] != 0 or offset + size > placement.arena
        for position in range(*problem.intervals[item]):
            for byte in range(offset, offset + min(size, 4200)):
                broken |= owner.setdefault((position, byte), item) != item
    if broken:
        with pytest.raises(PlanError):
            validate(problem, placement)
    else:
        validate(problem, placement)


@pytest.mark.parametrize(
    ("value", "alignment", "expected"),
    [(0, 16, 0), (1, 16, 16), (16, 16, 16), (17, 1, 17), (2**63, 1024, 2**63), (5, 24, 24)],
)
def test_align_up(value: int, alignment: int, expected: int) -> None:
    assert align_up(value, alignment) == expected


def test_of_many_items_the_bound_is_a_clique_that_grows_by_the_heaviest() -> None:
    """Too many for an exact search: 60 in a ring, and three of them that all conflict."""
    sizes = [64] * 60
    sizes[0], sizes[20], sizes[40] = 256, 512, 128
    ring = [(item, (item + 1) % 60) for item in range(60)]
    assert bounded(sizes, [16] * 60, ring).lower_bound == 512 + 64
    triangle = [(0, 20), (20, 40), (0, 40)]
    assert bounded(sizes, [16] * 60, ring + triangle).lower_bound == 256 + 512 + 128


def test_the_bound_of_hundreds_of_items_takes_few_questions() -> None:
    """400 of which half conflict: each seed asks for no pair of items twice."""
    half = [(one, two) for one, two in combinations(range(400), 2) if (one + two) % 2]
    asked = 0

    class Counted(nx.Graph):  # type: ignore[misc]
        def has_edge(self, u: int, v: int) -> bool:
            nonlocal asked
            asked += 1
            return bool(super().has_edge(u, v))

    assert _clique_bound(Counted(half), [16] * 400) == 32
    assert asked < 400 * 400
