"""What kernels may be given, to show what `ThreadSync` cannot prove for all arguments and data."""

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

MAX_RISING = 6
"""Buffers of which it is tried that later elements are larger."""

MAX_APART = 16
"""Buffers of which it is tried that each holds more than the one before."""


@dataclass(frozen=True)
class Model:
    """What everything unknown is assumed to be: each of the `arguments`, and each element of
    `memory`; but those of the buffer `rising` are `STEP` times their index, and those of each of
    the buffers `apart` are `by` times its number there, as begin and end of a sequence are.

    What the pass proves holds for all arguments and all contents of memory, so one model in which
    two accesses collide shows that it has no proof.
    """

    arguments: int
    memory: int
    rising: Buffer | Var | None = None
    apart: tuple[Buffer | Var, ...] = ()
    by: int = 0

    STEP: ClassVar[int] = 1 << 10
    """More than the elements of any tile."""

    def load(self, load: Load, threads: Threads) -> Value:
        """What an element holds, or the most that its type can; None for one of an unknown
        index."""
        found, kind = self._held(load, threads), integer_type(load.buffer.dtype)
        if found is None or kind is None:
            return found
        return min(found, kind.most) if isinstance(found, int) else np.minimum(found, kind.most)

    def _held(self, load: Load, threads: Threads) -> Value:
        if load.buffer.storage in self.apart:
            return self.by * self.apart.index(load.buffer.storage)
        if load.buffer.storage is not self.rising:
            return self.memory
        found: Value = 0
        for index in load.indices:
            value = evaluate(index, threads)
            if value is None or found is None:
                return None
            found = found + self.STEP * value
        return found


def models_of(body: Block) -> tuple[Model, ...]:
    """Those that are tried: nothing is there, all data are alike, those rise of one buffer that may
    decide anything, or from one of these buffers to the next."""
    deciding: dict[Buffer | Var, None] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, (If, For, While, Bind)):
            loads = [node for node in nodes_of(stmt) if isinstance(node, Load)]
            whole = (one.buffer for one in loads if is_integer(one.buffer.dtype))
            deciding.update(dict.fromkeys(one.storage for one in whole))
    alike = (Model(0, 0), Model(MANY, MANY), Model(MANY, 0))
    rising = (Model(MANY, 0, one) for one in list(deciding)[:MAX_RISING])
    order = tuple(deciding)[:MAX_APART]
    apart = (
        Model(MANY, 0, apart=each, by=by)
        for by in (Model.STEP, 1)
        for each in (order, order[::-1])
        if len(order) > 1
    )
    return (*alike, *rising, *apart)
