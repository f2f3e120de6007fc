"""How often two buffers would take turns on shared bytes: the barriers that this costs."""

from __future__ import annotations

from smemreuse.facts import facts_of
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Block, Buffer, For, Kernel, While, nested_blocks

UNKNOWN_ROUNDS = 16
"""Rounds that a loop is taken to make when its trip count is not constant."""

_Loops = tuple[For | While, ...]


class Handovers:
    """Counts, for each pair of buffers, the rounds of the loops that both live within."""

    def __init__(self, kernel: Kernel):
        self._home: dict[Buffer, _Loops] = {}
        self._accesses = facts_of(kernel).accesses
        self._walk(kernel.body, ())

    def __call__(self, one: Buffer, other: Buffer) -> int:
        """Times that each block hands shared bytes from one to the other."""
        count = 1
        for loop in _common(self._home.get(one, ()), self._home.get(other, ())):
            rounds = constant(loop.extent) if isinstance(loop, For) else None
            count *= UNKNOWN_ROUNDS if rounds is None else max(rounds, 1)
        return count

    def _walk(self, block: Block, loops: _Loops) -> None:
        """Finds for each buffer the loops that enclose all of its accesses."""
        for stmt in block:
            for access in self._accesses[stmt]:
                known = self._home.get(access.buffer, loops)
                self._home[access.buffer] = _common(known, loops)
            within = (*loops, stmt) if isinstance(stmt, (For, While)) else loops
            for inner in nested_blocks(stmt):
                self._walk(inner, within)


def _common(one: _Loops, other: _Loops) -> _Loops:
    """The loops that are in both sequences, outermost first."""
    length = 0
    while length < min(len(one), len(other)) and one[length] is other[length]:
        length += 1
    return one[:length]
