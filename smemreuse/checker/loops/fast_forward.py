"""Fast-forwarding: periodic loops leave out iterations, concurrent ones the same number each.

The iterations left out must have no net effect on mbarriers: each mbarrier completes an even number
of phases, and every waiting agent waits for as many. So the arms of a branch stop between two
iterations once their loops are periodic, and leave out as many each.

Where nobody else waits for an mbarrier, its phases may be of an odd number, too, in what is seen to
repeat itself: three such periods show all that there is. And where data decide how long the loops
are, a longer loop then does what a shorter one does, one phase further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from smemreuse.checker.loops.periods import Window
from smemreuse.checker.machine.tallies import Tally
from smemreuse.checker.values.cases import SEEN
from smemreuse.checker.values.evaluation import Slot
from smemreuse.checker.values.symbols import Key
from smemreuse.ir.kernel import For

if TYPE_CHECKING:
    from smemreuse.checker.loops.loop_runs import LoopRun


@dataclass(eq=False)
class FastForwardPoint:
    """A loop between two iterations, at number `at`, that repeats itself since `window.first`.

    `turned` are the mbarriers that it waits for: whether for other parities each period. `length`
    is the unknown number of its iterations, if there is one. `run` is what is noted of the loop for
    other blocks.

    `skip` is how many it leaves out then, a multiple of `unit`, which come to nothing; `alike` is
    how many come to nothing but phases that nobody can tell from others. `runs` are the loops that
    leave out as many with it.
    """

    window: Window
    at: int
    tally: Tally
    run: LoopRun | None = None
    loop: For | None = None
    length: Key | None = None
    turned: Mapping[Slot, bool | None] = field(default_factory=dict)
    skip: int = 0
    unit: int = 0
    alike: int = 0
    runs: tuple[LoopRun | None, ...] = ()


Expected = Callable[[Slot], int | None]
"""How many arrivals complete an mbarrier's phase, where that is known."""

AreRelative = Callable[[Slot, Set[For]], bool]
"""Whether an mbarrier's phases may be counted from any one, as `Parities.are_relative` has it."""


def leave_out(
    points: Sequence[FastForwardPoint],
    expected: Expected,
    are_relative: AreRelative = lambda slot, loops: False,
) -> bool:
    """Sets how many iterations stopped loops leave out: each the same number.

    Returns False if their net effect on mbarriers is nothing only together with other agents.
    """
    if not all(one.tally.clear for one in points):
        return True
    units = _units(points, expected, are_relative)
    if units is None:
        return False
    unit, alike = units
    if all(
        one.at - one.window.first >= SEEN * alike for one in points
    ):  # enough periods were executed
        number = min((one.window.end - one.at) // unit for one in points) * unit
        for one in points:
            one.skip, one.unit, one.alike = number, unit, alike
            one.runs = tuple(other.run for other in points)
    return True


def _units(
    points: Sequence[FastForwardPoint], expected: Expected, are_relative: AreRelative
) -> tuple[int, int] | None:
    """The least number of iterations of each loop with no net effect together, and that of those
    with none but phases that nobody can tell from others; None if there are none."""
    unit = math.lcm(*(one.window.period for one in points))
    total = Tally()
    for one in points:
        total.add(one.tally, unit // one.window.period)
    if any(total.due.values()):
        return None
    phases: dict[Slot, Fraction] = dict.fromkeys(total.slots, Fraction(0))
    for slot, arrivals in total.arrivals.items():
        count = expected(slot)
        if not count:
            return None
        phases[slot] = Fraction(arrivals, count)
    for one in points:
        share = unit // one.window.period
        if any(one.tally.turns[slot] * share != phases[slot] for slot in one.tally.waits):
            return None
    whole = math.lcm(*(number.denominator for number in phases.values()))
    even = math.lcm(*((number / 2).denominator for number in phases.values()))
    if not _are_followed(points, phases, unit, even):
        return None
    odd = {slot for slot, number in phases.items() if number * whole % 2}
    is_same = _are_followed(points, phases, unit, whole) and _have_one_length_or_known_ones(points)
    loops = frozenset(one.loop for one in points if one.loop is not None)
    if is_same and all(are_relative(slot, loops) for slot in odd):
        return unit * even, unit * whole
    return unit * even, unit * even


def _are_followed(
    points: Sequence[FastForwardPoint], phases: Mapping[Slot, Fraction], unit: int, times: int
) -> bool:
    """Whether each wait is for another parity `times * unit` iterations later, just if the
    mbarrier is in a phase of another parity then."""
    for one in points:
        share = times * unit // one.window.period
        for slot in one.tally.waits:
            is_turned = one.turned.get(slot, False)
            if is_turned is None or is_turned * share % 2 != phases[slot] * times % 2:
                return False
    return True


def _have_one_length_or_known_ones(points: Sequence[FastForwardPoint]) -> bool:
    """Whether all of the loops have the same number of iterations, which data decide, or the
    number of each is known."""
    return all(one.length == points[0].length for one in points)
