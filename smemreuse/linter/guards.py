"""Accesses inside expressions that a condition is before, as in `if_then_else(c, A[i], 0)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from smemreuse.ir.expr import CHOICES, Call, Expr, Load, children
from smemreuse.ir.kernel import Stmt, Store, expressions_of
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Threads, evaluate

Condition = tuple[Expr, bool]
"""A condition, and which way it has to come out."""

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]


class Guards:
    """The conditions under which parts of a statement's expressions are evaluated.

    `accesses` are those of the statements, without stores that leave an element as it is; an access
    under a condition is not certain.
    """

    def __init__(self, accesses: Accesses):
        self._conditions: dict[int, tuple[Condition, ...]] = {}
        self._kept: list[object] = []
        self._doubtful: set[int] = set()
        for stmt in accesses:
            for expr in expressions_of(stmt):
                self._visit(expr, ())
        self.accesses: Accesses = {
            stmt: tuple(self._doubted(access) for access in found if not _is_idle(stmt, access))
            for stmt, found in accesses.items()
        }

    def _visit(self, expr: Expr, around: tuple[Condition, ...]) -> None:
        """Records, for each sub-expression, the conditions under which it is evaluated."""
        if around:
            self._conditions[id(expr)] = around
            self._kept.append(expr)
        if isinstance(expr, Call) and expr.op in CHOICES and len(expr.args) == 3:
            condition, one, two = expr.args
            self._visit(condition, around)
            self._visit(one, (*around, (condition, True)))
            self._visit(two, (*around, (condition, False)))
        elif isinstance(expr, Call) and expr.op in ("and", "or") and len(expr.args) == 2:
            first, second = expr.args
            self._visit(first, around)
            self._visit(second, (*around, (first, expr.op == "and")))
        else:
            for child in children(expr):
                self._visit(child, around)

    def _doubted(self, access: MemoryAccess) -> MemoryAccess:
        """The access, marked as not certain if a condition inside its expression guards it."""
        if access.certain and id(access.node) in self._conditions:
            self._doubtful.add(id(access.node))
            return replace(access, certain=False)
        return access

    def is_certain(self, access: MemoryAccess) -> bool:
        """Whether an access happens to all of its bytes, where the conditions around it hold."""
        return access.certain or id(access.node) in self._doubtful

    def allowed(self, stmt: Stmt, access: MemoryAccess, threads: Threads) -> np.ndarray | None:
        """The mask of the threads for which the guards of an access hold; None where one is not
        known.
        """
        found = np.ones(threads.count, dtype=bool)
        for condition, way in self._conditions.get(id(access.node), ()):
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
