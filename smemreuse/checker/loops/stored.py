"""Locals that the iterations of a loop set to what is not known, as indices that are loaded.

What is set, and where, must not depend on what any of them holds. Then an iteration sets an element
to the same whatever that held, or leaves it, or either of the two where data decide: after one
period of a periodic loop it is known of it what is known after any number of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set

from smemreuse.checker.slice import ProgramSlice
from smemreuse.ir.expr import Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    Assert,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Store,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.table import any_effect

Storage = Buffer | Var


def settles(loop: For, storages: Collection[Storage], program_slice: ProgramSlice) -> bool:
    """Whether what a loop sets in some locals depends on nothing that any of them holds."""
    if any_effect((loop,), lambda effect: effect.leaves is not None):
        return False
    if not program_slice.escaped.isdisjoint(storages):
        return False
    return _is_free(loop.body, storages, _derived(loop, storages), inside=False)


def _derived(loop: For, storages: Collection[Storage]) -> set[Var]:
    """The variables that are bound in a loop to what follows from some locals."""
    found: set[Var] = set()
    bound = [stmt for stmt in walk_statements(loop.body) if isinstance(stmt, Bind)]
    while True:
        before = len(found)
        found |= {stmt.var for stmt in bound if _reads((stmt.value,), storages, found)}
        if len(found) == before:
            return found


def _is_free(
    block: Block, storages: Collection[Storage], derived: Set[Var], *, inside: bool
) -> bool:
    """Whether no store to some locals follows from what they hold; `inside` a scope that does."""
    for stmt in block:
        if isinstance(stmt, Store) and stmt.buffer.storage in storages:
            if inside or stmt.predicate is not None:
                return False
            if _reads((stmt.value, *stmt.indices), storages, derived):
                return False
        deciding: tuple[Expr, ...] = ()
        if isinstance(stmt, (If, While, Assert)):
            deciding = (stmt.condition,)
        elif isinstance(stmt, For):
            deciding = (stmt.begin, stmt.extent, stmt.step)
        within = inside or _reads(deciding, storages, derived)
        if not all(_is_free(one, storages, derived, inside=within) for one in nested_blocks(stmt)):
            return False
    return True


def _reads(exprs: Iterable[Expr], storages: Collection[Storage], derived: Set[Var]) -> bool:
    return any(
        node in derived
        if isinstance(node, Var)
        else isinstance(node, Load) and node.buffer.storage in storages
        for expr in exprs
        for node in walk(expr)
    )
