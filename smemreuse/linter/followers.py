"""What threads may go on with that have done with a branch in which others wait."""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.expr import Call, Load, Pointer, Var, walk
from smemreuse.ir.kernel import Buffer, For, If, Stmt, While, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.table import calls_of, effect_of


def goes_on_with(stmt: Stmt, tree: StatementTree) -> Iterator[Stmt]:
    """The statements that may follow the innermost branch around a statement: for threads that are
    not in it, while others are at that statement."""
    branches = [one.stmt for one in tree.path(stmt)[:-1] if isinstance(one.stmt, If)]
    if branches:
        yield from tree.after(branches[-1])
        for spot in tree.path(branches[-1]):
            if isinstance(spot.scope, (For, While)):  # in its next round the branch follows too
                yield spot.stmt


def signals(stmt: Stmt, storage: Buffer | Var) -> bool:
    """Whether a statement, or one in it, may do to an mbarrier of this memory what others wait
    for."""
    calls = (call for one in walk_statements((stmt,)) for call in calls_of(one))
    return any(_may_signal(effect_of(call)) and _is_handed(call, storage) for call in calls)


def _may_signal(effect: Effect) -> bool:
    return bool(effect.unknown) or effect.signals not in (None, Signal.WAIT, Signal.ASK)


def _is_handed(call: Call, storage: Buffer | Var) -> bool:
    return any(
        isinstance(node, (Load, Pointer)) and node.buffer.storage is storage for node in walk(call)
    )
