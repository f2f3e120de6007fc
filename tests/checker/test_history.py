"""Which accesses to common bytes are remembered, to be ordered with those that follow."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.history import RECENT, History
from tests.checker.small import access, layout_of, shared, warps

A, B = shared("A", 8), shared("B", 8)
LAYOUT = layout_of(A, B, B=4)
WARPS = 2

Noted = tuple[bool, int, int, int]
"""Whether it writes, the warp, its epoch, and the first of two bytes of A."""


def note(history: History, *noted: Noted) -> History:
    for is_write, warp, epoch, byte in noted:
        made = access(A, (byte, byte + 1), is_write=is_write, ids=(32 * warp,))
        history.note(made, warps(epoch))
    return history


def latest(history: History, is_write: bool) -> list[int]:
    """The latest epochs of the warps in which A's bytes in B had what this must come after."""
    found: list[int] = history.seen[A, B].against(is_write).tolist()
    return found


def test_reads_must_come_after_writes_and_writes_after_both() -> None:
    history = note(History(LAYOUT, WARPS), (False, 0, 3, 4), (True, 1, 2, 6))
    assert latest(history, is_write=False) == [0, 2]
    assert latest(history, is_write=True) == [3, 2]


def test_only_bytes_in_common_are_remembered() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 1, 0))
    assert latest(history, is_write=True) == [0, 0]
    note(history, (True, 0, 1, 3))  # its second byte is B's first
    assert [recent.where.tolist() for recent in history.seen[A, B].recent] == [[4]]


def test_an_earlier_epoch_does_not_hide_a_later_one() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 5, 4), (True, 0, 2, 4))
    assert latest(history, is_write=True) == [5, 0]


def test_the_last_accesses_are_kept_byte_by_byte_with_their_threads() -> None:
    history = History(LAYOUT, WARPS)
    history.note(access(A, (4, 5), by=(7, 9), ids=(7, 9), event=3), warps(1))
    (recent,) = history.seen[A, B].recent
    assert (recent.where.tolist(), recent.threads.tolist(), recent.event) == ([4, 5], [7, 9], 3)
    note(history, *[(True, 0, 1, 4)] * RECENT)
    assert len(history.seen[A, B].recent) == RECENT


def test_a_load_is_remembered_for_the_partners_whose_bytes_it_fills() -> None:
    history = History(LAYOUT, WARPS)
    history.note_load(access(A, range(4), is_write=True), 1)
    assert history.loads == {}
    history.note_load(access(A, range(8), is_write=True), 2)
    history.note_load(access(A, range(6, 8), is_write=True), 4)
    assert history.loads == {(A, B): 6}


def test_a_copy_changes_alone() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 1, 4))
    twin = note(history.copy(), (True, 1, 4, 4))
    twin.note_load(access(A, range(8), is_write=True), 1)
    assert latest(history, is_write=True) == [1, 0]
    assert len(history.seen[A, B].recent) == 1
    assert history.loads == {}


# A join claims no more than either side -----------------------------------------------------------

notes = st.lists(
    st.tuples(st.booleans(), st.integers(0, 1), st.integers(1, 4), st.integers(3, 6)), max_size=4
)


def demands(history: History) -> set[tuple[object, ...]]:
    """What an access of B must be ordered behind: the more of it, the less is claimed."""
    seen = history.seen[A, B]
    found: set[tuple[object, ...]] = {
        ("kept", one.is_write, *one.where.tolist(), *one.warps.tolist(), *one.epochs.tolist())
        for one in seen.recent
    }
    for is_write in (False, True):
        for warp, epoch in enumerate(seen.against(is_write).tolist()):
            found |= {("epoch", is_write, warp, earlier) for earlier in range(epoch)}
    bits = history.loads.get((A, B), 0)
    return found | {("load", bit) for bit in range(4) if bits >> bit & 1}


@settings(max_examples=60, deadline=None)
@given(notes, notes, notes, notes, st.integers(0, 3), st.integers(0, 3))
def test_a_join_demands_all_that_either_side_does(
    before: Sequence[Noted],
    one: Sequence[Noted],
    other: Sequence[Noted],
    after: Sequence[Noted],
    left_load: int,
    right_load: int,
) -> None:
    start = note(History(LAYOUT, WARPS), *before)
    left, right = note(start.copy(), *one), note(start.copy(), *other)
    left.note_load(access(A, range(8), is_write=True), 1 << left_load)
    right.note_load(access(A, range(8), is_write=True), 1 << right_load)
    joined = note(left.joined(right), *after)
    assert demands(joined) >= demands(note(left, *after)) | demands(note(right, *after))


def test_what_both_have_is_kept_once() -> None:
    start = note(History(LAYOUT, WARPS), (True, 0, 1, 4))
    assert len(start.copy().joined(start.copy()).seen[A, B].recent) == 1


@pytest.mark.xfail(strict=True, reason="what is pushed out of the recent accesses is forgotten")
def test_many_accesses_push_no_other_out() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 1, 4))
    demanded = demands(history)
    note(history, *[(True, 0, 1, 6)] * RECENT)
    assert demands(history) >= demanded


@pytest.mark.xfail(strict=True, reason="behind a join, one arm's accesses push out the other's")
def test_a_full_arm_pushes_nothing_of_the_other_out() -> None:
    start = History(LAYOUT, WARPS)
    few, many = note(start.copy(), (True, 0, 1, 4)), note(start.copy(), *[(True, 0, 1, 6)] * RECENT)
    joined = note(few.joined(many), (True, 0, 1, 6))
    assert demands(joined) >= demands(note(few, (True, 0, 1, 6)))
