"""What the iterations of a loop do to mbarriers."""

from __future__ import annotations

import pytest

from smemreuse.checker.machine.tallies import ArmTallies, LoopTally
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer

FULL = Buffer("full", "uint64", (Const(4),), "shared.barrier")
A, B = (FULL, 0), (FULL, 1)


def waited(*rounds: str) -> LoopTally:
    """Of rounds in which mbarriers are waited for, each with a parity: `a0 b1`."""
    tally = LoopTally()
    for each in rounds:
        tally.begin()
        for one in each.split():
            tally.wait({"a": A, "b": B}[one[0]], int(one[1]))
    return tally


@pytest.mark.parametrize(
    ("rounds", "period", "turned"),
    [
        (("a0", "a1"), 1, {A: True}),
        (("a0", "a0"), 1, {A: False}),
        (("a0", "a0", "a1", "a1"), 2, {A: True}),
        (("a0", "a1", "a0", "a1"), 2, {A: False}),
        (("a0 b0", "a1 b0"), 1, {A: True, B: False}),
        (("a0 a0", "a1 a0"), 1, {A: None}),
        (("a0 b0", "b1 a1"), 1, {A: None, B: None}),
        (("a0", "a1 a0"), 1, {A: None}),
    ],
)
def test_whether_the_other_parities_are_waited_for(
    rounds: tuple[str, ...], period: int, turned: dict[object, bool | None]
) -> None:
    assert waited(*rounds).turned(period) == turned


@pytest.mark.parametrize(("other", "clear"), [(3, True), (2, False)])
def test_arms_that_do_the_same_to_mbarriers_leave_a_round_clear(other: int, clear: bool) -> None:
    tally = waited("a0")
    now = tally.rounds[-1]
    now.arrivals[A] += 1
    arms = ArmTallies([tally])
    tally.rounds[-1].arrivals[A] += 2
    tally.rounds[-1].due[B] += 0  # announced, and come
    arms.enter_other()
    assert tally.rounds[-1].arrivals[A] == 1
    tally.rounds[-1].arrivals[A] += other - 1
    arms.leave()
    assert (tally.rounds[-1].arrivals[A], tally.rounds[-1].clear) == (other, clear)
