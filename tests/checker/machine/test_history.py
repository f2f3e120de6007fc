"""Which accesses to common bytes are remembered, to be ordered with those that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.history import RECENT, History
from smemreuse.checker.machine.order import Knowledge, Order
from smemreuse.checker.machine.recent import Recent
from smemreuse.checker.traced import TracedAccess
from smemreuse.results.verdict import UNPROVED, UNSOUND
from tests.checker.small import SYNC, access, judge, layout_of, shared, under, warps

A, B = shared("A", 8), shared("B", 8)
LAYOUT = layout_of(A, B, B=4)
WARPS = 2

Noted = tuple[bool, int, int, int]
"""Whether it writes, the warp, its epoch, and the first of two bytes of A."""


def order_at(*epochs: int) -> Order:
    """No warp has met another one, and these are their epochs."""
    order = Order(len(epochs))
    order.epochs[:] = epochs
    return order


def note(history: History, *noted: Noted) -> History:
    for is_write, warp, epoch, byte in noted:
        made = access(A, (byte, byte + 1), is_write=is_write, ids=(32 * warp,), by=(32 * warp,) * 2)
        history.note(made, order_at(epoch, epoch))
    return history


def kept(history: History) -> list[Recent]:
    """What is remembered of A's bytes in B."""
    return list(history.seen[A, B]._recent.values())


def latest(history: History, is_write: bool) -> list[int]:
    """The latest epochs of the warps in which A's bytes in B had what this must come after."""
    found: list[int] = history.seen[A, B].against(is_write).tolist()
    return found


def conflicts(
    history: History, order: Order, *bytes_of_a: int, is_write: bool = True, thread: int = 0
) -> list[int]:
    """The events of what an access of B by one thread to bytes that are A's too comes not after."""
    theirs = np.array(bytes_of_a)
    made = access(B, theirs - 4, is_write=is_write, ids=(thread,), by=(thread,) * len(theirs))
    return sorted(one.event for one in history.conflicts(made, A, theirs, order))


def test_reads_must_come_after_writes_and_writes_after_both() -> None:
    history = note(History(LAYOUT, WARPS), (False, 0, 3, 4), (True, 1, 2, 6))
    assert latest(history, is_write=False) == [0, 2]
    assert latest(history, is_write=True) == [3, 2]


def test_only_bytes_in_common_are_remembered() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 1, 0))
    assert latest(history, is_write=True) == [0, 0]
    note(history, (True, 0, 1, 3))  # its second byte is B's first
    assert [recent.traced.where.tolist() for recent in kept(history)] == [[4]]


def test_an_earlier_epoch_does_not_hide_a_later_one() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 5, 4), (True, 0, 2, 4))
    assert latest(history, is_write=True) == [5, 0]


def test_an_access_is_kept_with_the_thread_of_each_byte() -> None:
    history = History(LAYOUT, WARPS)
    history.note(access(A, (4, 5), by=(7, 9), ids=(7, 9), event=3), order_at(1, 1))
    (recent,) = kept(history)
    one = recent.traced
    assert (one.where.tolist(), one.by_thread.tolist(), one.event) == ([4, 5], [7, 9], 3)


def test_what_is_done_again_is_kept_once_with_its_latest_epochs() -> None:
    history = History(LAYOUT, WARPS)
    made = access(A, (4, 5), is_write=True, ids=(0, 32))
    for epochs in ((1, 3), (2, 2)):
        history.note(replace(made, event=epochs[0]), order_at(*epochs))
    (recent,) = kept(history)
    assert (recent.epochs.tolist(), recent.traced.event) == ([2, 3], 2)


# What is not ordered ------------------------------------------------------------------------------


def test_another_threads_access_to_a_byte_is_a_conflict_until_it_is_ordered() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), is_write=True, by=(1, 2), ids=(1, 2), event=7), order)
    assert conflicts(history, order, 4) == [7]
    assert conflicts(history, order, 4, thread=1) == []  # its own byte
    assert conflicts(history, order, 5, thread=1) == [7]
    assert conflicts(history, order, 6) == []
    order.barrier(warps(0))
    assert conflicts(history, order, 4) == []
    assert conflicts(history, order, 4, thread=32) == [7]  # of a warp that was not there


def test_reads_do_not_conflict() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), event=7), order)
    assert conflicts(history, order, 4, is_write=False) == []
    assert conflicts(history, order, 4) == [7]


def test_a_byte_is_laid_to_the_warp_that_touched_it() -> None:
    """The warps have not met each other, but each has met itself."""
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), is_write=True, by=(0, 32), ids=(0, 32), event=7), order)
    for warp in (0, 1):
        order.barrier(warps(warp))
    assert conflicts(history, order, 4, thread=1) == []
    assert conflicts(history, order, 5, thread=33) == []
    assert conflicts(history, order, 5, thread=1) == [7]


def test_a_byte_of_many_threads_is_laid_to_all_their_warps() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), is_write=True, ids=(0, 32), event=7), order)
    order.barrier(warps(0))
    assert conflicts(history, order, 4) == [7]
    order.barrier(warps(0, 1))
    assert conflicts(history, order, 4) == []


def test_a_conflict_is_certain_if_it_is_one_whichever_warp_touched_the_byte() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), is_write=True, by=(-1, 1), ids=(0, 1, 32)), order)

    def is_certain(byte: int, *ids: int) -> bool:
        by = (ids[0] if len(ids) == 1 else -1,)
        made = access(B, (byte - 4,), is_write=True, ids=ids, by=by)
        (found,) = history.conflicts(made, A, np.array([byte]), order)
        return found.certain

    assert [is_certain(4, 0), is_certain(5, 0), is_certain(4, 0, 32)] == [True] * 3
    order.barrier(warps(1))
    order.clock[0, 1] = order.epochs[1]  # the first warp knows what the second has done
    assert [is_certain(4, 0), is_certain(5, 0), is_certain(5, 33)] == [False, True, True]
    assert [is_certain(4, 0, 32), is_certain(5, 0, 32)] == [False, True]


def test_who_knows_that_an_asynchronous_access_is_over_need_not_have_met_anybody() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4, 5), is_write=True, ids=(32,), event=7), order, bits=2)
    order.known[0] = Knowledge(1)
    assert conflicts(history, order, 4) == [7]
    order.known[0] = Knowledge(3)
    assert conflicts(history, order, 4) == []
    assert conflicts(history, order, 4, thread=33) == [7]


# Nothing is forgotten -----------------------------------------------------------------------------


def distinct(history: History, order: Order, count: int, byte: int = 6) -> None:
    for _ in range(count):
        history.note(access(A, (byte,), is_write=True, by=(0,), event=1), order)


def test_many_accesses_push_no_other_out() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4,), is_write=True, by=(5,), event=7), order)
    distinct(history, order, 3 * RECENT)
    assert len(kept(history)) <= RECENT
    assert len(conflicts(history, order, 4)) == 1
    assert conflicts(history, order, 4, thread=5) == []  # still known to be its own
    assert conflicts(history, order, 5) == []


def test_of_older_accesses_to_a_byte_the_thread_is_known_if_it_was_the_same() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    for thread in (5, 6):
        history.note(access(A, (4,), is_write=True, by=(thread,), event=7), order)
    distinct(history, order, 2 * RECENT)
    assert len(conflicts(history, order, 4, thread=5)) == 1
    (found,) = history.conflicts(access(B, (0,), is_write=True), A, np.array([4]), order)
    assert not found.certain


def test_of_older_accesses_that_one_is_named_which_touched_the_byte_last() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    for event, byte in ((7, 4), (8, 5), (9, 4)):
        history.note(access(A, (byte,), is_write=True, by=(5,), event=event), order)
    distinct(history, order, 2 * RECENT)
    assert conflicts(history, order, 4) == [9]
    assert conflicts(history, order, 5) == [8]
    (found,) = history.conflicts(access(B, (0,), is_write=True), A, np.array([4]), order)
    assert found.of_several


def test_what_comes_before_all_that_can_follow_is_dropped() -> None:
    history, order = History(LAYOUT, WARPS), Order(WARPS)
    history.note(access(A, (4,), is_write=True, by=(5,), event=7), order)
    order.barrier(warps(0))
    distinct(history, order, RECENT + 1)
    assert len(conflicts(history, order, 4, thread=32)) == 1  # the other warp was not there
    order.barrier(warps(0, 1))
    distinct(history, order, RECENT + 1)
    assert all(entry.traced.where.tolist() == [6] for entry in kept(history))


def test_a_full_arm_pushes_nothing_of_the_other_out() -> None:
    order = Order(WARPS)
    few, many = History(LAYOUT, WARPS), History(LAYOUT, WARPS)
    few.note(access(A, (4,), is_write=True, by=(5,)), order)
    many.note(access(A, (5,), is_write=True, by=(5,)), order)
    distinct(few, order, RECENT - 1)
    distinct(many, order, RECENT + 9)
    for joined in (few.joined(many, order, order), many.joined(few, order, order)):
        distinct(joined, order, 1)
        assert len(conflicts(joined, order, 4)) == len(conflicts(joined, order, 5)) == 1


def test_what_one_side_has_made_one_does_not_come_back() -> None:
    """Else a loop with a branch on data merges the older accesses anew in each round."""
    before, order = History(LAYOUT, WARPS), order_at(1, 1)
    distinct(before, order, RECENT)
    then = before.copy()
    note(then, (False, 1, 1, 5))
    assert len(kept(then)) < RECENT
    joined = then.joined(before, order, order)
    assert len(kept(joined)) <= len(kept(then)) + 1
    assert latest(joined, True) == latest(then, True)


def test_a_copy_changes_alone() -> None:
    history = note(History(LAYOUT, WARPS), (True, 0, 1, 4))
    note(history.copy(), (True, 1, 4, 4))
    assert latest(history, is_write=True) == [1, 0]
    assert len(kept(history)) == 1


def test_what_both_have_is_kept_once() -> None:
    start = note(History(LAYOUT, WARPS), (True, 0, 1, 4))
    order = Order(WARPS)
    assert len(kept(start.copy().joined(start.copy(), order, order))) == 1


def test_what_is_past_on_its_side_is_not_kept() -> None:
    past, order = note(History(LAYOUT, WARPS), (True, 0, 1, 4)), order_at(1, 1)
    order.barrier(warps(0, 1))
    other = note(History(LAYOUT, WARPS), (True, 1, 1, 6))
    both = other.joined(past, order_at(1, 1), order)
    assert [entry.traced.where.tolist() for entry in kept(both)] == [[6, 7]]
    assert latest(both, is_write=True) == [0, 1]


# A join claims no more than either side -----------------------------------------------------------

MADE: tuple[TracedAccess, ...] = tuple(
    access(A, (byte, byte + 1), is_write=is_write, ids=ids, by=by, event=event)
    for event, (is_write, byte, ids, by) in enumerate(
        (is_write, byte, ids, by)
        for is_write in (False, True)
        for byte in (4, 6)
        for ids, by in (((0,), (0, 0)), ((32,), (32, 32)), ((0, 32), (0, 32)), ((0, 32), (-1, -1)))
    )
)
"""What is done again is the same object."""

step = st.one_of(
    st.integers(0, len(MADE) - 1), st.sampled_from(["all meet", "one meets itself", "many"])
)
steps = st.lists(step, max_size=6)
Machine = tuple[History, Order]


def run(machine: Machine, taken: Sequence[int | str]) -> Machine:
    history, order = machine[0].copy(), machine[1].copy()
    for one in taken:
        if isinstance(one, int):
            history.note(MADE[one], order)
        elif one == "many":
            distinct(history, order, RECENT, byte=7)
        else:
            order.barrier(warps(0, 1) if one == "all meet" else warps(0))
    return history, order


def demands(machine: Machine) -> set[tuple[int, bool, int]]:
    """The accesses of B that are not ordered behind all of A's."""
    history, order = machine
    return {
        (byte, is_write, thread)
        for byte in (4, 5, 6, 7)
        for is_write in (False, True)
        for thread in (0, 1, 32, 33)
        if conflicts(history, order, byte, is_write=is_write, thread=thread)
    }


def joined(one: Machine, other: Machine) -> Machine:
    history = one[0].joined(other[0], one[1], other[1])
    return history, one[1].joined(other[1])


@settings(max_examples=60, deadline=None)
@given(steps, steps, steps, steps)
def test_a_join_demands_all_that_either_side_does(
    before: list[int | str], one: list[int | str], other: list[int | str], after: list[int | str]
) -> None:
    start = run((History(LAYOUT, WARPS), Order(WARPS)), before)
    left, right = run(start, one), run(start, other)
    found = demands(run(joined(left, right), after))
    assert found >= demands(run(left, after)) | demands(run(right, after))


@settings(max_examples=60, deadline=None)
@given(steps, steps)
def test_what_has_happened_before_takes_no_demand_away(
    before: list[int | str], after: list[int | str]
) -> None:
    """However full the history is."""
    empty = (History(LAYOUT, WARPS), Order(WARPS))
    full = run(empty, before)
    assert demands(run(full, after)) >= demands(run((empty[0], full[1]), after))


# Kernels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [24, 3 * RECENT])
def test_a_conflict_is_not_forgotten_over_those_behind_it(between: int) -> None:
    body = "Bs[63 - tx] = tx\n" + "".join(f"Bs[tx + {n % 2}] = 7\n" for n in range(between))
    end = "As[tx] = 1\nO[tx] = As[tx]\n"
    assert not judge(body + end, elements=65).sound
    assert judge("Bs[tx] = tx\n" + "Bs[tx] = 7\n" * between + end).sound


def test_a_conflict_is_not_forgotten_while_another_warp_lags_behind() -> None:
    """The third warp has written B without meeting the others; its last read hides it."""
    first = under("if tx >= 64", "Bs[tx - 64] = 1\n")
    met = under("if tx < 64", 'T.tvm_storage_sync("shared", 1, 64)\n' + "Bs[tx] = 7\n" * 24)
    last = under("if tx >= 64", "O[tx] = Bs[90]\n")
    body = first + met + last + under("if tx < 64", "As[tx] = 1\nO[tx] = As[tx]\n")
    assert not judge(body, threads=96).sound


def test_a_conflict_of_one_arm_is_not_forgotten_over_the_other() -> None:
    branch = under("if D[0] > 0", "Bs[63 - tx] = 1\n") + under("else", "Bs[tx] = 7\n" * 24)
    body = f"{branch}Bs[tx] = 8\n{{}}As[tx] = 1\nO[tx] = As[tx]\n"
    assert not judge(body.format("")).sound
    assert judge(body.format(SYNC)).sound


def test_of_a_buffer_with_itself_more_accesses_are_kept_apart() -> None:
    history = History(ByteLayout.alone({A: 8}, {A: "A"}), WARPS)
    for number in range(2 * RECENT):
        made = access(A, (number % 8,), ids=(number % 64,), by=(number % 64,), event=number)
        history.note(made, order_at(1, 1))
    assert len(history.seen[A, A]._recent) == 2 * RECENT


def test_what_a_warp_does_together_is_never_sure_to_be_another_lane() -> None:
    """It may be the lane that has read a byte that stores there."""
    target = 'T.tvm_access_ptr(T.type_annotation("int32"), As.data, 0, 256, 2)'
    store = f'T.tvm_store_matrix_sync(frag.data, 16, 16, 16, 0, {target}, 16, "row_major")\n'
    declared = 'frag = T.alloc_buffer((256,), "int32", scope="wmma.accumulator")'
    before = f"Bs[tx] = tx\nO[tx] = Bs[tx]\n{store}{SYNC}Bs[tx] = tx\nO[tx] = Bs[tx]\n"
    found = judge(before, threads=32, elements=256, declared=declared)
    assert found.verdict is UNPROVED
    plainly = before.replace(store, "As[31 - tx] = tx\n")
    assert judge(plainly, threads=32, elements=256, declared=declared).verdict is UNSOUND


def test_copies_and_joins_remember_alone() -> None:
    history, order = note(History(LAYOUT, WARPS), (True, 0, 1, 4)), Order(WARPS)
    twin = history.copy()
    joined = history.joined(twin, order, order)
    note(twin, (True, 0, 2, 4))
    note(joined, (True, 1, 3, 4))
    assert [latest(one, is_write=False) for one in (history, twin, joined)] == [
        [1, 0],
        [2, 0],
        [1, 3],
    ]
    note(history, (True, 1, 5, 4))
    assert [latest(one, is_write=False) for one in (history, twin, joined)] == [
        [1, 5],
        [2, 0],
        [1, 3],
    ]
