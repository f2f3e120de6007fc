"""After which statements `ThreadSync` puts a barrier whatever collides: waits for copies.

It looks at sequences of statements alone (`ThreadSyncAfterWaitGroupInserter` of TileLang). A branch
without `else` in which there is nothing but such a wait counts as one, and the barrier comes after
the branch, for all threads; it is left out where a barrier comes next, also if that is all there is
in a branch that may not be taken. A wait that is all there is in an arm or a loop gets none of its
own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest

from smemreuse.ir.kernel import Attr, Block, If, Stmt, nested_blocks
from smemreuse.semantics.synchronizing import block_barrier
from smemreuse.semantics.table import evaluated_call
from smemreuse.versions.thread_sync import ThreadSync

_BARRIER = block_barrier("shared")


def followed_by_barriers(body: Block, rules: ThreadSync) -> Iterator[Stmt]:
    """The statements of a block, and inside it, directly after which the pass puts a barrier."""

    def waits(stmt: Stmt) -> bool:
        call = evaluated_call(stmt)
        return call is not None and rules.follows(call.op)

    for stmt, following in zip_longest(body, body[1:]):
        if len(body) > 1 and _is_all(stmt, waits):
            if following is None or not _is_all(following, _is_barrier):
                yield stmt
        for block in nested_blocks(stmt):
            yield from followed_by_barriers(block, rules)


def _is_all(stmt: Stmt, is_one: Callable[[Stmt], bool]) -> bool:
    """Whether a statement is one of a kind, or there is nothing but such a one in it."""
    inner = stmt.body if isinstance(stmt, Attr) else ()
    if isinstance(stmt, If) and not stmt.orelse:
        inner = stmt.then
    return is_one(stmt) or (len(inner) == 1 and _is_all(inner[0], is_one))


def _is_barrier(stmt: Stmt) -> bool:
    call = evaluated_call(stmt)
    return call is not None and (call.op, call.args) == (_BARRIER.op, _BARRIER.args)
