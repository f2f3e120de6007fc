"""What is tried for values of which nothing is known: arguments, and what memory holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smemreuse.ir.expr import Load, Var
from smemreuse.ir.kernel import Bind, Block, Buffer, For, If, While, nodes_of, walk_statements
from smemreuse.ir.types import integer_type
from smemreuse.semantics.evaluate import Threads, Value, evaluate, is_integer

MANY = 1 << 20
"""A large argument."""

FEW = 5
"""A small length of what data bound: rows of a tile, rounds of a loop."""

MAX_RISING = 6
"""Buffers of which it is tried that they hold more than the others, and more with each element."""


@dataclass(frozen=True)
class Model:
    """What everything unknown is assumed to be: each of the `arguments`, and each element of
    `memory`; but those of the buffer `rising` are `first` and `STEP` times their index.

    What the pass proves holds for all arguments and all contents of memory, so one model in which
    two accesses collide shows that it has no proof.
    """

    arguments: int
    memory: int
    rising: Buffer | Var | None = None
    first: int = 0

    STEP: ClassVar[int] = 1 << 10
    """More than the elements of any tile."""

    def argument(self, var: Var) -> int:
        """What an argument is, no more than its type holds."""
        kind = integer_type(var.dtype)
        return self.arguments if kind is None else min(self.arguments, kind.most)

    def load(self, load: Load, threads: Threads) -> Value:
        """What an element holds, no more than its type does; None for one of an unknown index."""
        rises = load.buffer.storage is self.rising
        found = self._risen(load, threads) if rises else self.memory
        kind = integer_type(load.buffer.dtype)
        if found is None or kind is None:
            return found
        return min(found, kind.most) if isinstance(found, int) else np.minimum(found, kind.most)

    def _risen(self, load: Load, threads: Threads) -> Value:
        found: Value = self.first
        for index in load.indices:
            value = evaluate(index, threads)
            if value is None or found is None:
                return None
            found = found + self.STEP * value
        return found


def models_of(body: Block) -> tuple[Model, ...]:
    """Those that are tried: nothing is there, all data are alike, or those rise of one buffer that
    may decide anything, as ends of sequences do; or one buffer holds a little more than all others,
    as the end of a range in one scalar does whose begin is in another."""
    rising: dict[Buffer | Var, None] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, (If, For, While, Bind)):
            loads = [node for node in nodes_of(stmt) if isinstance(node, Load)]
            whole = (one.buffer for one in loads if is_integer(one.buffer.dtype))
            rising.update(dict.fromkeys(one.storage for one in whole))
    alike = (Model(0, 0), Model(MANY, MANY), Model(MANY, 0))
    tried = list(rising)[:MAX_RISING]
    ranges = (Model(MANY, 1, one, FEW) for one in tried)
    return (*alike, *(Model(MANY, 0, one) for one in tried), *ranges)
