"""Accesses of a plan's kernel that a condition inside an expression is before.

`if_then_else(c, A[i], 0)` reads A where `c` holds. A plan is not refuted by a read that no thread
makes, or that only data might bring about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block, Stmt
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.guards import (
    Condition,
    counted_conditions,
    counted_variables,
    guards_within,
)

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]


def guarded(body: Block, accesses: Accesses) -> Accesses:
    """The accesses, each with the conditions inside its expression that thread indices and loop
    variables decide; one that anything else decides is not certain."""
    counted, found = counted_variables(body), dict(accesses)
    for stmt, its in accesses.items():
        guards = guards_within(stmt) if its else {}
        if guards:
            found[stmt] = tuple(_under(guards.get(id(one.node), ()), one, counted) for one in its)
    return found


def _under(
    guards: tuple[Condition, ...], access: MemoryAccess, counted: Collection[Var]
) -> MemoryAccess:
    if not guards:
        return access
    if access.access is not Access.READ or access.engine is not Engine.THREAD:
        # `select` may evaluate what it does not take, which matters where that is more than a value
        return replace(access, certain=False)
    known, are_all = counted_conditions(guards, counted)
    return replace(access, certain=access.certain and are_all, guards=known)
