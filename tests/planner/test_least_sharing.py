"""As little sharing as a capacity allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from smemreuse.planner import PACKERS, Placement, Problem, least_sharing, validate, without_reuse
from smemreuse.planner.least_sharing import sharing_pairs, total_cost


def best(problem: Problem, enough: int) -> Placement:
    """The tightest placement; `enough` bytes would do."""
    return PACKERS["best"](problem)


def problem(*items: tuple[int, int, int]) -> Problem:
    """Items as size, begin and end."""
    sizes = [size for size, _, _ in items]
    intervals = [(begin, end) for _, begin, end in items]
    return Problem.from_intervals(sizes, [16] * len(items), intervals)


def always(one: int, other: int) -> int:
    return 1


def test_nothing_is_shared_where_all_fits() -> None:
    apart = problem((64, 0, 1), (64, 1, 2), (64, 2, 3))
    placement = least_sharing(apart, 192, always, best)
    assert placement.arena == 192
    assert not list(sharing_pairs(apart, placement))


def test_one_pair_where_one_is_enough() -> None:
    apart = problem((64, 0, 1), (64, 1, 2), (64, 2, 3))
    placement = least_sharing(apart, 128, always, best)
    assert placement.arena == 128
    assert len(list(sharing_pairs(apart, placement))) == 1


def test_the_dear_pair_is_kept_apart() -> None:
    apart = problem((64, 0, 1), (64, 1, 2), (64, 2, 3))
    for dear in ((0, 1), (0, 2), (1, 2)):
        costs = {dear: 100}
        placement = least_sharing(apart, 128, lambda *pair: costs.get(pair, 1), best)  # noqa: B023
        assert dear not in list(sharing_pairs(apart, placement))


def test_the_tightest_where_nothing_fits() -> None:
    placement = least_sharing(problem((64, 0, 1), (64, 1, 2)), 32, always, best)
    assert placement.arena == 64


items = st.tuples(st.integers(1, 100), st.integers(0, 8), st.integers(1, 4)).map(
    lambda item: (16 * item[0], item[1], item[1] + item[2])
)


@given(st.lists(items, min_size=1, max_size=8), st.floats(0, 1))
def test_between_the_tightest_and_side_by_side(
    drawn: list[tuple[int, int, int]], part: float
) -> None:
    drawn_problem = problem(*drawn)
    tightest, widest = best(drawn_problem, 0), best(without_reuse(drawn_problem), 0)
    capacity = int(tightest.arena + part * (widest.arena - tightest.arena))
    placement = least_sharing(drawn_problem, capacity, always, best)
    validate(drawn_problem, placement)
    assert placement.arena <= capacity
    costs = [total_cost(drawn_problem, one, always) for one in (placement, tightest)]
    assert costs[0] <= costs[1]
