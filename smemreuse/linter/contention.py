"""Races whose bytes do not say when they are none: of one element, whatever thread and data."""

from __future__ import annotations

from smemreuse.ir.expr import Const, Load, Pointer, walk
from smemreuse.ir.kernel import Buffer, Stmt, Store, expressions_of
from smemreuse.results.hazards import Contention, HazardKind


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


def contention_of_two(kind: HazardKind, one: Stmt, two: Stmt, buffer: Buffer) -> Contention | None:
    """That the bytes cannot tell two racing accesses apart, where both are of one element."""
    fixed = all(touches_one_element(stmt, buffer) for stmt in (one, two))
    return Contention.TWO_STATEMENTS if kind is HazardKind.RACE and fixed else None
