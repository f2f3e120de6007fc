"""What the analyses ask of a statement's operation: does it leave, wait, or bring threads together?

The one place in this room that knows operations by name.
"""

from __future__ import annotations

from smemreuse.ir.expr import Call, Const
from smemreuse.ir.kernel import Block, Stmt, walk_statements
from smemreuse.semantics.effects import Leaving
from smemreuse.semantics.intrinsics import (
    LEAVING_OPS,
    RETURNING_OPS,
    WAIT_PARITY,
    WAITS,
    calls_any,
    evaluated_call,
)

BLOCK_BARRIER = Call("tvm_storage_sync", (Const("shared"),))
_BLOCK_SCOPES = (Const("shared"), Const("shared.dyn"))


def leaving(stmt: Stmt) -> Leaving | None:
    """Where a thread goes on behind a statement, if not with the next one."""
    call = evaluated_call(stmt)
    if call is None or call.op not in LEAVING_OPS:
        return None
    if call.op in RETURNING_OPS:
        return Leaving.RETURN
    return Leaving.CONTINUE if "continue" in call.op else Leaving.BREAK


def returns(block: Block) -> bool:
    """Whether threads may return from within a block."""
    return any(leaving(stmt) is Leaving.RETURN for stmt in walk_statements(block))


def waits(stmt: Stmt) -> bool:
    """Whether a statement waits for something asynchronous."""
    call = evaluated_call(stmt)
    return call is not None and (call.op in WAITS or call.op == WAIT_PARITY)


def waits_for_phase(block: Block) -> bool:
    """Whether there is a wait for a phase of an mbarrier within a block."""
    return calls_any(block, (WAIT_PARITY,))


def is_block_barrier(stmt: Stmt) -> bool:
    """Whether the whole block meets here; a third operand of -1 or none counts its threads."""
    call = evaluated_call(stmt)
    if call is None or call.op != BLOCK_BARRIER.op or call.args[0] not in _BLOCK_SCOPES:
        return False
    return len(call.args) < 3 or call.args[2] == Const(-1)
