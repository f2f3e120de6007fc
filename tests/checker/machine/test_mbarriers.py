"""mbarriers: when a phase completes, and what it hands over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.machine.mbarriers import Barrier, Barriers, LastMeeting
from smemreuse.checker.machine.order import CLOCKS, Knowledge, ReleasedClocks
from smemreuse.checker.values.evaluation import Slot
from tests.checker.small import shared

WARPS = 2
SLOT: Slot = (shared("full", 8), 0)


def handing(*clock: int, copies: int = 0) -> ReleasedClocks:
    return replace(
        ReleasedClocks.only(WARPS, Knowledge(copies)), clocks=np.array([clock or (0, 0)] * CLOCKS)
    )


def expecting(count: int) -> Barrier:
    return Barrier(expected=count)


def arrive(barrier: Barrier, count: int, *knowing: int, copies: int = 0) -> Barrier:
    barrier.arrive(count, handing(*knowing, copies=copies))
    barrier.settle(WARPS)
    return barrier


def told(barrier: Barrier, phase: int = -1) -> tuple[list[int], int]:
    """What those learn who have waited for a phase."""
    handed = barrier.completed[phase]
    return handed.clocks[0].tolist(), handed.known.copies


def test_a_phase_completes_when_all_have_arrived() -> None:
    barrier = arrive(expecting(2), 1)
    assert barrier.phase == 0
    assert arrive(barrier, 1).phase == 1
    assert barrier.arrived == 0


def test_a_barrier_that_nobody_has_initialized_completes_nothing() -> None:
    assert arrive(Barrier(), 64).phase == 0


def test_bytes_that_are_announced_hold_a_phase_open() -> None:
    barrier = expecting(1)
    barrier.bytes_due = 128
    assert arrive(barrier, 1).phase == 0
    barrier.bytes_due = 0
    barrier.settle(WARPS)
    assert barrier.phase == 1


def test_bytes_that_are_not_announced_hold_nothing_open() -> None:
    """Until they have landed, nobody knows of them."""
    barrier = expecting(1)
    barrier.bytes_due = -128
    with pytest.raises(Uncovered, match="were not announced"):
        arrive(barrier, 1)


def test_bytes_may_come_before_they_are_announced() -> None:
    """As long as an arrival is missing."""
    barrier = expecting(1)
    barrier.bytes_due = -128
    barrier.settle(WARPS)
    assert barrier.phase == 0


def test_more_arrivals_than_a_phase_expects_are_not_covered() -> None:
    """Which of them count for this phase, and which for the next, is open."""
    with pytest.raises(Uncovered, match="more threads arrive"):
        arrive(expecting(2), 3)


def test_a_phase_hands_over_what_any_of_its_arrivals_knew() -> None:
    barrier = arrive(arrive(expecting(2), 1, 3, 0, copies=1), 1, 1, 4, copies=2)
    assert told(barrier) == ([3, 4], 3)


def test_a_phase_hands_over_the_copies_that_it_has_waited_for() -> None:
    barrier = expecting(1)
    barrier.copies = 4
    assert told(arrive(barrier, 1, copies=1)) == ([0, 0], 5)
    assert barrier.copies == 0


def test_a_phase_hands_over_what_those_before_it_did_and_not_what_those_behind_it_do() -> None:
    barrier = arrive(arrive(expecting(1), 1, 5, 0, copies=1), 1, 0, 2, copies=2)
    assert told(barrier, 0) == ([5, 0], 1)
    assert told(barrier, 1) == ([5, 2], 3)


def test_what_has_not_completed_a_phase_is_not_handed_over() -> None:
    barrier = arrive(arrive(expecting(2), 2, 1, 1), 1, 9, 9, copies=8)
    assert told(barrier) == ([1, 1], 0)


@pytest.mark.parametrize(
    ("parity", "known", "complete"),
    [(1, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 2), (1, 2, 2), (0, 2, 3), (4, 2, 3), (3, 2, 2)],
)
def test_a_wait_may_be_over_with_the_next_phase_of_its_parity(
    parity: int, known: int, complete: int
) -> None:
    """Before phase 0 is complete, one of parity 1 counts as complete."""
    assert Barrier().earliest(parity, known) == complete


def test_an_mbarrier_that_is_initialized_again_begins_anew() -> None:
    barriers = Barriers({SLOT: arrive(expecting(1), 1)})
    before = barriers.incarnation(SLOT)
    barriers.invalidate(SLOT, np.ones((1, 1), dtype=np.int64))
    barriers.initialize(SLOT, 4)
    assert (barriers[SLOT].expected, barriers[SLOT].phase) == (4, 0)
    assert barriers.incarnation(SLOT) != before


def test_a_slot_begins_when_it_is_first_named() -> None:
    barriers = Barriers()
    barriers[SLOT].expected = 2
    assert barriers[SLOT].expected == 2
    assert barriers[(SLOT[0], 1)].expected is None


def test_a_copy_changes_alone() -> None:
    barriers = Barriers({SLOT: expecting(2)})
    twin = barriers.copy()
    arrive(twin[SLOT], 1)
    twin.meetings[1] = LastMeeting(1)
    assert barriers[SLOT].arrived == 0
    assert not barriers.meetings


# Joins ------------------------------------------------------------------------------------------

USED = Barrier(2, 1, arrived=1, bytes_due=16, copies=1, completed=(handing(),))


def test_two_arms_that_used_all_alike_are_joined() -> None:
    joined = Barriers({SLOT: USED.copy()}).joined(Barriers({SLOT: USED.copy()}))[SLOT]
    assert joined is not USED
    assert (joined.expected, joined.arrived, joined.bytes_due) == (2, 1, 16)
    assert (joined.copies, joined.phase, joined.initialized) == (1, 1, 1)


@pytest.mark.parametrize(
    "other",
    [
        replace(USED, expected=3),
        replace(USED, initialized=2),
        replace(USED, arrived=2),
        replace(USED, completed=(handing(), handing(), handing())),
        replace(USED, bytes_due=32),
        None,
    ],
    ids=["count", "initialized", "arrivals", "phase", "bytes", "not at all"],
)
def test_two_arms_that_used_one_differently_are_not_covered(other: Barrier | None) -> None:
    one, two = Barriers({SLOT: USED}), Barriers({} if other is None else {SLOT: other})
    for left, right in ((one, two), (two, one)):
        with pytest.raises(Uncovered, match="a branch on data decides"):
            left.joined(right)


def test_a_named_barrier_was_used_last_by_those_who_did_in_both_arms() -> None:
    here, there = Barriers(), Barriers()
    here.meetings[1], there.meetings[1] = LastMeeting(1, b"a"), LastMeeting(3, b"a")
    assert here.joined(there).last_meeting(1) == LastMeeting(3, b"a")
    there.meetings[1] = LastMeeting(1, b"b")
    assert here.joined(there).last_meeting(1) == LastMeeting(1, None)
    assert here.joined(Barriers()).last_meeting(1) == LastMeeting(1, None)


handings = st.builds(
    lambda one, two, copies: handing(one, two, copies=copies),
    *(st.integers(0, 4), st.integers(0, 4), st.integers(0, 7)),
)
used = st.builds(
    lambda copies, handed, completed: Barrier(
        2, 1, 1, 0, copies, handed=handed, completed=(completed,)
    ),
    *(st.integers(0, 7), st.none() | handings, handings),
)


def claims(barrier: Barrier) -> set[tuple[int, str, int, int]]:
    """What waiters learn of the phase that is complete, and when the open one is."""
    found = set()
    for phase, handed in enumerate(arrive(barrier.copy(), 1).completed):
        for warp, clock in enumerate(handed.clocks[0]):
            found |= {(phase, "ordered", warp, epoch) for epoch in range(clock)}
        copies = handed.known.copies
        found |= {(phase, "landed", 0, bit) for bit in range(3) if copies >> bit & 1}
    return found


@given(used, used)
def test_a_join_claims_no_more_than_either_side(one: Barrier, other: Barrier) -> None:
    with suppress(Uncovered):  # which claims nothing at all
        assert claims(one.joined(other)) <= claims(one) & claims(other)
