"""The accesses of arms that threads take each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.machine.arms import ArmAccesses, conflict, filled_by_both
from smemreuse.ir.kernel import Buffer
from smemreuse.results.verdict import SOUND, UNPROVED
from tests.checker.small import SYNC, access, judge, layout_of, shared, under

A, B = shared("A", 8), shared("B", 8)
LAYOUT = layout_of(A, B, B=4)
"""B begins with A's second half."""


def arm(*accesses: tuple[Buffer, list[int], list[int], bool], certain: bool = True) -> ArmAccesses:
    """An arm in which bytes are accessed, each by the thread at its place."""
    found = ArmAccesses(LAYOUT)
    for buffer, where, threads, is_write in accesses:
        found.note(access(buffer, where, by=threads, is_write=is_write), certain)
    return found


def filled(one: ArmAccesses, two: ArmAccesses) -> dict[str, list[int]]:
    return {buffer.name: where.tolist() for buffer, where, _ in filled_by_both(one, two)}


def test_what_one_thread_writes_in_both_arms_is_filled() -> None:
    assert filled(arm((A, [0, 1], [5, 6], True)), arm((A, [0, 1], [5, 7], True))) == {"A": [0]}


def test_a_reader_has_what_it_wrote_in_its_arm_or_one_around() -> None:
    outer = arm((A, [0, 1, 2], [5, 6, -1], True))
    inner = ArmAccesses(LAYOUT, around=outer)
    inner.note(access(A, [3], by=[7], is_write=True), True)
    inner.note(access(A, [4], by=[7], is_write=True), False)
    read = access(A, range(5), by=[5, 5, -1, 7, 7])
    assert inner.filled_by_reader(read).tolist() == [True, False, False, True, False]
    assert outer.filled_by_reader(read).tolist() == [True, False, False, False, False]


def test_several_threads_or_a_write_that_may_not_happen_fill_nothing() -> None:
    both = arm((A, [0], [-1], True))
    assert filled(both, both) == {}
    sure, unsure = (arm((A, [0], [5], True), certain=one) for one in (True, False))
    assert filled(sure, unsure) == filled(unsure, sure) == {}


def test_what_arms_within_fill_is_filled_only_where_each_thread_is_there_once() -> None:
    within = arm((A, [0], [5], True))
    for once in (True, False):
        around = ArmAccesses(LAYOUT, once)
        around.add_branch(within, within)
        assert filled(around, around) == ({"A": [0]} if once else {})


def test_a_partner_s_write_in_either_arm_takes_it_back() -> None:
    one = arm((A, [3, 4, 5], [5, 5, 5], True))
    assert filled(one, one) == {"A": [3, 4, 5]}
    two = arm((A, [3, 4, 5], [5, 5, 5], True), (B, [1], [5], True))  # byte 5 of A
    assert filled(one, two) == filled(two, one) == {"A": [3, 4]}


def test_arms_not_all_on_record_are_taken_to_conflict_and_to_fill_nothing() -> None:
    one, two = arm((A, [0], [5], True)), arm((A, [0], [5], True))
    assert not conflict(one, A, two, A)
    two.known = False
    assert conflict(one, A, two, A)
    assert conflict(two, A, one, A)
    assert filled(one, two) == filled(two, one) == {}


@pytest.mark.parametrize("mine", [5, 6, -1])
@pytest.mark.parametrize("theirs", [5, -1])
@pytest.mark.parametrize("writes", [(True, True), (True, False), (False, True), (False, False)])
def test_two_threads_at_one_byte_conflict_if_one_writes(
    mine: int, theirs: int, writes: tuple[bool, bool]
) -> None:
    one, two = arm((A, [6], [mine], writes[0])), arm((B, [2], [theirs], writes[1]))
    other = mine != theirs or mine == -1
    assert conflict(one, A, two, B) == (other and any(writes))
    assert not conflict(one, A, arm((B, [3], [theirs], True)), B)


def test_who_touches_a_byte_first_is_not_forgotten() -> None:
    one = arm((A, [0], [5], True), (A, [0], [6], True))
    assert conflict(one, A, arm((A, [0], [6], True)), A)


def test_an_arm_s_own_arms_are_part_of_it() -> None:
    around = ArmAccesses(LAYOUT)
    around.add_branch(arm((A, [0, 1], [5, 6], True)), arm((A, [0, 2], [5, 7], True)))
    assert filled(around, arm((A, [0, 1, 2], [5, 6, 7], True))) == {"A": [0]}
    for byte, thread in ((0, 5), (1, 6), (2, 7)):
        assert not conflict(around, A, arm((A, [byte], [thread], True)), A)
        assert conflict(around, A, arm((A, [byte], [thread + 1], False)), A)
    assert np.array_equal(around.wrote[A], around.touched[A])


AS, BS = "As[tx] = 1\n", "Bs[tx] = 1\n"


@pytest.mark.parametrize(
    ("then", "orelse", "after", "verdict"),
    [
        (AS, BS, "", SOUND),
        (AS, "Bs[63 - tx] = 1\n", "", UNPROVED),
        (AS, AS, "O[tx] = As[tx]\n", SOUND),
        (AS, "", "O[tx] = As[tx]\n", UNPROVED),
        (AS, AS + BS, "O[tx] = As[tx]\n", UNPROVED),
    ],
)
def test_arms_of_buffers_that_share_their_bytes(
    then: str, orelse: str, after: str, verdict: str
) -> None:
    """As and Bs lie at the same place, where Bs has taken the place of As."""
    both = under("if D[tx] > 0", then) + (under("else", orelse) if orelse else "")
    assert judge(AS + BS + both + after + SYNC + BS).verdict == verdict


def test_iterations_that_run_together_may_take_different_arms() -> None:
    """What a thread stores in one arm in the first and in the other in the second."""
    both = under("if D[tx + i * 64] > 0", "As[i * 64 + tx] = 1\n")
    both += under("else", "As[(1 - i) * 64 + tx] = 1\n")
    body = AS + "As[tx + 64] = 1\n" + BS + "Bs[tx + 64] = 1\n"
    body += under("for i in T.unroll(2)", both) + "O[tx] = As[tx]\n"
    assert judge(body, elements=128).verdict == UNPROVED
