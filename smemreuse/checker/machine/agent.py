"""Agents: sets of threads that execute together, and that may have to wait for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.machine.arms import ArmAccesses
from smemreuse.checker.machine.tallies import LoopTally
from smemreuse.checker.machine.timestamps import Arm, Timestamps
from smemreuse.semantics.evaluate import Threads

BLOCKED = object()
"""What a step yields while it waits for an mbarrier. Between two iterations of a loop, some of
which it may leave out, it yields a list with a `FastForwardPoint` for each such loop."""

Steps = Iterator[object]


@dataclass
class Agent:
    """Threads that run the same statements at the moment, and the loops that they are in.

    `partly`: it is not known which of them act, so that no write is sure to happen; `accesses` are
    those of the arm that they are in, where data decide who takes it. `tallies`: what
    the iterations of those loops have done to mbarriers. `covered`: in a loop that is compared with
    those of other blocks as a whole (`loop_runs`). `arms` are those that these threads are in,
    `outside` the epochs of the other warps when the arms were split, and `timestamps` those of the
    statements that these have executed, for the barriers that `ThreadSync` is to insert.
    """

    threads: Threads
    loops: tuple[tuple[str, int], ...] = ()
    partly: bool = False
    accesses: ArmAccesses | None = None
    tallies: tuple[LoopTally, ...] = ()
    covered: bool = False
    arms: tuple[Arm, ...] = ()
    outside: np.ndarray | None = None
    timestamps: Timestamps = field(default_factory=Timestamps)

    def of(self, threads: Threads) -> Agent:
        """Some of the threads, on their own."""
        return replace(self, threads=threads)

    @contextmanager
    def in_part(self, divergent: bool) -> Iterator[None]:
        """Within, if `divergent`, only an unknown subset of the threads acts."""
        before, self.partly = self.partly, self.partly or divergent
        try:
            yield
        finally:
            self.partly = before

    def forget_accesses(self) -> None:
        """Not all that is to come gets on record among the accesses of an arm."""
        if self.accesses is not None:
            self.accesses.known = False
