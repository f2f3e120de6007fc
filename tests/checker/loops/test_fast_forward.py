"""How many iterations loops leave out that repeat themselves and use mbarriers."""

from __future__ import annotations

from collections import Counter

import pytest

from smemreuse.checker.loops.fast_forward import FastForwardPoint, leave_out
from smemreuse.checker.loops.periods import Window
from smemreuse.checker.machine.tallies import Tally
from smemreuse.checker.values.interned import InternTable
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import Buffer, For

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


LOOP = For(Var("k"), Const(0), Const(8), Const(1), "serial", ())
OTHER = For(Var("m"), Const(0), Const(8), Const(1), "serial", ())


def units(
    arrivals: int,
    *,
    turned: bool | None,
    length: str | None = "n",
    relative: bool = True,
    other: str | None = None,
) -> tuple[int, int]:
    """In what units iterations are left out, and how many of them a longer loop may have, where
    each brings so many arrivals and waits once for that mbarrier."""
    table = InternTable()
    keys = {name: table(Var(name)) for name in ("n", "m")}

    def point(loop: For, name: str | None) -> FastForwardPoint:
        share = arrivals // (2 if other else 1)
        tally = Tally(Counter({SLOT: share}), turns=Counter({SLOT: arrivals // PHASE}))
        tally.waits.add(SLOT)
        key = None if name is None else keys[name]
        return FastForwardPoint(Window(0, 1, 240), 60, tally, None, loop, key, {SLOT: turned})

    points = [point(LOOP, length), *([point(OTHER, other)] if other else [])]
    assert leave_out(points, lambda slot: PHASE, lambda slot, loops: relative)
    return points[0].unit, points[0].alike


def test_a_longer_loop_may_be_a_phase_further_on_where_nobody_can_tell() -> None:
    assert units(PHASE, turned=True) == (2, 1)
    assert units(PHASE, turned=True, other="n") == (2, 1)
    assert units(2 * PHASE, turned=False) == (1, 1)
    assert units(PHASE, turned=True, length=None) == (2, 1)  # it is seen earlier that it repeats


@pytest.mark.parametrize(
    "known",
    [{"relative": False}, {"length": None, "other": "m"}, {"other": "m"}],
    ids=lambda one: " ".join(one),
)
def test_a_phase_further_on_is_another_state_where_somebody_can_tell(
    known: dict[str, object],
) -> None:
    assert units(PHASE, turned=True, **known) == (2, 2)  # type: ignore[arg-type]


def test_who_waits_for_the_same_parity_is_not_alike_a_phase_further_on() -> None:
    assert units(PHASE, turned=False) == (2, 2)


@pytest.mark.parametrize("turned", [None, True])
def test_nothing_is_left_out_where_parities_do_not_follow_the_phases(turned: bool | None) -> None:
    tally = Tally(Counter({SLOT: 2 * PHASE}), turns=Counter({SLOT: 2}), waits={SLOT})
    pause = FastForwardPoint(Window(0, 1, 240), 60, tally, turned={SLOT: turned})
    assert not leave_out([pause], lambda slot: PHASE)
