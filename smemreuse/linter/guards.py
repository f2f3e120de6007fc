"""Accesses inside expressions that a condition is before, as in `if_then_else(c, A[i], 0)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import Block, Stmt, Store
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.guards import (
    Condition,
    counted_conditions,
    counted_variables,
    guards_within,
)

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]


class Guards:
    """The conditions under which parts of a statement's expressions are evaluated.

    `accesses` are those of the statements, without stores that leave an element as it is; an access
    under a condition is not certain, and has those for its guards that thread indices and loop
    variables decide.
    """

    def __init__(self, body: Block, accesses: Accesses):
        self._counted = counted_variables(body)
        self._conditions: dict[tuple[Stmt, int], tuple[Condition, ...]] = {}
        self._doubtful: set[int] = set()
        for stmt in accesses:
            found = guards_within(stmt)
            self._conditions.update({(stmt, node): one for node, one in found.items()})
        self.accesses: Accesses = {
            stmt: tuple(
                self._doubted(stmt, access) for access in found if not _is_idle(stmt, access)
            )
            for stmt, found in accesses.items()
        }

    def _doubted(self, stmt: Stmt, access: MemoryAccess) -> MemoryAccess:
        """The access, with the conditions inside its expression that it is under; not certain, if
        there are any."""
        guards = self._conditions.get((stmt, id(access.node)), ())
        if not guards:
            return access
        known, _ = counted_conditions(guards, self._counted)
        made = replace(access, certain=False, guards=known)
        if access.certain:
            self._doubtful.add(id(made))
        return made

    def is_certain(self, access: MemoryAccess) -> bool:
        """Whether an access happens to all of its bytes, where the conditions around it hold."""
        return access.certain or id(access) in self._doubtful

    def allowed(self, stmt: Stmt, access: MemoryAccess, threads: Threads) -> np.ndarray | None:
        """The mask of the threads for which the guards of an access hold; None where one is not
        known.
        """
        found = np.ones(threads.count, dtype=bool)
        for condition, way in self._conditions.get((stmt, id(access.node)), ()):
            value = evaluate(condition, threads)
            if value is None:
                return None
            found &= np.broadcast_to(np.asarray(value) != 0, found.shape) == way
        return found


def _is_idle(stmt: Stmt, access: MemoryAccess) -> bool:
    """Whether a store writes back the very element that it loaded, and so changes nothing."""
    return (
        isinstance(stmt, Store)
        and access.node is stmt
        and isinstance(stmt.value, Load)
        and stmt.value.buffer is stmt.buffer
        and stmt.value.indices == stmt.indices
    )
