"""What the traces of one check have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping

from smemreuse.checker.descriptors import Holders
from smemreuse.checker.footprints import Footprints
from smemreuse.checker.layout import Layout
from smemreuse.checker.periods import Periods
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.vectors import Vectors
from smemreuse.ir.kernel import For
from smemreuse.semantics.fence_pass import fences_to_come


class Setting:
    """The plan, the kernel's relevant parts, and what one trace may remember for the next."""

    def __init__(
        self,
        relevance: Relevance,
        layout: Layout,
        axes: Mapping[str, int],
        *,
        assume_barriers: bool,
        budget: int,
    ):
        self.relevance = relevance
        self.periods = Periods(relevance)
        self.holders = Holders(relevance.body, relevance.accesses)
        self.layout = layout
        self.axes = axes
        self.assume_barriers = assume_barriers
        self.budget = budget
        self.vectors = Vectors(math.prod(axes.values()))
        self.footprints = Footprints()
        self.fenced = fences_to_come(relevance.body) if assume_barriers else frozenset()
        self._independent: dict[For, bool] = {}

    def independent(self, loop: For) -> bool:
        """Whether a loop's iterations may run as one: nothing in them is ordered or related."""
        known = self._independent.get(loop)
        if known is None:
            known = self._independent[loop] = self._is_independent(loop)
        return known

    def _is_independent(self, loop: For) -> bool:
        if self.relevance.synchronizes(loop.body):
            return False
        buffers = [buffer for buffer, _ in self.relevance.kinds(loop.body)]
        related = any(two in self.layout.partners[one] for one in buffers for two in buffers)
        return len(set(buffers)) == len(buffers) and not related
