"""The barriers that operations of a statement execute inside themselves, and what they order.

An operation that computes a value stands in an expression; its barriers are met where it is surely
evaluated, once, and in a known order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Expr, Load, children, walk
from smemreuse.ir.kernel import Bind, Evaluate, Stmt, Store
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.operands import is_lazy
from smemreuse.semantics.pointers import let_parts
from smemreuse.semantics.table import calls_of, effect_of


def meeting_within(stmt: Stmt) -> Call | None:
    """The operation in which all threads meet that come to a statement.

    None where there is none; and where it may be left unevaluated, or there are several, whose
    order C++ leaves open.
    """
    inner = [call for call in calls_of(stmt) if effect_of(call).within]
    if len(inner) != 1:
        return None
    if isinstance(stmt, (Bind, Evaluate)) or (isinstance(stmt, Store) and stmt.predicate is None):
        return next((call for call in _evaluated((stmt.value,)) if call is inner[0]), None)
    return None


def _evaluated(exprs: Iterable[Expr]) -> Iterator[Call]:
    """The operations that are surely carried out where these expressions are evaluated."""
    for expr in exprs:
        if isinstance(expr, Call):
            yield expr
            if let_parts(expr) is None:
                yield from _evaluated(
                    operand for at, operand in enumerate(expr.args) if not is_lazy(expr, at)
                )
        elif not isinstance(expr, Load) or expr.predicate is None:
            yield from _evaluated(children(expr))


@dataclass(frozen=True)
class AroundMeeting:
    """A statement's accesses, by where they are made: `before` threads meet in an operation of it,
    by the operation itself (`own`), and `behind` it. What C++ leaves open is in two of them.
    `call` is that operation."""

    call: Call
    before: tuple[MemoryAccess, ...]
    own: tuple[MemoryAccess, ...]
    behind: tuple[MemoryAccess, ...]

    @staticmethod
    def of(call: Call, accesses: Iterable[MemoryAccess]) -> AroundMeeting:
        """The accesses of a statement that evaluates `call`."""
        effect = effect_of(call)
        listed = {operand.at for operand in effect.operands}
        through = [one for at, one in enumerate(call.args) if at in listed]
        handed = [one for operand in call.args for one in walk(operand)]
        before: list[MemoryAccess] = []
        own: list[MemoryAccess] = []
        behind: list[MemoryAccess] = []
        for access in accesses:
            node = access.node
            if isinstance(node, Store):
                behind.append(access)
            elif node is call or any(node is one for one in through):
                own.append(access)
                if isinstance(node, Load):  # an element: it may be read, to be handed in
                    before.append(access)
            elif any(node is one for one in handed):
                before.append(access)
                if not isinstance(node, Load):  # an address that leads anywhere
                    own.append(access)
            else:  # beside it: before, or behind
                before.append(access)
                behind.append(access)
        if not effect.meets_first:
            before += own
        return AroundMeeting(call, tuple(before), tuple(own), tuple(behind))
