"""Who waits for an mbarrier's phases, by how the kernel is written.

A machine whose mbarrier is one phase further on is the same machine, if whoever waits for it waits
for the other parity.
"""

from __future__ import annotations

from collections.abc import Hashable, Set

from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import Block, For, While, walk_statements
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import calls_of, effect_of, mbarrier_operand


class Parities:
    """The statements of a kernel that tell phases by their parity."""

    def __init__(self, body: Block):
        self._body = body
        self._awaited: dict[Set[For], Set[Hashable] | None] = {}

    def are_relative(self, storage: Hashable, loops: Set[For]) -> bool:
        """Whether only statements in `loops` tell phases of an mbarrier by their parity, by waiting
        for them, and no thread comes to these loops more than once."""
        if loops not in self._awaited:
            self._awaited[loops] = self._told_beside(loops)
        beside = self._awaited[loops]
        return beside is not None and storage not in beside

    def _told_beside(self, loops: Set[For]) -> Set[Hashable] | None:
        """The mbarriers that are waited for outside of some loops, or asked anywhere; None if that
        may be any, or one of the loops is within another one."""
        inside = set()
        for loop in (one for one in walk_statements(self._body) if isinstance(one, (For, While))):
            within = list(walk_statements(loop.body))
            if any(one in loops for one in within):
                return None
            inside |= set(within) if loop in loops else set()
        found: set[Hashable] = set()
        for stmt in walk_statements(self._body):
            for call in calls_of(stmt):
                effect = effect_of(call)
                is_inside = effect.signals is Signal.WAIT and stmt in inside
                if effect.signals not in (Signal.WAIT, Signal.ASK) or is_inside:
                    continue
                operand = mbarrier_operand(call, effect)
                if not isinstance(operand, Load):
                    return None
                found.add(operand.buffer.storage)
        return found
