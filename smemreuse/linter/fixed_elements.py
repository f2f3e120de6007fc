"""Statements that access one element of a buffer, whatever the thread, the block and the data."""

from __future__ import annotations

from smemreuse.ir.expr import Const, Load, Pointer, walk
from smemreuse.ir.kernel import Buffer, Stmt, Store, expressions_of


def touches_one_element(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement names a buffer with the same constant index wherever it does."""
    indices = []
    if isinstance(stmt, Store) and stmt.buffer.storage is buffer:
        indices.append(stmt.indices)
    for expr in expressions_of(stmt):
        for one in walk(expr):
            if isinstance(one, Pointer) and one.buffer.storage is buffer:
                return False
            if isinstance(one, Load) and one.buffer.storage is buffer:
                indices.append(one.indices)
    constant = all(isinstance(one, Const) for each in indices for one in each)
    return constant and len({*indices}) == 1
