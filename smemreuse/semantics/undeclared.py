"""Device functions that nobody knows and their author could declare: how to say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.results.words import to_be_declared
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.declarations import may_be_declared
from smemreuse.semantics.foreign import function_of
from smemreuse.semantics.table import calls_of, is_foreign


def undeclared_function(stmt: Stmt) -> str | None:
    """The device function that a statement calls, which is not known and may be declared."""
    names = (function_of(call) for call in calls_of(stmt) if is_foreign(call))
    return next(filter(None, map(may_be_declared, names)), None)


def declare_it(stmts: Iterable[Stmt]) -> str:
    """What is to be done of the first such function that one of these statements calls, without a
    full stop; empty where none does."""
    found = next(filter(None, map(undeclared_function, stmts)), None)
    return "" if found is None else to_be_declared(found)


def handed_to_undeclared(
    accesses: Mapping[Stmt, tuple[MemoryAccess, ...]],
) -> dict[Buffer, Stmt]:
    """The buffers that such functions may access, each with the first statement that calls one."""
    found: dict[Buffer, Stmt] = {}
    for stmt, each in accesses.items():
        if each and undeclared_function(stmt) is not None:
            for access in each:
                found.setdefault(access.buffer, stmt)
    return found
