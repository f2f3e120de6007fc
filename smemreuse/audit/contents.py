"""Whether a buffer is read before it is written: then what it holds is somebody else's.

The checker is asked about the kernel with a beginning of ours: the buffer gets contents, and then
another one overwrites all of them. Whoever reads before it has written reads what is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from enum import Enum

from smemreuse.checker import check_plan
from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Attr,
    Block,
    Buffer,
    Evaluate,
    If,
    Kernel,
    Store,
)
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.semantics.table import BLOCK_BARRIER


class Contents(Enum):
    """Whose contents are read through a buffer."""

    OWN = "only what has been written through it"
    OTHERS = "some thread reads what nobody has written through it"
    PERHAPS = "some thread may read what nobody has written through it"
    UNKNOWN = "the kernel is not followed"


def contents_of(kernel: Kernel, scope: str, buffer: Buffer) -> Contents:
    """Whether a buffer is read only where it has been written before.

    `kernel` has each of its buffers apart, with a size in bytes that is known.
    """
    size = buffer.size or 0
    others = [one for one in kernel.allocations(scope) if one is not buffer]
    lost = Buffer(f"{buffer.name}_lost", "uint8", (Const(size),), scope)
    offsets = {buffer: 0, lost: 0}
    arena = size
    for one in others:
        offsets[one] = arena
        arena += one.size or 0
    barrier = Evaluate(Call(BLOCK_BARRIER.op, (Const(scope),)))

    def prologue(first: Expr) -> Block:
        written = (If(first, (_all_of(one),)) for one in (buffer, lost))
        return tuple(stmt for write in written for stmt in (write, barrier))

    body = (
        *map(Allocate, offsets),
        *_begun(_unallocated(kernel.body, offsets), prologue, Const(1)),
    )
    begun = replace(kernel, body=body)
    verdict = check_plan(
        begun, scope, offsets, arena, dict.fromkeys(offsets, 1), assume_barriers=False
    )
    if verdict.verdict is SOUND:
        return Contents.OWN
    lost_contents = any(one.rule is Rule.LOOP_CARRIED for one in verdict.violations)
    if verdict.verdict is UNSOUND and lost_contents:
        return Contents.OTHERS
    return Contents.PERHAPS if lost_contents else Contents.UNKNOWN


def _all_of(buffer: Buffer) -> Store:
    (count,) = buffer.shape
    return Store(buffer, (Call("ramp", (Const(0), Const(1), count)),), Const(0))


def _unallocated(block: Block, buffers: Collection[Buffer]) -> Block:
    """Without the allocations of what comes first instead."""
    return tuple(
        replace(stmt, body=_unallocated(stmt.body, buffers)) if isinstance(stmt, Attr) else stmt
        for stmt in block
        if not (isinstance(stmt, Allocate) and stmt.buffer in buffers)
    )


def _begun(block: Block, prologue: Callable[[Expr], Block], first: Expr) -> Block:
    """With a beginning in the innermost launch, made for the first thread of a block."""
    for place, stmt in enumerate(block):
        if isinstance(stmt, Attr) and any(True for _ in launches((stmt,))):
            if stmt.key == THREAD_EXTENT and tag_of(stmt) in AXES and stmt.var is not None:
                first = Call("and", (first, Call("eq", (stmt.var, Const(0)))))
            inside = replace(stmt, body=_begun(stmt.body, prologue, first))
            return (*block[:place], inside, *block[place + 1 :])
    return (*prologue(first), *block)
