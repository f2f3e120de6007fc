"""How often threads have come to a barrier, and what may be said of who meets there (rule 12)."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.machine.arrivals import Arrivals, Pairings
from smemreuse.checker.machine.order import NOTHING, ReleasedClocks
from smemreuse.results.verdict import SOUND, UNPROVED
from smemreuse.semantics.effects import Group
from tests.checker.small import SYNC, judge, under

LOWER, UPPER = np.arange(32), np.arange(32, 64)
CLUSTER = "T.cluster_sync()\n"
ARRIVE, WAIT = "T.cluster_arrive()\n", "T.cluster_wait()\n"
RELAXED = "T.cluster_arrive_relaxed()\n"
FIRST = "As[tx] = tx\nO[tx] = As[tx]\n"
THEN = "Bs[63 - tx] = tx\nO[tx] = Bs[63 - tx]\n"


def _released(warps: int = 2) -> ReleasedClocks:
    return ReleasedClocks.only(warps, NOTHING)


def _come(ids: np.ndarray, arrivals: Arrivals, *, arrive: int = 1, wait: int = 1) -> Arrivals:
    return arrivals.coming(ids, {}, arrive=arrive, wait=wait)


# Counting ---------------------------------------------------------------------------------------


def test_counts_are_above_the_least() -> None:
    once = _come(LOWER, Arrivals.none(64))
    assert once.arrived.tolist() == [1] * 32 + [0] * 32
    assert not once.is_even
    assert _come(UPPER, once).is_even


def test_threads_are_alike_that_have_come_equally_often() -> None:
    uneven = _come(LOWER, Arrivals.none(64))
    assert [part.tolist() for part in uneven.alike(np.arange(64))] == [
        UPPER.tolist(),
        LOWER.tolist(),
    ]
    (same,) = uneven.alike(LOWER)
    assert same is LOWER


def test_what_a_phase_hands_over_is_kept_until_all_have_waited_for_it() -> None:
    arrived = Arrivals.none(64).coming(LOWER, {0: _released()}, arrive=1, wait=0)
    assert set(arrived.handed) == {0}
    waited = _come(np.arange(64), arrived, arrive=0)
    assert not waited.handed


def test_a_join_keeps_what_both_sides_agree_on() -> None:
    even, uneven = Arrivals.none(64), _come(LOWER, Arrivals.none(64))
    assert uneven.joined(_come(LOWER, even)) is not None
    assert uneven.joined(even) is None
    handed = even.coming(LOWER, {0: _released()}, arrive=1, wait=0)
    other = even.coming(LOWER, {}, arrive=1, wait=0)
    joined = handed.joined(other)
    assert joined is not None
    assert not joined.handed


def test_barriers_are_counted_apart() -> None:
    pairings = Pairings(64)
    pairings.set(0, _come(LOWER, Arrivals.none(64)))
    assert not pairings.is_even(0)
    assert pairings.is_even(Group.CLUSTER)
    pairings.forget(Group.CLUSTER)
    assert pairings[Group.CLUSTER] is None
    assert dict(pairings.uneven()).keys() == {0, Group.CLUSTER}


def test_behind_a_branch_it_is_open_what_one_side_alone_has_come_to() -> None:
    one, other = Pairings(64), Pairings(64)
    one.set(0, _come(LOWER, Arrivals.none(64)))
    assert one.joined(other)[0] is None
    assert other.joined(one)[0] is None
    assert one.joined(one.copy())[0] is not None
    other.forget_all()
    assert one.joined(other)[Group.GRID] is None


# Who meets --------------------------------------------------------------------------------------


def _arms(first: str, second: str) -> str:
    return under("if tx < 32", first or "O[tx] = 1\n") + under("else", second or "O[tx] = 1\n")


@pytest.mark.parametrize("meet", [CLUSTER, SYNC, "T.sync_grid()\n", ARRIVE + WAIT])
@pytest.mark.parametrize(
    ("before", "sound"),
    [
        (("", ""), True),
        (("{}", ""), False),
        (("{}", "{}"), True),
        (("{}{}", "{}"), False),
        (("for k in range(40):\n    {}", "for k in range(40):\n    {}"), True),
        (("for k in range(40):\n    {}", "for k in range(30):\n    {}"), False),
    ],
)
def test_the_nth_arrival_of_one_thread_counts_with_the_nth_of_the_others(
    meet: str, before: tuple[str, str], sound: bool
) -> None:
    """Half a block's first barrier pairs with the other half's only one."""
    calls = meet.replace("\n", "\n    ").strip() + "\n"
    one, two = (part.replace("{}", calls if "for" in part else meet) for part in before)
    assert judge(_arms(one, two) + FIRST + meet + THEN).sound is sound


def test_who_has_come_too_often_may_be_caught_up_with() -> None:
    late = under("if tx >= 32", CLUSTER)
    assert judge(under("if tx < 32", CLUSTER) + late + FIRST + CLUSTER + THEN).sound


def test_a_plan_that_is_not_proved_for_that_says_where() -> None:
    found = judge(_arms(CLUSTER, "") + FIRST + CLUSTER + THEN)
    assert found.verdict == UNPROVED
    (violation,) = found.violations
    assert "threads come to `cluster_sync()`" in violation.witness
    assert "have come less often (rule 12)" in violation.witness


@pytest.mark.parametrize(
    ("branch", "sound"),
    [
        (under("if D[0] > 0", SYNC), True),  # all threads alike
        (under("if D[tx] > 0", SYNC), False),
        (under("for k in range(D[tx])", SYNC), False),
        (_arms(under("if D[0] > 0", SYNC), ""), False),
        (_arms(under("for k in range(D[0])", SYNC), ""), False),
        (under("if tx < 16", SYNC), False),  # a part of a warp
    ],
)
def test_data_may_not_decide_who_comes_how_often(branch: str, sound: bool) -> None:
    assert judge(branch + FIRST + SYNC + THEN).sound is sound


def test_a_barrier_of_the_grid_is_two_of_the_block() -> None:
    grid = "T.sync_grid()\n"
    assert judge(_arms(grid, SYNC + SYNC) + FIRST + SYNC + THEN).sound
    assert not judge(_arms(grid, SYNC) + FIRST + SYNC + THEN).sound


def test_what_cannot_be_read_may_be_a_barrier() -> None:
    """Of a function without text: those who call it may meet others in it than is seen."""
    foreign = 'T.call_extern("int32", "mystery", tx)\n'
    text = '"__device__ int mystery(int x) { return x; }"'
    known = f'T.call_extern("int32", "mystery", tx, {text})\n'
    assert not judge(_arms(foreign, "") + FIRST + SYNC + THEN).sound
    assert judge(_arms(known, "") + FIRST + SYNC + THEN).sound
    assert judge(foreign + FIRST + SYNC + THEN).sound


def test_a_race_is_not_certain_where_another_arm_comes_to_the_barrier_too() -> None:
    """The arms meet at it: what the first does before it comes before what the second does."""
    body = _arms(SYNC + "As[tx] = tx\n", "Bs[63 - tx] = tx\n" + SYNC)
    assert judge(body).verdict in (SOUND, UNPROVED)


# Two halves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (FIRST + ARRIVE + WAIT + THEN, "sound"),
        (ARRIVE + FIRST + WAIT + THEN, "unsound"),
        (FIRST + ARRIVE + THEN + WAIT, "unsound"),
        (FIRST + RELAXED + WAIT + THEN, "unsound"),
        (FIRST + ARRIVE + ARRIVE + WAIT + THEN, "unproved"),
        (FIRST + WAIT + THEN, "unproved"),
        (_arms(ARRIVE, "") + FIRST + CLUSTER + THEN, "unproved"),
        (FIRST + _arms(ARRIVE, ARRIVE) + WAIT + THEN, "sound"),
    ],
)
def test_an_arrival_hands_over_and_a_wait_learns(body: str, verdict: str) -> None:
    assert judge(body).verdict == verdict


def test_arriving_and_waiting_go_on_in_a_loop_that_is_left_out_in_part() -> None:
    rounds = under("for k in range(400)", f"As[tx] = k\n{ARRIVE}{WAIT}Bs[63 - tx] = k\n{CLUSTER}")
    assert judge(rounds).sound
    lacking = under("for k in range(400)", f"As[tx] = k\n{RELAXED}{WAIT}Bs[63 - tx] = k\n{CLUSTER}")
    assert not judge(lacking).sound


# Barriers of a warp, and of some warps ----------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "sound"),
    [
        ("", True),
        (under("if tx % 32 < 16", "T.sync_warp()\n"), False),
        (under("if tx % 32 < 16", "T.sync_warp(0xFFFF)\n"), True),
        (under("if tx % 32 < 16", "T.sync_warp(0xFF)\n"), False),
        (under("if tx % 32 < 8", "T.sync_warp(0xFFFF)\n"), False),
        (under("if tx % 32 < 16", "T.sync_warp()\n") + under("else", "T.sync_warp()\n"), True),
        (under("if D[tx] > 0", "T.sync_warp()\n"), False),
        (under("if tx < 32", "T.sync_warp()\n"), True),
    ],
)
def test_lanes_meet_where_all_that_the_mask_names_come(before: str, sound: bool) -> None:
    assert judge(before + "As[tx] = tx\nT.sync_warp()\nBs[tx ^ 1] = tx\n").sound is sound


def test_a_named_barrier_takes_a_multiple_of_32_threads() -> None:
    """What is behind it is not proved by it, nor by anything else that has to be executed."""
    meet = 'T.tvm_storage_sync("shared", 3, 48)\n'
    found = judge(under("if tx < 48", f"As[tx] = tx\n{meet}Bs[47 - tx] = tx\n"))
    assert found.verdict == UNPROVED
    assert "a multiple of 32 threads" in " ".join(found.uncovered)


def test_a_number_for_all_threads_and_for_some() -> None:
    """`bar.sync 0` of a group while the others are at the block's barrier, or may be."""
    group = under("if tx < 32", 'T.tvm_storage_sync("shared", 0, 32)\n')
    other = under("if tx < 32", 'T.tvm_storage_sync("shared", 3, 32)\n')
    assert judge(other + FIRST + SYNC + THEN).sound
    found = judge(group + FIRST + SYNC + THEN)
    assert found.verdict == UNPROVED
    assert "may be at that barrier at once" in " ".join(found.uncovered)
    assert judge(group + FIRST + CLUSTER + SYNC + THEN).sound
