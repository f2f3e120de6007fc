"""Barriers that may keep threads from what others poll memory for."""

from __future__ import annotations

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.linter import lint
from smemreuse.linter.mechanisms import POLLED
from smemreuse.results.hazards import HazardKind, HazardOrigin
from tests.checker.small import SYNC, kernel_of, under

HAND_ON = "As[tx] = tx\nO[tx] = As[63 - tx]\n"
"""The compiler puts a barrier into it."""

POLL = under("while D[0] == 0", "c[0] = 1\n")
SOME_POLL = under("if tx < 32", POLL)
SET = under("if tx == 40", "D[0] = 1\n")


def held_up(body: str, stage: BarrierStage = BarrierStage.LATER) -> list[tuple[bool, HazardOrigin]]:
    """The barriers that threads may not reach while they poll, with whether that is certain, and
    whose they are."""
    report = lint(kernel_of(body), stage)
    assert report.unknown == ()
    found = [one for one in report.hazards if one.mechanism == POLLED]
    assert all(one.kind is HazardKind.BARRIER_DIVERGENCE for one in found)
    return [(one.certain, one.origin) for one in found]


def test_a_barrier_to_come_may_stand_before_what_is_polled_for() -> None:
    """The author's kernel goes on, and the lowered one hangs."""
    assert held_up(SOME_POLL + HAND_ON + SET) == [(False, HazardOrigin.COMPILER)]


@pytest.mark.parametrize("stage", [BarrierStage.LATER, BarrierStage.PRESENT])
def test_a_barrier_that_is_there_may_stand_before_it(stage: BarrierStage) -> None:
    assert held_up(SOME_POLL + SYNC + SET, stage) == [(False, HazardOrigin.AUTHOR)]


def test_data_may_choose_who_polls() -> None:
    body = under("if D[tx] == 0", POLL) + HAND_ON + "D[0] = 1\n"
    assert held_up(body) == [(False, HazardOrigin.COMPILER)]


def test_of_two_loops_that_poll_the_second_may_be_the_one() -> None:
    first = under("if tx < 32", under("while D[1] == 0", "c[0] = 1\n"))
    body = under("if tx == 40", "D[1] = 1\n") + first + SOME_POLL + HAND_ON + SET
    assert len(held_up(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        SET + SOME_POLL + HAND_ON,
        HAND_ON + SOME_POLL + SET,
        SOME_POLL + SET + HAND_ON,
        SOME_POLL + "As[tx] = tx\nO[tx] = As[tx]\n" + SET,  # no barrier comes
        SOME_POLL + HAND_ON + under("if tx == 0", "D[0] = 1\n"),  # for other blocks
        SOME_POLL + HAND_ON + under("if tx == 40", "O[64] = 1\n"),
        under("for k in range(4)", SET + SOME_POLL + HAND_ON),
        POLL + HAND_ON + SET,  # all wait, with or without a barrier
    ],
)
def test_a_barrier_keeps_nobody_from_what_comes_before_it_or_is_done_by_those_who_wait(
    body: str,
) -> None:
    assert held_up(body) == []
