"""The mbarriers: arrivals, announced bytes, phases, and what a completed phase hands over."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer

Slot = tuple[Buffer | Var, int]
"""One mbarrier: an element of a barrier buffer."""


@dataclass
class Barrier:
    """An mbarrier: phases complete when all arrivals and all announced bytes have come in."""

    expected: int | None = None
    arrived: int = 0
    phase: int = 0
    bytes_due: int = 0
    loads: int = 0
    handed: np.ndarray | None = None
    known: int = 0
    completed: tuple[np.ndarray, int] | None = None

    def copy(self) -> Barrier:
        return Barrier(**vars(self))

    def agrees_with(self, other: Barrier) -> bool:
        """Whether two branches have used it alike."""
        return (self.expected, self.arrived, self.phase, self.bytes_due, self.loads) == (
            (other.expected, other.arrived, other.phase, other.bytes_due, other.loads)
        )

    def arrive(self, threads: int, handed: np.ndarray, known: int) -> None:
        """Threads arrive, and hand over what they know."""
        self.arrived += threads
        self.handed = handed if self.handed is None else np.maximum(self.handed, handed)
        self.known |= known

    def settle(self, warps: int) -> None:
        """Completes the phase if nothing is missing."""
        if self.expected is None or self.arrived < self.expected or self.bytes_due != 0:
            return
        handed = self.handed if self.handed is not None else np.zeros(warps, np.int64)
        known = self.known | self.loads
        if self.completed is not None:
            handed, known = np.maximum(handed, self.completed[0]), known | self.completed[1]
        self.completed = (handed, known)
        self.phase += 1
        self.arrived, self.loads, self.handed, self.known = 0, 0, None, 0


@dataclass
class Barriers:
    """All mbarriers of a kernel that have been used so far."""

    slots: dict[Slot, Barrier] = field(default_factory=dict)

    def __getitem__(self, slot: Slot) -> Barrier:
        return self.slots.setdefault(slot, Barrier())

    def copy(self) -> Barriers:
        return Barriers({slot: barrier.copy() for slot, barrier in self.slots.items()})

    def joined(self, other: Barriers) -> Barriers:
        for slot in self.slots.keys() | other.slots.keys():
            mine, theirs = self.slots.get(slot), other.slots.get(slot)
            if mine is None or theirs is None or not mine.agrees_with(theirs):
                raise Uncovered("a branch on data decides how often an mbarrier is used")
        return self.copy()
