"""Uses of a named barrier that several groups of threads may be at together (rule 12).

PTX counts who comes: as soon as there are as many as the barrier takes, they go on, whoever they
are. Such a use orders nothing. It is passed all the same where every group comes once, whole, and
none waits for what another does after it: all of them come then, and they are as many as the
barrier takes, times the groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.machine.order import Order, Progress


@dataclass(frozen=True, eq=False)
class ContendedUse:
    """A group's use of a barrier: its warps, and for each of them epoch and step right after.

    `expected` is how many threads the barrier takes.
    """

    warps: np.ndarray
    epochs: np.ndarray
    steps: np.ndarray
    expected: int

    @staticmethod
    def now(warps: np.ndarray, expected: int, order: Order) -> ContendedUse:
        """Whole warps get past a barrier, which orders none of them."""
        order.advance(warps)
        return ContendedUse(warps, order.epochs[warps], order.step(warps), expected)

    def is_over(self, warps: np.ndarray, order: Order) -> bool:
        """Whether all of `warps` happen after it."""
        return bool((order.sure[np.ix_(warps, self.warps)] >= self.epochs).all())

    def lets_pass(self, warps: np.ndarray, expected: int, order: Order) -> bool:
        """Whether both groups get past the barrier: neither waits for what the other does then."""
        if self.expected != expected or np.isin(self.warps, warps).any():
            return False
        known = order.known_to_some(warps)
        each = zip(self.warps.tolist(), self.steps.tolist(), strict=True)
        if any(known.phase(Progress(warp)) >= step for warp, step in each):
            return False
        return not (order.clock[np.ix_(warps, self.warps)] >= self.epochs).any()
