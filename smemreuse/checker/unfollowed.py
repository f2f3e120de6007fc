"""What no trace follows, whatever the plan: seen before anything is executed."""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.checker.relevance import Relevance
from smemreuse.ir.expr import Call, Load, Pointer, constant, walk
from smemreuse.ir.kernel import VIRTUAL_THREAD, Attr, For, Stmt, walk_statements
from smemreuse.semantics.table import calls_of, effect_of, evaluated_call


def unfollowed(relevance: Relevance) -> Iterator[str]:
    """What makes a plan unproved whatever is executed, each in a few words."""
    for stmt in walk_statements(relevance.body):
        if isinstance(stmt, Attr) and stmt.key == VIRTUAL_THREAD and constant(stmt.value) != 1:
            if relevance(stmt):
                yield "virtual threads are not followed"
        elif isinstance(stmt, For) and stmt.kind == "thread_binding" and relevance(stmt):
            yield f"a loop over threads is not followed: {stmt.var.name}"
        for call in _inside(stmt):
            yield f"an operation inside an expression is not followed: `{call.op}`"


def _inside(stmt: Stmt) -> Iterator[Call]:
    """The operations that order accesses, or may, and are no statements of their own."""
    whole = evaluated_call(stmt)
    for call in calls_of(stmt):
        if call is not whole:
            effect = effect_of(call)
            if effect.orders or (effect.unknown and _names_mbarrier(call)):
                yield call


def _names_mbarrier(call: Call) -> bool:
    return any(
        isinstance(node, (Load, Pointer)) and "barrier" in node.buffer.scope for node in walk(call)
    )
