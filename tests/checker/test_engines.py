"""What is in flight (rule 5): groups, commits, waits, and where branches meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker import check_plan
from smemreuse.checker.engines import Engines
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer, If, Stmt
from smemreuse.results.verdict import SOUND
from smemreuse.semantics.effects import Engine
from tests.checker.small import access
from tests.checker.small import shared as bytes_of
from tests.soundness.kernels import SCOPE, TX, copy_async, evaluate, load, output, shared, store
from tests.soundness.kernels import kernel as build

# Units ------------------------------------------------------------------------------------------

X = bytes_of("X", 4)
COPIES, STORES = Engine.CP_ASYNC, Engine.TMA_STORE
WARP = range(32)


def issue(engines: Engines, event: int, ids: Iterable[int] = WARP, engine: Engine = COPIES) -> None:
    engines.issue(engine, access(X, range(4), is_write=True, ids=ids, event=event))


def commit(engines: Engines, ids: Iterable[int] = WARP, engine: Engine = COPIES) -> None:
    warps, full = _warps(ids)
    engines.commit(engine, warps, full)


def wait(
    engines: Engines, keep: int = 0, ids: Iterable[int] = WARP, engine: Engine = COPIES
) -> list[int]:
    """The events that are over from here on, each as often as warps have waited for it."""
    warps, full = _warps(ids)
    return [one.event for one in engines.wait(engine, keep, np.array([*ids]), warps, full)]


def _warps(ids: Iterable[int]) -> tuple[list[int], list[int]]:
    """The warps of some threads, and those that are there with all of their threads."""
    of_warp = [number // 32 for number in ids]
    return sorted({*of_warp}), sorted({warp for warp in of_warp if of_warp.count(warp) == 32})


def in_flight(engines: Engines) -> list[int]:
    return [pending.traced.event for pending in engines.pending]


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


def test_what_a_wait_ends_counts_from_then_on_as_an_access_of_the_warp() -> None:
    engines = Engines()
    issue(engines, 0, range(32, 64))
    commit(engines, range(32, 64))
    (done,) = engines.wait(COPIES, 0, np.arange(32, 64), [1], [1])
    assert done.warps.tolist() == [1]
    assert (done.by_thread < 0).all()  # it is not known which of its threads knows


def test_only_those_who_issued_an_access_wait_for_it() -> None:
    engines = Engines()
    issue(engines, 0, (3,))
    commit(engines, (3,))
    assert wait(engines, ids=(4,)) == []
    assert in_flight(engines) == [0]
    other = Engines()
    issue(other, 0, (3,))
    commit(other, (3,))
    assert wait(other, ids=(3, 4)) == [0]


def test_all_threads_that_issued_an_access_have_to_wait_for_it() -> None:
    engines = Engines()
    issue(engines, 0, (3, 4))
    commit(engines, (3, 4))
    assert wait(engines, ids=(3, 5)) == []
    assert in_flight(engines) == [0]


def test_a_warp_whose_threads_have_different_numbers_of_groups_waits_for_all_or_none() -> None:
    engines = Engines()
    issue(engines, 0, range(16))
    commit(engines, range(16))
    issue(engines, 1)
    commit(engines)
    assert wait(engines, 1) == []
    assert wait(engines, 0) == [0, 1]


@pytest.mark.xfail(strict=True, reason="a commit by some threads is taken for one by their warp")
@pytest.mark.parametrize("committing", [range(16), (1,)], ids=["half a warp", "another thread"])
def test_a_commit_closes_the_groups_of_the_threads_that_make_it(committing: Iterable[int]) -> None:
    engines = Engines()
    issue(engines, 0)
    commit(engines, committing)
    assert wait(engines, 0) == []


def test_a_copy_changes_alone() -> None:
    engines = Engines()
    issue(engines, 0)
    twin = engines.copy()
    commit(twin)
    assert wait(twin) == [0]
    assert in_flight(engines) == [0]
    commit(engines)
    assert wait(engines) == [0]


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
    half, other = arms(0, 1)
    commit(half, range(16))
    commit(other, range(32))
    assert wait(half.joined(other), 1) == wait(other.joined(half), 1) == []


def test_behind_arms_with_other_numbers_of_groups_they_are_not_counted() -> None:
    one, two = arms(0)
    commit(one)
    for joined in (one.joined(two), two.joined(one)):
        assert wait(joined, 1) == []
        assert wait(joined, 0) == [0]


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
step = st.tuples(st.sampled_from(["issue", "commit", "wait"]), st.integers(0, 2), st.integers(0, 2))
steps = st.lists(step, max_size=5)
GROUPS = (range(32), range(64), range(16))


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


@settings(max_examples=80, deadline=None)
@given(steps, steps, steps, steps)
def test_what_is_in_flight_on_either_side_is_so_behind_a_join(
    before: Sequence[Step], one: Sequence[Step], other: Sequence[Step], after: Sequence[Step]
) -> None:
    start = run(Engines(), before, 0)
    left, right = run(start, one, 10), run(start, other, 20)
    joined = run(left.joined(right), after, 30)
    both = {*in_flight(run(left, after, 30)), *in_flight(run(right, after, 30))}
    assert {*in_flight(joined)} >= both


# Kernels ----------------------------------------------------------------------------------------

A, B = shared("A", 32), shared("B", 32)
FLAGS = Buffer("D", "int32", (Const(8),), "global")
WAIT = evaluate("ptx_wait_group", 0)
OTHER_ENGINE = evaluate("tma_store_wait", 0)
BARRIER = evaluate("tvm_storage_sync", Const("shared"))


@pytest.mark.parametrize(
    ("then", "orelse", "waited"),
    [
        ((WAIT,), (WAIT,), True),
        ((WAIT,), (OTHER_ENGINE,), False),
        ((OTHER_ENGINE,), (WAIT,), False),
        ((WAIT,), (), False),
    ],
)
def test_a_copy_is_done_where_both_arms_waited(
    then: tuple[Stmt, ...], orelse: tuple[Stmt, ...], waited: bool
) -> None:
    """A wait in one arm says nothing of the other, whatever is waited for later."""
    body = (
        copy_async(A, TX, TX),
        evaluate("ptx_commit_group"),
        If(load(FLAGS, 0), then, orelse),
        OTHER_ENGINE,
        BARRIER,
        store(B, TX, TX),
        output(load(B, TX)),
    )
    kernel = build(*body, buffers=(A, B))
    assert (check_plan(kernel, SCOPE, {A: 0, B: 0}, 128, {}).verdict == SOUND) is waited
