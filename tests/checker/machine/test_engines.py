"""What is in flight (rule 5): groups, commits, waits, and where branches meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.machine.engines import MANY, Engines, thread_set
from smemreuse.semantics.effects import Engine
from tests.checker.small import access
from tests.checker.small import shared as bytes_of

# Units ------------------------------------------------------------------------------------------

X = bytes_of("X", 4)
COPIES, STORES = Engine.CP_ASYNC, Engine.TMA_STORE
WARP, HALF = range(32), range(16)


def issue(engines: Engines, event: int, ids: Iterable[int] = WARP, engine: Engine = COPIES) -> None:
    """Copies begin, whose bit is that of the event."""
    made = access(X, range(4), is_write=True, ids=ids, event=event)
    engines.issue(engine, made, 1 << event)


def commit(engines: Engines, ids: Iterable[int] = WARP, engine: Engine = COPIES) -> None:
    engines.commit(engine, np.array([*ids]))


def wait(
    engines: Engines, keep: int = 0, ids: Iterable[int] = WARP, engine: Engine = COPIES
) -> list[int]:
    """The events that are over from here on for some of these threads."""
    return sorted(one.event for one, _ in engines.wait(engine, keep, np.array([*ids])))


def in_flight(engines: Engines, known: int = 0) -> list[int]:
    return sorted(one.event for _, one in engines.in_flight(X, known))


@pytest.mark.parametrize(
    ("is_write", "certain", "known", "left"),
    [
        (True, True, 0b01, [1]),
        (True, True, 0b00, [0, 1]),  # it may still be under way
        (False, True, 0b01, [0, 1]),  # later reads of what it loads conflict with the load alone
        (True, False, 0b01, [0, 1]),  # the second may not come about
    ],
)
def test_a_load_takes_the_place_of_one_into_its_bytes_that_is_over(
    is_write: bool, certain: bool, known: int, left: list[int]
) -> None:
    engines = Engines()
    first = access(X, range(4), is_write=True, event=0)
    second = replace(first, is_write=is_write, certain=certain, event=1)
    engines.issue(Engine.TMA_LOAD, first, 0b01)
    engines.issue(Engine.TMA_LOAD, second, 0b10, to_these=known)
    assert in_flight(engines) == left


def test_a_load_into_other_bytes_takes_no_place() -> None:
    engines = Engines()
    first = access(X, range(4), is_write=True, event=0)
    second = access(X, range(2), is_write=True, event=1)
    for made in (first, second):
        engines.issue(Engine.TMA_LOAD, made, 1 << made.event, to_these=0b01)
    assert in_flight(engines) == [0, 1]


@pytest.mark.parametrize("ids", [[], [0], [3, 4, 70], [*range(128)]])
def test_a_set_of_threads_has_a_bit_for_each(ids: list[int]) -> None:
    assert thread_set(np.array(ids, dtype=np.int64)) == sum(1 << one for one in ids)


def test_a_wait_for_all_but_the_last_groups_keeps_those() -> None:
    engines = Engines()
    for event in range(3):
        issue(engines, event)
        commit(engines)
    assert wait(engines, 1) == [0, 1]
    assert in_flight(engines) == [2]
    assert wait(engines, 0) == [2]
    assert in_flight(engines) == []


def test_an_empty_group_is_a_group() -> None:
    engines = Engines()
    issue(engines, 0)
    commit(engines)
    commit(engines)
    assert wait(engines, 1) == [0]


def test_what_is_not_committed_is_not_waited_for() -> None:
    engines = Engines()
    issue(engines, 0)
    assert wait(engines) == []
    commit(engines)
    assert wait(engines) == [0]


def test_each_engine_has_groups_of_its_own() -> None:
    engines = Engines()
    issue(engines, 0)
    issue(engines, 1, engine=STORES)
    commit(engines)
    commit(engines, engine=STORES)
    assert wait(engines, engine=STORES) == [1]
    assert in_flight(engines) == [0]


def test_an_access_of_two_warps_lasts_until_both_have_waited() -> None:
    engines = Engines()
    issue(engines, 0, range(64))
    commit(engines, range(64))
    assert wait(engines, ids=range(32)) == [0]
    assert in_flight(engines) == [0]
    assert wait(engines, ids=range(32, 64)) == [0]
    assert in_flight(engines) == []


def test_what_a_wait_ends_counts_from_then_on_as_an_access_of_those_who_waited() -> None:
    engines = Engines()
    by = (0, 0, 33, -1)
    made = access(X, range(4), is_write=True, ids=(0, 33), by=by, event=7)
    engines.issue(COPIES, made, 1)
    commit(engines, (0, 33))
    ((done, pending),) = engines.copy().wait(COPIES, 0, np.array([33]))
    assert (done.ids.tolist(), done.warps.tolist(), pending.bit) == ([33], [1], 1)
    assert (done.where.tolist(), done.by_thread.tolist()) == ([2, 3], [33, -1])
    assert (done.event, done.is_write) == (7, True)
    assert not done.certain  # who touched the last byte is not known
    ((whole, _),) = engines.wait(COPIES, 0, np.array([0, 33]))
    assert whole is made


def test_only_those_who_issued_an_access_wait_for_it() -> None:
    engines = Engines()
    issue(engines, 0, (3,))
    commit(engines, (3,))
    assert wait(engines, ids=(4,)) == []
    assert in_flight(engines) == [0]
    assert wait(engines, ids=(3, 4)) == [0]
    assert in_flight(engines) == []


def test_all_threads_that_issued_an_access_have_to_wait_for_it() -> None:
    engines = Engines()
    issue(engines, 0, (3, 4))
    commit(engines, (3, 4))
    wait(engines, ids=(3, 5))
    assert in_flight(engines) == [0]
    wait(engines, ids=(4,))
    assert in_flight(engines) == []


def test_each_thread_counts_its_own_groups() -> None:
    engines = Engines()
    issue(engines, 0, HALF)
    commit(engines, HALF)
    issue(engines, 1)
    commit(engines)
    assert wait(engines, 1) == [0]
    assert wait(engines, 0) == [1]


@pytest.mark.parametrize("committing", [HALF, (1,)], ids=["half a warp", "another thread"])
def test_a_commit_closes_the_groups_of_the_threads_that_make_it(committing: Iterable[int]) -> None:
    engines = Engines()
    issue(engines, 0, (*range(16, 32), 0) if committing == (1,) else WARP)
    commit(engines, committing)
    wait(engines, 0)
    assert in_flight(engines) == [0]
    commit(engines)
    assert wait(engines, 0) == [0]
    assert in_flight(engines) == []


def test_threads_that_have_done_the_same_are_followed_together() -> None:
    engines = Engines()
    issue(engines, 0, range(128))
    for warp in range(4):
        commit(engines, range(32 * warp, 32 * warp + 32))
    assert len(engines.queue(COPIES).classes) == 1
    wait(engines, 0, range(128))
    assert engines.queue(COPIES).classes == []


def test_a_load_is_in_no_group() -> None:
    engines = Engines()
    issue(engines, 0, engine=Engine.TMA_LOAD)
    commit(engines, engine=Engine.TMA_LOAD)
    assert wait(engines, engine=Engine.TMA_LOAD) == []
    assert in_flight(engines) == [0]


def test_a_copy_changes_alone() -> None:
    engines = Engines()
    issue(engines, 0)
    twin = engines.copy()
    commit(twin)
    assert wait(twin) == [0]
    assert in_flight(engines) == [0]
    commit(engines)
    assert wait(engines) == [0]


# Bits ---------------------------------------------------------------------------------------------


def test_who_knows_the_bit_of_an_access_knows_that_it_is_over() -> None:
    engines = Engines()
    for event in range(3):
        issue(engines, event)
    assert in_flight(engines, known=0b101) == [1]
    assert in_flight(engines, known=-1) == []


def test_the_bits_of_what_these_threads_alone_have_issued() -> None:
    engines = Engines()
    issue(engines, 0)
    commit(engines)
    issue(engines, 1, range(8))
    issue(engines, 2, range(64))
    issue(engines, 3, engine=STORES)
    assert engines.bits(COPIES, np.arange(32)) == 0b11
    assert engines.bits(COPIES, np.arange(64)) == 0b111
    assert engines.bits(COPIES, np.arange(8)) == 0b10
    assert engines.bits(STORES, np.arange(32)) == 0b1000
    wait(engines)
    assert engines.bits(COPIES, np.arange(32)) == 0b10


def test_what_may_be_known_to_be_over_is_not_surely_in_flight() -> None:
    engines = Engines()
    issue(engines, 0, range(64))
    issue(engines, 1, range(64, 96))
    engines.bits(COPIES, np.arange(32))
    assert [one.certain for _, one in engines.in_flight(X, 0)] == [False, True]


def test_an_access_that_is_told_of_is_another_one_than_the_next() -> None:
    engines, where = Engines(), np.arange(4)
    made = replace(access(X, where, ids=WARP), where=where)
    engines.issue(Engine.TCGEN05, made, 1)
    assert engines.issuing(Engine.TCGEN05, X, where, np.arange(32))
    assert not engines.issuing(Engine.TCGEN05, X, where, np.arange(33))
    assert not engines.issuing(Engine.TCGEN05, X, where[:2], np.arange(32))
    engines.bits(Engine.TCGEN05, np.arange(32))
    assert not engines.issuing(Engine.TCGEN05, X, where, np.arange(32))


def test_what_is_committed_is_another_access_than_the_next() -> None:
    engines, where = Engines(), np.arange(4)
    made = replace(access(X, where, ids=WARP), where=where)
    engines.issue(Engine.WGMMA, made, 1)
    commit(engines, engine=Engine.WGMMA, ids=HALF)
    assert not engines.issuing(Engine.WGMMA, X, where, np.arange(32))
    assert engines.issuing(Engine.WGMMA, X, where, np.arange(16, 32))


def test_what_some_have_waited_for_is_still_theirs_to_tell() -> None:
    """Who hears of the others alone does not know that it is over."""
    engines = Engines()
    issue(engines, 0, range(64))
    commit(engines, range(64))
    wait(engines, ids=range(32))
    assert engines.bits(COPIES, np.arange(32, 64)) == 0
    assert engines.bits(COPIES, np.arange(64)) == 1


def test_of_many_accesses_those_are_dropped_that_are_over_for_everybody() -> None:
    engines = Engines()
    for event in range(MANY + 1):
        issue(engines, event)
    everything = (1 << MANY + 1) - 1
    late = access(X, range(4), is_write=True, ids=WARP, event=MANY + 1)
    engines.issue(COPIES, late, 1 << MANY + 1, everything & ~2)
    assert in_flight(engines) == [1, MANY + 1]
    commit(engines)
    assert wait(engines) == [1, MANY + 1]


# Joins --------------------------------------------------------------------------------------------


def arms(*events: int) -> tuple[Engines, Engines]:
    """Two engines that have issued and committed the same accesses."""
    engines = Engines()
    for event in events:
        issue(engines, event)
        commit(engines)
    return engines, engines.copy()


def test_behind_arms_that_are_alike_groups_are_still_counted() -> None:
    one, two = arms(0, 1)
    assert wait(one.joined(two), 1) == [0]


def test_behind_arms_the_arm_with_fewer_groups_counts() -> None:
    one, two = arms(0)
    commit(one)
    for joined in (one.joined(two), two.joined(one)):
        assert wait(joined, 1) == []
        assert wait(joined, 0) == [0]


def test_behind_arms_groups_are_counted_for_each_thread() -> None:
    half, whole = arms(0)
    commit(half, HALF)
    commit(whole)
    for joined in (half.joined(whole), whole.joined(half)):
        ((done, _),) = joined.wait(COPIES, 1, np.arange(32))
        assert done.ids.tolist() == [*HALF]
        assert in_flight(joined) == [0]


def test_what_is_committed_in_one_arm_alone_is_not_waited_for() -> None:
    one, two = arms()
    issue(one, 0)
    two = one.copy()
    commit(one)
    for joined in (one.joined(two), two.joined(one)):
        assert wait(joined, 0) == []
        commit(joined)
        assert wait(joined, 0) == [0]


def test_what_one_arm_has_waited_for_is_in_flight_if_the_other_has_not() -> None:
    one, two = arms(0)
    wait(one)
    for joined in (one.joined(two), two.joined(one)):
        assert in_flight(joined) == [0]
        assert wait(joined) == [0]


def test_what_one_arm_alone_has_issued_is_in_flight() -> None:
    one, two = arms()
    issue(one, 0)
    commit(one)
    for joined in (one.joined(two), two.joined(one)):
        assert in_flight(joined) == [0]
        assert wait(joined) == [0]
        assert in_flight(joined) == []


# A join claims no more than either side -----------------------------------------------------------

Step = tuple[str, int, int]
step = st.tuples(st.sampled_from(["issue", "commit", "wait"]), st.integers(0, 3), st.integers(0, 2))
steps = st.lists(step, max_size=5)
GROUPS = (range(32), range(64), range(16), range(16, 48))


def run(engines: Engines, taken: Sequence[Step], first: int) -> Engines:
    """Takes steps: the number is that of the threads; events count up from `first`."""
    engines = engines.copy()
    for number, (kind, who, keep) in enumerate(taken):
        ids = GROUPS[who]
        if kind == "issue":
            issue(engines, first + number, ids)
        elif kind == "commit":
            commit(engines, ids)
        else:
            wait(engines, keep, ids)
    return engines


def waiting(engines: Engines) -> set[tuple[int, int]]:
    """What is in flight, and for which thread: the more of it, the less is claimed."""
    return {
        (pending.traced.event, thread)
        for pending, threads in engines.pending.get(X, {}).items()
        for thread in range(64)
        if threads >> thread & 1
    }


@settings(max_examples=150, deadline=None)
@given(steps, steps, steps, steps)
def test_what_is_in_flight_on_either_side_is_so_behind_a_join(
    before: Sequence[Step], one: Sequence[Step], other: Sequence[Step], after: Sequence[Step]
) -> None:
    start = run(Engines(), before, 0)
    left, right = run(start, one, 10), run(start, other, 20)
    joined = run(left.joined(right), after, 30)
    assert waiting(joined) >= waiting(run(left, after, 30)) | waiting(run(right, after, 30))


@settings(max_examples=150, deadline=None)
@given(steps)
def test_threads_are_followed_as_if_each_had_a_queue_of_its_own(taken: Sequence[Step]) -> None:
    groups: list[list[list[int]]] = [[] for _ in range(64)]
    is_open: list[list[int]] = [[] for _ in range(64)]
    for number, (kind, who, keep) in enumerate(taken):
        for thread in GROUPS[who]:
            if kind == "issue":
                is_open[thread].append(number)
            elif kind == "commit":
                groups[thread].append(is_open[thread])
                is_open[thread] = []
            else:
                groups[thread] = groups[thread][max(len(groups[thread]) - keep, 0) :]
    expected = {
        (event, thread)
        for thread in range(64)
        for group in (*groups[thread], is_open[thread])
        for event in group
    }
    assert waiting(run(Engines(), taken, 0)) == expected
