"""How the byte trace gives up."""

from __future__ import annotations

from collections.abc import Set

from smemreuse.ir.kernel import Stmt


class Uncovered(Exception):
    """The trace cannot go on; the plan stays unproved."""


class BoundReached(Uncovered):
    """A bounded check has found nothing wrong so far, and there is more to follow."""


class Infeasible(Exception):
    """The assumptions of a case contradict each other: no execution is like that."""


class Returned(Exception):
    """All threads of the block return together: the kernel ends here."""


class Stuck(Uncovered):
    """All threads that are followed wait for each other."""


class Contended(Uncovered):
    """Groups of threads may be at a named barrier together. The trace can be run anew, with `uses`
    of it that order nothing; not if there are none."""

    def __init__(self, reason: str, uses: Set[Stmt]):
        super().__init__(reason)
        self.uses = uses


class Misused(Uncovered):
    """A barrier that may not count as it is meant to: no execution is sure to follow, and the
    kernel itself may be wrong."""
