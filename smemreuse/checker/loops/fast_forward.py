"""Fast-forwarding: periodic loops leave out iterations, concurrent ones the same number each.

The iterations left out must have no net effect on mbarriers: each mbarrier completes an even number
of phases, and every waiting agent waits for as many. So the arms of a branch stop between two
iterations once their loops are periodic, and leave out as many each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemreuse.checker.loops.periods import Window
from smemreuse.checker.machine.tallies import Tally
from smemreuse.checker.values.cases import SEEN
from smemreuse.checker.values.evaluation import Slot

if TYPE_CHECKING:
    from smemreuse.checker.loops.loop_runs import LoopRun


@dataclass(eq=False)
class FastForwardPoint:
    """A loop between two iterations, at number `at`, that repeats itself since `window.first`.

    `skip` is how many it leaves out then, a multiple of `unit`, which come to nothing; `runs` are
    the loops that leave out as many with it. `run` is what is noted of the loop for other blocks.
    """

    window: Window
    at: int
    tally: Tally
    run: LoopRun | None = None
    skip: int = 0
    unit: int = 0
    runs: tuple[LoopRun | None, ...] = ()


Expected = Callable[[Slot], int | None]
"""How many arrivals complete an mbarrier's phase, where that is known."""


def leave_out(points: Sequence[FastForwardPoint], expected: Expected) -> bool:
    """Sets how many iterations stopped loops leave out: each the same number.

    Returns False if their net effect on mbarriers is nothing only together with other agents.
    """
    if not all(one.tally.clear for one in points):
        return True
    unit = _unit(points, expected)
    if unit is None:
        return False
    if all(
        one.at - one.window.first >= SEEN * unit for one in points
    ):  # enough periods were executed
        number = min((one.window.end - one.at) // unit for one in points) * unit
        for one in points:
            one.skip, one.unit = number, unit
            one.runs = tuple(other.run for other in points)
    return True


def _unit(points: Sequence[FastForwardPoint], expected: Expected) -> int | None:
    """The least number of iterations of each loop with no net effect together; None if there is
    none."""
    unit = math.lcm(*(one.window.period for one in points))
    total = Tally()
    for one in points:
        total.add(one.tally, unit // one.window.period)
    if any(total.due.values()):
        return None
    times, phases = 1, dict.fromkeys(total.slots, 0.0)
    for slot, arrivals in total.arrivals.items():
        count = expected(slot)
        if not count:
            return None
        times = math.lcm(times, 2 * count // math.gcd(2 * count, arrivals))
        phases[slot] = arrivals / count
    for one in points:
        share = unit // one.window.period
        if any(one.tally.turns[slot] * share != phases[slot] for slot in one.tally.waits):
            return None
    return unit * times
