"""Who runs the statements: threads that stay together, and that may have to wait for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.checker.pauses import LoopTally
from smemreuse.semantics.evaluate import Threads

BLOCKED = object()
"""What a step yields while it waits for an mbarrier. Where it is between two iterations of a loop,
some of which it may leave out, it yields a `Pause` for each such loop."""

Steps = Iterator[object]


@dataclass
class Agent:
    """Threads that run the same statements at the moment, and the loops that they are in.

    `partly`: it is not known which of them act, so that no write is sure to happen. `tallies`: what
    the iterations of those loops have done to mbarriers. `among` are the warps of the innermost arm
    around in which some may meet without the others; None where there is no such arm. `covered`: in
    a loop that is compared with those of other blocks as a whole (`loop_runs`).
    """

    threads: Threads
    loops: tuple[tuple[str, int], ...] = ()
    partly: bool = False
    tallies: tuple[LoopTally, ...] = ()
    among: np.ndarray | None = None
    covered: bool = False

    def of(self, threads: Threads) -> Agent:
        """Some of the threads, on their own."""
        return replace(self, threads=threads)

    @contextmanager
    def in_part(self, apart: bool) -> Iterator[None]:
        """Inside, only an unknown few act, if `apart`."""
        before, self.partly = self.partly, self.partly or apart
        try:
            yield
        finally:
            self.partly = before
