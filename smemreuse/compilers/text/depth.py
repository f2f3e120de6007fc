"""Refuses what is nested too deeply for the recursive walks of analysis, planning and checking."""

from __future__ import annotations

from smemreuse.errors import InputError
from smemreuse.ir.expr import Expr, children
from smemreuse.ir.kernel import (
    Allocate,
    Attr,
    Block,
    Declare,
    Stmt,
    expressions_of,
    nested_blocks,
)

MAX_DEPTH = 200
"""Levels of statements and, within them, of operands. Every walk takes at most three of Python's
1,000 stack frames for a level."""

TOO_DEEP = "nested too deeply to read; dump the kernel before unrolling, or split the expression"


def check_depth(body: Block) -> None:
    """Raises `InputError`, with the line, if statements and operands nest more than `MAX_DEPTH`."""
    pending: list[tuple[Stmt, int]] = [(stmt, 1) for stmt in body]
    while pending:
        stmt, depth = pending.pop()
        if depth + _depth(_operands(stmt)) > MAX_DEPTH:
            raise InputError(TOO_DEEP, line=stmt.line)
        pending += ((inner, depth + 1) for block in nested_blocks(stmt) for inner in block)


def _operands(stmt: Stmt) -> tuple[Expr, ...]:
    if isinstance(stmt, (Allocate, Declare)):
        return (*stmt.buffer.shape, stmt.buffer.elem_offset)
    if isinstance(stmt, Attr):
        return (stmt.node, stmt.value)
    return expressions_of(stmt)


def _depth(exprs: tuple[Expr, ...]) -> int:
    depth = 0
    while exprs:
        depth += 1
        exprs = tuple(child for expr in exprs for child in children(expr))
    return depth
