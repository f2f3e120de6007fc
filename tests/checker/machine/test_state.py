"""The shadow machine as a whole: copies, joins, and taking over another's place."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.machine.order import Knowledge, Order, ReleasedClocks
from smemreuse.checker.machine.state import State
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import Engine
from tests.checker.small import access, layout_of, shared, warps

A, B = shared("A", 4), shared("B", 4)
LAYOUT = layout_of(A, B)
EVERYONE = np.arange(64)
C = Buffer("c", "int32", (Const(1),), "local")
DA = Buffer("da", "uint64", (Const(1),), "local.descriptor.wgmma")


def initial() -> State:
    return State.initial(LAYOUT, EVERYONE)


def busy() -> State:
    """A state in which every part has seen something."""
    state = initial()
    written = access(A, range(4), is_write=True, ids=range(64))
    state.memory.write(written)
    state.history.note(written, state.order)
    state.order.barrier(warps(0, 1))
    state.engines.issue(Engine.CP_ASYNC, written, 1)
    state.barriers[DA, 0].expected = 1
    state.counters.set(C, 0, EVERYONE, 3)
    state.descriptors.describe(DA, A, np.arange(4))
    return state


def summary(state: State) -> tuple[object, ...]:
    """What every part knows."""
    return (
        state.memory.lost(access(A, range(4))).tolist(),
        state.memory.lost(access(B, range(4))).tolist(),
        state.history.seen[A, B].against(True).tolist(),
        state.order.clock.tolist(),
        len([*state.engines.in_flight(A, 0)]),
        state.barriers[DA, 0].expected,
        state.counters.get(C, 0, EVERYONE),
        sorted(one.name for one, _ in state.descriptors.described_by([DA])),
    )


def change(state: State) -> None:
    """Something else happens to every part."""
    state.memory.write(access(B, range(4), is_write=True))
    state.order.epochs[0] = 7
    state.history.note(access(A, range(4), is_write=True), state.order)
    state.order.barrier(warps(0, 1))
    state.engines.commit(Engine.CP_ASYNC, EVERYONE)
    state.engines.wait(Engine.CP_ASYNC, 0, EVERYONE)
    state.barriers[DA, 0].expected = 2
    state.counters.set(C, 0, EVERYONE, 4)
    state.descriptors.describe(DA, B, np.arange(4))


def test_there_is_a_clock_for_every_warp_even_one_that_is_not_full() -> None:
    assert State.initial(LAYOUT, np.arange(33)).order.clock.shape == (2, 2)


def test_a_copy_changes_alone_in_all_its_parts() -> None:
    state = busy()
    before = summary(state)
    change(state.copy())
    assert summary(state) == before
    twin = state.copy()
    change(state)
    assert summary(twin) == before
    assert all(one != two for one, two in zip(summary(state)[2:], before[2:], strict=True))


def test_to_become_another_gives_back_what_one_was() -> None:
    state, other = busy(), initial()
    first, second = summary(state), summary(other)
    given_up = state.become(other)
    assert summary(state) == second
    assert summary(given_up) == first


def test_a_join_knows_what_both_know() -> None:
    state, other = busy(), busy()
    other.memory.write(access(B, range(2), is_write=True))
    later = Order(2)
    later.epochs[:] = 5
    other.history.note(access(A, range(4), is_write=True, ids=range(32)), later)
    other.counters.set(C, 0, EVERYONE, 4)
    state.order.barrier(warps(0, 1))
    for joined in (state.joined(other), other.joined(state)):
        assert joined.memory.lost(access(A, range(4))).tolist() == [0, 1]
        assert joined.history.seen[A, B].against(True).tolist() == [5, 0]  # the rest is past
        assert joined.order.clock.tolist() == [[2, 2], [2, 2]]
        assert joined.counters.get(C, 0, EVERYONE) is None
        assert len([*joined.engines.in_flight(A, 0)]) == 2


def test_a_join_leaves_both_sides_as_they_are() -> None:
    state, other = busy(), busy()
    before = summary(state), summary(other)
    change(state.joined(other))
    assert (summary(state), summary(other)) == before


def test_a_join_of_arms_that_used_mbarriers_differently_is_not_covered() -> None:
    with pytest.raises(Uncovered):
        busy().joined(initial())


def test_a_load_that_only_one_arm_makes_is_over_in_the_other() -> None:
    """So whoever waits for it in that arm knows that it is over, whichever was taken."""
    state, other = initial(), initial()
    load = access(A, range(4), is_write=True)
    for one in (state, other):
        one.barriers[DA, 0].expected = 2
    state.engines.issue(Engine.TMA_LOAD, load, 1)
    state.barriers[DA, 0].copies = 1
    later = state.copy()
    later.engines.issue(Engine.TMA_LOAD, load, 2)
    for joined, copies in (
        (state.joined(other), 1),
        (other.joined(state), 1),
        (later.joined(other), 1),  # nobody waits for the second
        (later.joined(state), 1),
    ):
        assert joined.barriers[DA, 0].copies == copies
    known = state.copy()
    known.order.acquire(warps(0), ReleasedClocks.only(2, Knowledge(1)))
    assert known.joined(other).order.known[0].copies == 1
    assert known.joined(state).order.known[0].copies == 0


def test_a_descriptor_stands_for_what_either_arm_made_it_stand_for() -> None:
    state, other = busy(), initial()
    other.barriers[DA, 0].expected = 1
    other.descriptors.describe(DA, B, np.arange(4))
    for joined in (state.joined(other), other.joined(state)):
        assert {one.name for one, _ in joined.descriptors.described_by([DA])} == {"A", "B"}


def test_whether_as_much_is_known_of_bytes_and_counters() -> None:
    state = busy()
    assert state.knows_what(state.copy())
    for other in (busy(), busy()):
        assert state.knows_what(other)
    lost, unknown = busy(), busy()
    lost.memory.write(access(B, range(4), is_write=True))
    unknown.counters.set(C, 0, EVERYONE, None)
    assert not state.knows_what(lost)
    assert not state.knows_what(unknown)
