"""Conditions inside expressions, under which parts are evaluated: `if_then_else(c, A[i], 0)`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Var, children, walk
from smemreuse.ir.kernel import Block, For, Stmt, expressions_of, walk_statements
from smemreuse.ir.launch import thread_indices
from smemreuse.semantics.evaluate import is_arithmetic

Condition = tuple[Expr, bool]
"""A condition, and which way it has to come out."""


def guards_within(stmt: Stmt) -> Mapping[int, tuple[Condition, ...]]:
    """The conditions for each part, by its `id`, of a statement's expressions that has some: those
    that all its places in the statement have in common."""
    found: dict[int, tuple[Condition, ...]] = {}
    for expr in expressions_of(stmt):
        for node, around in _places(expr, ()):
            before = found.get(id(node), around)
            found[id(node)] = tuple(one for one in before if one in around)
    return {node: one for node, one in found.items() if one}


def choice_parts(expr: Expr) -> tuple[tuple[Expr, tuple[Condition, ...]], ...]:
    """The operands of a choice, each with the conditions that it adds; none of what is none."""
    if not (isinstance(expr, Call) and expr.op in CHOICES and len(expr.args) == 3):
        return ()
    condition, one, two = expr.args
    return (condition, ()), (one, ((condition, True),)), (two, ((condition, False),))


def _places(
    expr: Expr, around: tuple[Condition, ...]
) -> Iterator[tuple[Expr, tuple[Condition, ...]]]:
    """An expression and all parts of it, each with the conditions under which it is evaluated."""
    yield expr, around
    parts = choice_parts(expr) or tuple((child, ()) for child in children(expr))
    if isinstance(expr, Call) and expr.op in ("and", "or") and len(expr.args) == 2:
        first, second = expr.args
        parts = (first, ()), (second, ((first, expr.op == "and"),))
    for part, conditions in parts:
        yield from _places(part, (*around, *conditions))


def counted_conditions(
    guards: Iterable[Condition], counted: Collection[Var]
) -> tuple[tuple[Condition, ...], bool]:
    """The conditions, those of a conjunction by themselves, that follow from thread indices and
    loop variables (`counted`) alone; and whether all do."""
    parts = [part for one in guards for part in _parts(*one)]
    known = tuple(part for part in parts if _is_counted(part[0], counted))
    return known, len(known) == len(parts)


def _parts(condition: Expr, way: bool) -> Iterator[Condition]:
    """The conditions of which each has to come out its way for one to come out this way."""
    if isinstance(condition, Call) and condition.op == "not":
        yield from _parts(condition.args[0], not way)
    elif isinstance(condition, Call) and condition.op == ("and" if way else "or"):
        for part in condition.args:
            yield from _parts(part, way)
    else:
        yield condition, way


def counted_variables(body: Block) -> frozenset[Var]:
    """The indices of threads, and the variables of loops."""
    loops = (stmt.var for stmt in walk_statements(body) if isinstance(stmt, For))
    return thread_indices(body).union(loops)


def _is_counted(condition: Expr, counted: Collection[Var]) -> bool:
    return all(
        node in counted
        if isinstance(node, Var)
        else isinstance(node, Const) or (isinstance(node, Call) and is_arithmetic(node))
        for node in walk(condition)
    )
