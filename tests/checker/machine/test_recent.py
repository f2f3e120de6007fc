"""What runs of accesses say of the bytes that a later one touches."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.layout import ByteLayout, ByteSet
from smemreuse.checker.machine.history import History
from smemreuse.checker.machine.order import Order
from smemreuse.checker.machine.recent import RUN, NotedRuns, Recent
from tests.checker.small import access, shared, warps

A = shared("A", 64)
WARPS = 2

STEPS = st.lists(
    st.tuples(st.sampled_from(("access", "meet", "branch")), st.booleans(), st.integers(0, 62)),
    max_size=3 * RUN,
)


def recent(byte: int, epoch: int, *, is_write: bool) -> Recent:
    made = access(A, (byte,), is_write=is_write, ids=(0,), by=(0,))
    return Recent(made, ByteSet(made.where), np.array([epoch, 0]))


@settings(max_examples=60)
@given(STEPS)
def test_no_conflict_is_lost_among_runs(steps: list[tuple[str, bool, int]]) -> None:
    """What each of the accesses says by itself is what all of them say together."""
    history, order = History(ByteLayout.alone({A: 64}, {A: "A"}), WARPS), Order(WARPS)
    for number, (what, is_write, byte) in enumerate(steps):
        if what == "meet":
            order.barrier(warps(0) if is_write else warps(0, 1))
            continue
        if what == "branch":
            history = history.joined(history.copy(), order, order)
        who = 32 * (number % WARPS)
        made = access(
            A, (byte, byte + 1), is_write=is_write, ids=(who,), by=(who,) * 2, event=number
        )
        seen = history.seen[A, A]
        found = [one.event for one in history.conflicts(made, A, made.where, order)]
        each = (
            one.conflict(made, ByteSet(made.where), order) for one in list(seen._recent.values())
        )
        assert found == [one.event for one in each if one is not None]
        history.note(made, order)


def test_reads_meet_writes_alone_and_writes_both() -> None:
    runs = NotedRuns([recent(3, 1, is_write=False), recent(4, 1, is_write=True)])
    first, both = np.array([1, 1]), ByteSet(np.array([3, 4]))
    assert len(runs.met(both, True, first)) == 2
    assert not runs.met(ByteSet(np.array([3])), False, first)
    assert runs.met(ByteSet(np.array([4])), False, first)
    assert not runs.met(ByteSet(np.array([5])), True, first)


def test_a_run_that_is_over_is_not_looked_at() -> None:
    old = [recent(3, 1, is_write=True) for _ in range(RUN)]
    runs = NotedRuns([*old, recent(3, 2, is_write=True)])
    assert len(runs.met(ByteSet(np.array([3])), True, np.array([1, 1]))) == RUN + 1
    assert len(runs.met(ByteSet(np.array([3])), True, np.array([2, 1]))) == 1
    assert not runs.met(ByteSet(np.array([3])), True, np.array([3, 1]))


def test_a_copy_is_left_as_it_is() -> None:
    runs = NotedRuns([recent(3, 1, is_write=True)])
    twin = runs.copy()
    runs.add(recent(5, 1, is_write=True))
    assert (len(runs), len(twin)) == (2, 1)
    assert not twin.met(ByteSet(np.array([5])), True, np.array([1, 1]))
