"""What no trace follows, whatever the plan: seen before anything is executed."""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.checker.slice import ProgramSlice
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import VIRTUAL_THREAD, Attr, For, Store, walk_statements
from smemreuse.ir.labels import label


def unfollowed(program_slice: ProgramSlice) -> Iterator[str]:
    """What makes a plan unproved whatever is executed, each in a few words."""
    for stmt in walk_statements(program_slice.body):
        if isinstance(stmt, Attr) and stmt.key == VIRTUAL_THREAD and constant(stmt.value) != 1:
            if program_slice(stmt):
                yield "virtual threads are not followed"
        elif isinstance(stmt, For) and stmt.kind == "thread_binding" and program_slice(stmt):
            yield f"a loop over threads is not followed: {stmt.var.name}"
        elif isinstance(stmt, Store) and stmt.buffer.holds_mbarriers:
            yield f"an mbarrier is written over: `{label(stmt)}`"
        for call in program_slice.operations.inside(stmt):
            yield f"an operation inside an expression is not followed: `{call.op}`"
