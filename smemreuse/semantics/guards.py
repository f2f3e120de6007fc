"""Conditions inside expressions, under which parts are evaluated: `if_then_else(c, A[i], 0)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.ir.expr import CHOICES, Call, Expr, children
from smemreuse.ir.kernel import Stmt, expressions_of

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
