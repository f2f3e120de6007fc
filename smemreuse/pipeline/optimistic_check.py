"""Which layouts of the compiler a lowering applies without a check: those that mostly hold.

A check of a plan that holds costs as much as the proof after it. One that does not hold is found
out where it is applied, and what the compiler does after the merge is done once more.
"""

from __future__ import annotations

from smemreuse.checker.operations import Operations, operations_of
from smemreuse.facts import KernelFacts
from smemreuse.ir.expr import Expr, Load, Var, walk
from smemreuse.ir.kernel import Attr, Bind, For, If, Stmt, While, walk_statements
from smemreuse.semantics.effects import Engine, Signal


def order_is_settled(facts: KernelFacts) -> bool:
    """Whether only mbarriers order the asynchronous accesses, and no data decide anything about
    them.

    If so the order is the same in each execution of a block. Where data decide, there are
    executions in which no thread reaches the wait for an access.
    """
    operations = operations_of(facts.kernel)
    statements = list(walk_statements(facts.kernel.body))
    effects = [one for stmt in statements for one in operations.effects(stmt)]
    if not any(one.signals is Signal.WAIT for one in effects):
        return False
    if any(one.waits is not None and one.waits.engine is Engine.CP_ASYNC for one in effects):
        return False
    names = _known_names(facts)
    return all(
        _is_known(expr, names)
        for stmt in statements
        if (deciding := _deciding(stmt)) and _signals(stmt, operations)
        for expr in deciding
    )


def _signals(stmt: Stmt, operations: Operations) -> bool:
    """Whether a statement, or one inside it, is an operation on an mbarrier."""
    return any(
        effect.mbarrier is not None
        for inner in walk_statements((stmt,))
        for effect in operations.effects(inner)
    )


def _deciding(stmt: Stmt) -> tuple[Expr, ...]:
    """What decides whether, or how often, what is in a statement is done."""
    if isinstance(stmt, (If, While)):
        return (stmt.condition,)
    return (stmt.begin, stmt.extent, stmt.step) if isinstance(stmt, For) else ()


def _known_names(facts: KernelFacts) -> set[Var]:
    """The variables that do not depend on data: thread, block and loop indices, and what they
    determine.
    """
    names: set[Var] = set()
    for stmt in walk_statements(facts.kernel.body):
        if isinstance(stmt, For) or (isinstance(stmt, Attr) and stmt.var is not None):
            assert stmt.var is not None
            names.add(stmt.var)
        elif isinstance(stmt, Bind) and _is_known(stmt.value, names):
            names.add(stmt.var)
    return names


def _is_known(expr: Expr, names: set[Var]) -> bool:
    return not any(
        isinstance(node, Load) or (isinstance(node, Var) and node not in names)
        for node in walk(expr)
    )
