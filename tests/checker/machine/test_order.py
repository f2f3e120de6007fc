"""Vector clocks: what happens before what, and who knows which loads to be complete."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.machine.order import Knowledge, Order, ReleasedClocks
from tests.checker.small import warps

WARPS = 3
ALL = warps(0, 1, 2)


def knowing(copies: int) -> ReleasedClocks:
    """What is handed over by somebody who knows of copies alone."""
    return ReleasedClocks.only(WARPS, Knowledge(copies))


def ordered(order: Order, earlier: int, later: int, epoch: int = 1) -> bool:
    """Whether what warp `earlier` did in an epoch has happened before what `later` does now."""
    return bool(order.clock[later, earlier] > epoch)


def first_threads(*numbers: int) -> np.ndarray:
    """One thread of each of these warps."""
    return 32 * warps(*numbers)


def test_nothing_is_ordered_at_first_not_even_within_a_warp() -> None:
    order = Order(WARPS)
    assert not any(ordered(order, one, two) for one in range(WARPS) for two in range(WARPS))


def test_a_barrier_of_all_orders_what_came_before_it_and_not_what_comes_behind() -> None:
    order = Order(WARPS)
    order.barrier(ALL)
    assert all(ordered(order, one, two) for one in range(WARPS) for two in range(WARPS))
    assert not ordered(order, 0, 1, int(order.epochs[0]))


def test_a_barrier_of_some_is_for_those_alone() -> None:
    order = Order(WARPS)
    order.barrier(warps(0, 1))
    assert ordered(order, 0, 1)
    assert ordered(order, 0, 0)  # the threads of a warp have met too
    assert not ordered(order, 0, 2)
    assert not ordered(order, 2, 0)


def test_a_barrier_of_nobody_orders_nothing() -> None:
    order = Order(WARPS)
    order.barrier(warps())
    assert order.epochs.tolist() == [1, 1, 1]


def test_those_who_meet_pass_on_what_they_know_of_others() -> None:
    order = Order(WARPS)
    order.barrier(warps(0, 1))
    order.barrier(warps(1, 2))
    assert ordered(order, 0, 2)
    assert not ordered(order, 2, 0)


def test_what_is_released_is_known_to_those_who_acquire_it() -> None:
    order = Order(WARPS)
    order.acquire(warps(2), order.release(warps(0)))
    assert ordered(order, 0, 2)
    assert not ordered(order, 0, 1)
    assert not ordered(order, 2, 0)


def test_warps_that_arrive_together_hand_over_what_any_of_them_knows() -> None:
    order = Order(4)
    order.barrier(warps(0, 1))
    order.acquire(warps(3), order.release(warps(1, 2)))
    assert ordered(order, 0, 3)
    assert ordered(order, 1, 3)
    assert ordered(order, 2, 3)


def test_what_comes_behind_a_release_is_not_in_it() -> None:
    order = Order(WARPS)
    handed = order.release(warps(0))
    later = int(order.epochs[0])
    order.acquire(warps(2), handed)
    assert not ordered(order, 0, 2, later)


def test_a_release_does_not_order_the_threads_of_the_releasing_warp() -> None:
    order = Order(WARPS)
    order.release(warps(0))
    assert not ordered(order, 0, 0)


def test_part_of_a_warp_hands_over_what_it_knows_but_not_what_it_did() -> None:
    order = Order(WARPS)
    order.barrier(warps(0, 1))
    before = int(order.epochs[1])
    order.acquire(warps(2), order.release_in_part(first_threads(1)))
    assert ordered(order, 0, 2)
    assert not any(clock[2, 1] > before for clock in (order.of_warps, order.inserted, order.sure))


def test_what_part_of_a_warp_did_may_be_ordered_and_not_what_it_does_behind() -> None:
    order = Order(WARPS)
    order.acquire(warps(2), order.release_in_part(first_threads(1)))
    assert ordered(order, 1, 2)
    assert not ordered(order, 1, 2, int(order.epochs[1]))
    assert np.flatnonzero(order.alone).tolist() == [32]
    assert np.flatnonzero(Order(WARPS).joined(order).alone).tolist() == [32]


def test_parts_of_warps_hand_over_together_what_any_of_them_knows() -> None:
    """The phase that they arrive in does not end without any of them."""
    order = Order(WARPS)
    order.barrier(warps(0, 1))
    handed = order.release_in_part(first_threads(1, 2))
    assert handed.clocks[:, 0].all()
    assert not handed.clocks[1:, 2].any()


def test_loads_are_passed_on_like_clocks() -> None:
    order = Order(WARPS)
    order.acquire(warps(0), knowing(0b101))
    assert order.known_to_some(ALL).copies == 0b101
    assert not order.known_to_all(ALL).copies
    order.barrier(warps(0, 1))
    assert order.known_to_all(warps(0, 1)).copies == 0b101
    order.acquire(warps(2), order.release(warps(1)))
    assert order.known_to_all(ALL).copies == 0b101


def test_phases_are_passed_on_like_clocks() -> None:
    order = Order(WARPS)
    order.note_phase(warps(0), "full", 3)
    order.note_phase(warps(1), "full", 1)
    assert order.known_to_all(warps(0, 1)).phase("full") == 1
    assert order.known_to_all(ALL).phase("full") == 0
    order.acquire(warps(2), order.release_in_part(first_threads(0)))
    assert [order.known[warp].phase("full") for warp in range(WARPS)] == [3, 1, 3]
    order.barrier(warps(0, 1))
    assert order.known_to_all(ALL).phase("full") == 3
    assert order.known_to_all(ALL).phase("empty") == 0


def test_an_assumed_barrier_orders_accesses_of_threads_alone() -> None:
    order = Order(WARPS)
    order.acquire(warps(0), knowing(1))
    order.assume_barrier(warps(0, 1))
    assert ordered(order, 0, 1)
    assert not order.sure.any()
    assert not order.known_to_all(warps(0, 1)).copies
    order.acquire(warps(2), order.release(warps(0, 1)))
    assert ordered(order, 1, 2)
    assert order.sure[2].tolist() == [3, 3, 0]
    order.assume_barrier(warps())
    assert ordered(order, 0, 2)


def test_warps_that_know_different_things_learn_each_on_its_own() -> None:
    order = Order(WARPS)
    order.note_phase(warps(0), "full", 1)
    order.note_phase(ALL, "empty", 2)
    assert [order.known[warp].phase("full") for warp in range(WARPS)] == [1, 0, 0]
    assert order.known_to_all(ALL).phase("empty") == 2


def test_what_is_joined_is_ordered_only_as_in_both() -> None:
    met, apart = Order(WARPS), Order(WARPS)
    met.barrier(ALL)
    met.acquire(ALL, knowing(1))
    apart.barrier(warps(0, 1))
    for joined in (met.joined(apart), apart.joined(met)):
        assert ordered(joined, 0, 1)
        assert not ordered(joined, 0, 2)
        assert not joined.known_to_some(ALL).copies


def test_behind_a_join_accesses_of_either_side_are_not_ordered_yet() -> None:
    far, near = Order(WARPS), Order(WARPS)
    for _ in range(3):
        far.barrier(ALL)
    epoch = int(far.epochs[0])  # of an access in the one arm
    near = near.joined(far)
    near.barrier(warps(1, 2))
    assert not ordered(near, 0, 1, epoch)
    near.barrier(ALL)
    assert ordered(near, 0, 1, epoch)


# A join claims no more than either side -----------------------------------------------------------

Step = tuple[str, tuple[int, ...], tuple[int, ...]]
some = st.sets(st.integers(0, WARPS - 1), min_size=1).map(lambda found: tuple(sorted(found)))
step = st.tuples(
    st.sampled_from(["meet", "assume", "hand over", "in part", "learn", "wait"]), some, some
)
steps = st.lists(step, max_size=5)


def run(order: Order, taken: Sequence[Step]) -> Order:
    order = order.copy()
    for number, (kind, one, two) in enumerate(taken):
        if kind == "meet":
            order.barrier(warps(*one))
        elif kind == "learn":
            order.acquire(warps(*one), knowing(1 << number))
        elif kind == "assume":
            order.assume_barrier(warps(*one))
        elif kind == "wait":
            order.note_phase(warps(*one), "full", number)
        else:
            in_part = kind == "in part"
            handed = (
                order.release_in_part(first_threads(*one))
                if in_part
                else order.release(warps(*one))
            )
            order.acquire(warps(*two), handed)
    return order


def claims(order: Order) -> set[tuple[str, int, int, int]]:
    """What is ordered, for whom, and which loads are known to be complete."""
    found = {
        ("ordered", later, earlier, epoch)
        for later in range(WARPS)
        for earlier in range(WARPS)
        for epoch in range(int(order.clock[later, earlier]))
    }
    found |= {
        ("surely ordered", later, earlier, epoch)
        for later in range(WARPS)
        for earlier in range(WARPS)
        for epoch in range(int(order.sure[later, earlier]))
    }
    for warp, known in enumerate(order.known):
        found |= {("loaded", warp, 0, bit) for bit in range(16) if known.copies >> bit & 1}
        found |= {("complete", warp, 0, phase) for phase in range(known.phase("full"))}
    return found


@settings(max_examples=60, deadline=None)
@given(steps, steps, steps)
def test_a_join_claims_no_more_than_either_side(
    before: Sequence[Step], one: Sequence[Step], other: Sequence[Step]
) -> None:
    start = run(Order(WARPS), before)
    left, right = run(start, one), run(start, other)
    joined = left.joined(right)
    assert claims(joined) <= claims(left) & claims(right)
    # What is done now has a number that neither side has used up.
    assert (joined.epochs >= np.maximum(left.epochs, right.epochs)).all()


@given(steps, steps, steps)
def test_nothing_is_ordered_before_it_is_done(
    before: Sequence[Step], other: Sequence[Step], after: Sequence[Step]
) -> None:
    start = run(Order(WARPS), before)
    order = run(start.joined(run(start, other)), after)
    assert (order.sure <= order.clock).all()
    assert (order.clock <= order.epochs).all()
