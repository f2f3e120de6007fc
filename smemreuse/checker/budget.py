"""How much may be done to judge plans: counted, not timed, so that answers can be repeated.

A unit is about what NumPy does to a byte, some 5 ns.
"""

from __future__ import annotations

from smemreuse.checker.errors import Uncovered
from smemreuse.ir.kernel import Kernel
from smemreuse.results.verdict import LIMIT_OF_WORK

BUDGET = LIMIT_OF_WORK

STEP = 25_000
"""Units of a statement that is executed, beside what it does to bytes."""

STATEMENT = 8_000
"""Units of analysing a statement before anything is executed."""

PAIR = 15_000
"""Units of an access, for its buffer and for each one that shares bytes with it."""

OF_CHECK = 1_200_000_000
"""Units for one plan."""

OF_CASES = 400_000_000
"""Units for tracing a kernel once more, whatever data decide being a case."""

OF_SECOND_LOOK = 60_000_000
"""The same for a plan that a first trace neither proved nor refuted. On real kernels, what a second
one proved took a quarter of that."""

OF_KERNEL = 1_800_000_000
"""Units for all plans of one kernel together."""

OF_STATEMENT = 2_000_000
LEAST_IN_LOWERING = 200_000_000
"""Units for all plans that are guessed in a lowering, for each statement of the kernel, and the
least in all."""

OF_FILE = 2_400_000_000
"""Units for all kernels of one file together."""


class Work:
    """Counts the work done, also for what it is a part of. Raises `Uncovered` beyond the limit."""

    def __init__(self, limit: int = OF_KERNEL, part_of: Work | None = None):
        self.limit = limit
        self.done = 0
        self.of_proof = 0
        """What the largest proof has taken that is a part of it."""
        self._part_of = part_of

    def do(self, units: int) -> None:
        """Counts some more, before it is done."""
        if self.done + units > self.limit:
            raise Uncovered(f"{BUDGET}it takes too long to follow what the kernel does")
        if self._part_of is not None:
            self._part_of.do(units)
        self.done += units

    def ended_in_proof(self) -> None:
        """Notes what a proof has taken, for whatever it is a part of."""
        whole = self._part_of
        while whole is not None:
            whole.of_proof = max(whole.of_proof, self.done)
            whole = whole._part_of


def work_of(kernel: Kernel) -> Work:
    """What may be done for a kernel, kept with it."""
    return kernel.memo.once(Work, Work)


def limit_work(kernel: Kernel, statements: int) -> None:
    """What may be done in a lowering, which takes its time by statements, for plans beyond those
    that are trusted; what is applied has a budget of its own."""
    limit = min(max(LEAST_IN_LOWERING, OF_STATEMENT * statements), OF_KERNEL)
    kernel.memo.once(Work, lambda: Work(limit))


def renew_work(kernel: Kernel) -> None:
    """What is asked of a kernel after its lowering has the usual budget again."""
    kernel.memo.keep(Work, Work())


def share_work(kernels: tuple[Kernel, ...] | list[Kernel]) -> None:
    """The kernels of one file have one budget beside their own."""
    together = Work(OF_FILE)
    for kernel in kernels:
        kernel.memo.keep(Work, Work(OF_KERNEL, together))
