"""mbarriers: when a phase completes, and what it hands over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.mbarriers import Barrier, Barriers, Slot
from tests.checker.small import shared

WARPS = 2
SLOT: Slot = (shared("full", 8), 0)
NOTHING = np.zeros(WARPS, np.int64)


def expecting(count: int) -> Barrier:
    return Barrier(expected=count)


def arrive(barrier: Barrier, count: int, *knowing: int, loads: int = 0) -> Barrier:
    barrier.arrive(count, np.array(knowing or (0, 0)), loads)
    barrier.settle(WARPS)
    return barrier


def test_a_phase_completes_when_all_have_arrived() -> None:
    barrier = arrive(expecting(2), 1)
    assert (barrier.phase, barrier.completed) == (0, None)
    assert arrive(barrier, 1).phase == 1
    assert barrier.arrived == 0


def test_a_barrier_that_nobody_has_initialized_completes_nothing() -> None:
    assert arrive(Barrier(), 64).phase == 0


@pytest.mark.parametrize("bytes_due", [128, -128])
def test_bytes_announced_or_come_too_early_hold_a_phase_open(bytes_due: int) -> None:
    barrier = expecting(1)
    barrier.bytes_due = bytes_due
    assert arrive(barrier, 1).phase == 0
    barrier.bytes_due = 0
    barrier.settle(WARPS)
    assert barrier.phase == 1


def test_a_phase_hands_over_what_any_of_its_arrivals_knew() -> None:
    barrier = arrive(arrive(expecting(2), 1, 3, 0, loads=1), 1, 1, 4, loads=2)
    assert barrier.completed is not None
    clocks, loads = barrier.completed
    assert (clocks.tolist(), loads) == ([3, 4], 3)


def test_a_phase_hands_over_its_loads() -> None:
    barrier = expecting(1)
    barrier.loads = 4
    assert arrive(barrier, 1, loads=1).completed is not None
    assert barrier.completed is not None
    assert barrier.completed[1] == 5
    assert barrier.loads == 0


def test_a_phase_hands_over_what_those_before_it_did() -> None:
    barrier = arrive(arrive(expecting(1), 1, 5, 0, loads=1), 1, 0, 2, loads=2)
    assert barrier.phase == 2
    assert barrier.completed is not None
    assert (barrier.completed[0].tolist(), barrier.completed[1]) == ([5, 2], 3)


def test_what_has_not_completed_a_phase_is_not_handed_over() -> None:
    barrier = arrive(arrive(expecting(2), 2, 1, 1), 1, 9, 9, loads=8)
    assert barrier.completed is not None
    assert (barrier.completed[0].tolist(), barrier.completed[1]) == ([1, 1], 0)


def test_a_slot_begins_when_it_is_first_named() -> None:
    barriers = Barriers()
    barriers[SLOT].expected = 2
    assert barriers[SLOT].expected == 2
    assert barriers[(SLOT[0], 1)].expected is None


def test_a_copy_changes_alone() -> None:
    barriers = Barriers({SLOT: expecting(2)})
    arrive(barriers.copy()[SLOT], 1)
    assert barriers[SLOT].arrived == 0


# Joins ------------------------------------------------------------------------------------------

USED = Barrier(expected=2, arrived=1, phase=1, bytes_due=16, loads=1)


def test_two_arms_that_used_all_alike_are_joined() -> None:
    joined = Barriers({SLOT: USED.copy()}).joined(Barriers({SLOT: USED.copy()}))
    assert joined[SLOT] == USED
    assert joined[SLOT] is not USED


@pytest.mark.parametrize(
    "other",
    [
        replace(USED, expected=3),
        replace(USED, arrived=2),
        replace(USED, phase=3),
        replace(USED, bytes_due=32),
        replace(USED, loads=3),
        None,
    ],
    ids=["count", "arrivals", "phase", "bytes", "loads", "not at all"],
)
def test_two_arms_that_used_one_differently_are_not_covered(other: Barrier | None) -> None:
    one, two = Barriers({SLOT: USED}), Barriers({} if other is None else {SLOT: other})
    for left, right in ((one, two), (two, one)):
        with pytest.raises(Uncovered, match="a branch on data decides"):
            left.joined(right)


def handed_over(barrier: Barrier) -> tuple[list[int], int]:
    """What a waiter learns when the phase that is open completes by one arrival more."""
    completed = arrive(barrier.copy(), 1).completed
    assert completed is not None
    return completed[0].tolist(), completed[1]


COMPLETED = arrive(expecting(1), 1, 1, 1)
HALF = arrive(expecting(2), 1, 1, 1)


@pytest.mark.xfail(strict=True, reason="the join takes what the one arm's arrivals knew")
@pytest.mark.parametrize(
    ("weak", "strong"),
    [
        (COMPLETED, replace(COMPLETED, completed=(np.array([4, 4]), 0))),
        (COMPLETED, replace(COMPLETED, completed=(np.array([1, 1]), 6))),
        (HALF, replace(HALF, handed=np.array([4, 4]))),
        (HALF, replace(HALF, known=6)),
    ],
    ids=["completed", "completed loads", "handed", "handed loads"],
)
def test_a_join_hands_over_no_more_than_either_side(weak: Barrier, strong: Barrier) -> None:
    for one, two in ((weak, strong), (strong, weak)):
        with suppress(Uncovered):  # which claims nothing at all
            joined = Barriers({SLOT: one}).joined(Barriers({SLOT: two}))[SLOT]
            assert handed_over(joined) == handed_over(weak)


@pytest.mark.xfail(strict=True, reason="arrivals beyond those expected are taken into one phase")
def test_arrivals_beyond_those_expected_count_for_the_next_phase() -> None:
    barrier = arrive(expecting(2), 3)
    assert (barrier.phase, barrier.arrived) == (1, 1)
