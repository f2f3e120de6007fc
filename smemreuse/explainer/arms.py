"""The arms that groups of threads go through at the same time, as after warp specialization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from smemreuse.analysis.divergence import divergence
from smemreuse.checker.machine.naming import threads
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Block, For, If, Kernel, Stmt, While, walk_statements
from smemreuse.ir.tree import straight_line
from smemreuse.results.timeline import ConcurrentArm, Span
from smemreuse.semantics.table import is_block_barrier

_Taken = tuple[Block, np.ndarray]
"""An arm, and the threads that take it."""


def concurrent_arms(kernel: Kernel, points: Mapping[Stmt, Span]) -> Iterator[ConcurrentArm]:
    """The arms with loops in them that threads take while others take another one.

    Such arms have no thread in common and no barrier of the block, nor a loop, between them.
    Branches of which it is not known who takes them have none.
    """
    yield from _Arms(kernel, points).within(kernel.body, 0)


class _Arms:
    def __init__(self, kernel: Kernel, points: Mapping[Stmt, Span]):
        self._flow = facts_of(kernel).ask(divergence)
        self._points = points

    def within(self, block: Block, depth: int) -> Iterator[ConcurrentArm]:
        """The arms of a block, each before those inside it; `depth` of them are around it."""
        together: list[_Taken] = []
        for stmt in straight_line(block):
            taken = [*self._taken(stmt)] if isinstance(stmt, If) else []
            if self._separates(stmt) or any(_share(one, two) for one in taken for two in together):
                yield from self._shown(together, depth)
                together = []
            together += taken
            if isinstance(stmt, (For, While)):
                yield from self.within(stmt.body, depth)
        yield from self._shown(together, depth)

    def _separates(self, stmt: Stmt) -> bool:
        return isinstance(stmt, (For, While)) or is_block_barrier(stmt)

    def _taken(self, stmt: If) -> Iterator[_Taken]:
        """The arms of a branch that have loops in them."""
        groups = self._flow.groups_of(stmt)
        for block, group in zip((stmt.then, stmt.orelse), groups or (), strict=False):
            if any(isinstance(one, (For, While)) for one in walk_statements(block)):
                yield block, group.threads.ids

    def _shown(self, together: list[_Taken], depth: int) -> Iterator[ConcurrentArm]:
        shown = len(together) > 1
        for block, ids in together:
            begin, end = self._points[block[0]][0], self._points[block[-1]][1]
            if shown and begin < end:
                yield ConcurrentArm(threads(ids), begin, end, depth)
            yield from self.within(block, depth + shown)


def _share(one: _Taken, other: _Taken) -> bool:
    return bool(np.intersect1d(one[1], other[1]).size)
