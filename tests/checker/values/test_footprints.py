"""The bytes that threads touch, and which thread touches which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.budget import Work
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.traced import ANYONE
from smemreuse.checker.values.footprints import MAX_DISTANCE, MAX_UNITS, Footprints, Located
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Const
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.evaluate import Value
from tests.checker.small import shared

SIZE = 64
A = shared("A", SIZE)


def made(size: int, stride: int = 0, count: int = 1) -> MemoryAccess:
    footprint = Footprint(Const(0), size, stride, count)
    return MemoryAccess(A, Access.READ, footprint, Const(0))


def located(access: MemoryAccess, start: Value, threads: int = 1) -> Located:
    return Footprints(Work())(access, start, np.arange(threads), SIZE)


def test_each_thread_has_its_bytes() -> None:
    where, by_thread, leaves = located(made(2), np.array([0, 4]), threads=2)
    assert where.tolist() == [0, 1, 4, 5]
    assert by_thread.tolist() == [0, 0, 1, 1]
    assert not leaves


def test_a_byte_of_several_threads_is_anyones() -> None:
    where, by_thread, _ = located(made(4), np.array([0, 2]), threads=2)
    assert where.tolist() == [0, 1, 2, 3, 4, 5]
    assert by_thread.tolist() == [0, 0, ANYONE, ANYONE, 1, 1]


def test_of_a_warp_the_first_lanes_alone_may_access_anything() -> None:
    access = replace(made(1), lanes=8)
    where, by_thread, _ = located(access, np.arange(64) % 16 + np.arange(64) // 32 * 16, threads=64)
    assert where.tolist() == [*range(8), *range(16, 24)]
    assert by_thread.tolist() == [*range(8), *range(32, 40)]
    assert located(access, 4, threads=64)[0].tolist() == [4]
    assert located(access, np.array([90, *range(8)]), threads=9)[2]  # the first lane leaves it
    beyond = np.where(np.arange(64) % 32 < 8, 0, 99)
    assert not located(access, beyond, threads=64)[2]


def test_one_place_that_all_threads_name_is_anyones() -> None:
    assert located(made(2), 4, threads=3)[1].tolist() == [ANYONE, ANYONE]


def test_a_thread_that_comes_twice_is_still_one() -> None:
    access, ids = made(2), np.array([5, 5])
    where, by_thread, _ = Footprints(Work())(access, np.array([0, 0]), ids, SIZE)
    assert (where.tolist(), by_thread.tolist()) == ([0, 1], [5, 5])


def test_a_vector_may_have_gaps() -> None:
    assert located(made(2, stride=4, count=3), 8)[0].tolist() == [8, 9, 12, 13, 16, 17]


@pytest.mark.parametrize("start", [-1, SIZE - 1, -2 * SIZE, SIZE])
def test_what_begins_or_ends_outside_may_be_anywhere_in_the_buffer(start: int) -> None:
    where, by_thread, leaves = located(made(2), start)
    assert leaves
    assert where.tolist() == [*range(SIZE)]
    assert {*by_thread.tolist()} == {ANYONE}


def test_the_last_bytes_are_inside() -> None:
    assert not located(made(2), SIZE - 2)[2]


def test_no_bytes_are_no_bytes() -> None:
    assert located(made(0), 4)[0].tolist() == []


@pytest.mark.parametrize("start", [MAX_DISTANCE + 1, -MAX_DISTANCE - 1])
def test_what_is_too_far_away_is_not_covered(start: int) -> None:
    for one in (start, np.array([0, start])):
        with pytest.raises(Uncovered, match="too far from its buffer"):
            located(made(1), one, threads=2)


def test_what_is_near_enough_merely_leaves_its_buffer() -> None:
    assert located(made(1), MAX_DISTANCE)[2]
    assert located(made(1), -MAX_DISTANCE)[2]


def test_what_is_too_large_is_not_covered() -> None:
    with pytest.raises(Uncovered, match="too large"):
        located(made(1, stride=3, count=MAX_UNITS + 1), 0)


def test_the_same_question_gets_the_same_arrays() -> None:
    footprints, access = Footprints(Work()), made(2)
    start, ids = np.array([0, 4]), np.arange(2)
    assert footprints(access, start, ids, SIZE) is footprints(access, start, ids, SIZE)
    assert footprints(access, start, ids + 7, SIZE)[1].tolist() == [7, 7, 8, 8]
    assert footprints(access, start + 1, ids, SIZE)[0].tolist() == [1, 2, 5, 6]
    assert footprints(made(4), start, ids, SIZE)[0].tolist() == [*range(8)]


@settings(max_examples=60)
@given(
    st.lists(st.integers(-4, SIZE), min_size=1, max_size=4),
    st.integers(1, 8),
    st.sampled_from([0, 1, 4, 8]),
    st.integers(1, 3),
)
def test_footprints_are_what_they_are_byte_by_byte(
    starts: list[int], size: int, stride: int, count: int
) -> None:
    owners: dict[int, set[int]] = {}
    for thread, start in enumerate(starts):
        for run in range(count):
            for byte in range(size):
                owners.setdefault(start + run * stride + byte, set()).add(thread)
    where, by_thread, leaves = located(made(size, stride, count), np.array(starts), len(starts))
    assert leaves == any(not 0 <= byte < SIZE for byte in owners)
    if not leaves:
        assert where.tolist() == sorted(owners)
        expected = [owners[byte] for byte in sorted(owners)]
        assert by_thread.tolist() == [
            next(iter(who)) if len(who) == 1 else ANYONE for who in expected
        ]


def test_the_same_bytes_are_the_same_arrays() -> None:
    """Accesses are told apart by them."""
    footprints, ids = Footprints(Work()), np.arange(2)
    one = footprints(made(4), np.array([0, 4]), ids, SIZE)
    other = footprints(made(2, 2, 2), np.array([0, 4]), ids, SIZE)
    assert one[0] is other[0]
    assert one[1] is other[1]
    assert footprints(made(4), np.array([4, 0]), ids, SIZE)[1] is not one[1]
    assert footprints.whole(SIZE)[0] is footprints.whole(SIZE)[0]
    assert footprints.whole(4)[1].tolist() == [ANYONE] * 4


def test_bytes_that_are_looked_up_alike_are_still_told_apart() -> None:
    """Arrays are found by some of their numbers; all of them are compared."""
    footprints, ids, even = Footprints(Work()), np.arange(128), np.arange(0, 256, 2)
    other = even.copy()
    other[1] += 1
    found = [footprints(made(1), start, ids, 256)[0] for start in (even, other, even.copy())]
    assert found[0].tolist() == even.tolist()
    assert found[1].tolist() == other.tolist()
    assert found[2] is found[0]
