"""How many iterations loops leave out that repeat themselves and use mbarriers."""

from __future__ import annotations

from collections import Counter

import pytest

from smemreuse.checker.loops.fast_forward import FastForwardPoint, leave_out
from smemreuse.checker.loops.periods import Window
from smemreuse.checker.machine.tallies import Tally
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Buffer

SLOT = (Buffer("full", "uint64", (Const(2),), "shared.barrier"), 0)
PHASE = 192
"""Arrivals that complete a phase."""


def left_out(at: int, arrivals: int, *, waits: bool = False) -> tuple[int, int]:
    """How many iterations are left out behind `at` of 240, and in what units, where each brings so
    many arrivals."""
    tally = Tally(Counter({SLOT: arrivals}), waits={SLOT} if waits else set())
    pause = FastForwardPoint(Window(0, 1, 240), at, tally)
    assert leave_out([pause], lambda slot: PHASE) is not waits
    return pause.skip, pause.unit


@pytest.mark.parametrize(("arrivals", "unit"), [(192, 2), (96, 4), (64, 6), (128, 3), (384, 1)])
def test_an_even_number_of_whole_phases_is_left_out(arrivals: int, unit: int) -> None:
    skip, found = left_out(3 * unit, arrivals)
    assert found == unit
    assert skip == (240 - 3 * unit) // unit * unit


@pytest.mark.parametrize("at", [6, 12, 17])
def test_nothing_is_left_out_before_three_units_have_been_seen(at: int) -> None:
    assert left_out(at, 64) == (0, 0)


def test_who_waits_must_have_waited_through_as_many_phases() -> None:
    assert left_out(18, 64, waits=True) == (0, 0)
