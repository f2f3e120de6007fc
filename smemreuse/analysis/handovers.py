"""How often two buffers would take turns on shared bytes: the barriers that this costs."""

from __future__ import annotations

from smemreuse.analysis.touches import find_aliases, touches_of, touches_of_store
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    Kernel,
    Store,
    While,
    expressions_of,
    nested_blocks,
)

UNKNOWN_ROUNDS = 16
"""Rounds that a loop is taken to make when its trip count is not constant."""

_Loops = tuple[For | While, ...]


class Handovers:
    """Counts, for each pair of buffers, the rounds of the loops that both live within."""

    def __init__(self, kernel: Kernel):
        self._home: dict[Buffer, _Loops] = {}
        self._aliases = find_aliases(kernel.body)
        self._walk(kernel.body, ())

    def __call__(self, one: Buffer, other: Buffer) -> int:
        """Times that each block hands shared bytes from one to the other."""
        count = 1
        for loop in _common(self._home.get(one, ()), self._home.get(other, ())):
            rounds = constant(loop.extent) if isinstance(loop, For) else None
            count *= UNKNOWN_ROUNDS if rounds is None else max(rounds, 1)
        return count

    def _walk(self, block: Block, loops: _Loops) -> None:
        for stmt in block:
            if isinstance(stmt, Store):
                touches = list(touches_of_store(stmt, self._aliases))
            else:
                touches = [
                    touch
                    for expr in expressions_of(stmt)
                    for touch in touches_of(expr, self._aliases)
                ]
            for touch in touches:
                known = self._home.get(touch.buffer, loops)
                self._home[touch.buffer] = _common(known, loops)
            within = (*loops, stmt) if isinstance(stmt, (For, While)) else loops
            for inner in nested_blocks(stmt):
                self._walk(inner, within)


def _common(one: _Loops, other: _Loops) -> _Loops:
    """The loops around both, outermost first."""
    length = 0
    while length < min(len(one), len(other)) and one[length] is other[length]:
        length += 1
    return one[:length]
