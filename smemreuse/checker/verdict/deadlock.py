"""Deadlocks by barriers that keep threads from what others wait for (rule 12).

The compiler's pass, or a plan, puts barriers between accesses to bytes that buffers share. Where
the threads of one branch wait for what others do after such a barrier, all of them wait for ever.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.checker.layout import ByteLayout
from smemreuse.ir.kernel import Block, Kernel, Stmt, with_blocks
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import Violation
from smemreuse.semantics.table import BLOCK_BARRIER, evaluated_call

WAITS_FOR_EVER = "a barrier that a later pass may put between two branches waits for ever (rule 12)"

MAY_DEADLOCK = (
    "threads may wait for ever (rule 12): a barrier that is there for the plan may keep others "
    "from what they wait for"
)

MAY_WAIT_FOR_EVER = (
    "a barrier that a later pass puts in for it may wait for ever (rule 12): threads may wait for "
    "others, and it is not known for what, in"
)

_DEADLOCK = (
    "threads wait for ever for what others do behind a barrier, to which they would have to come; "
    "without it all go on"
)


def without_barriers(kernel: Kernel) -> Kernel:
    """The kernel without the barriers of threads that a pass may have put in."""
    return replace(kernel, body=_without(kernel.body))


def _without(block: Block) -> Block:
    return tuple(with_blocks(stmt, _without) for stmt in block if not _is_barrier(stmt))


def _is_barrier(stmt: Stmt) -> bool:
    call = evaluated_call(stmt)
    return call is not None and call.op == BLOCK_BARRIER.op


def deadlock(layout: ByteLayout) -> tuple[Violation, ...]:
    """The violation of a plan with which all threads wait for ever at a barrier, and go on without.

    Which of its pairs brings that barrier is not known, so that all buffers that share are named.
    """
    shared = tuple(layout.names[buffer] for buffer in layout.partners)
    return (Violation(Rule.COLLECTIVE, shared, _DEADLOCK),)
