"""After which statements `ThreadSync` puts a barrier whatever collides: waits for copies.

It looks at sequences of statements alone (`ThreadSyncAfterWaitGroupInserter` of TileLang). A branch
without `else` in which there is nothing but such a wait counts as one, and the barrier comes after
the branch, for all threads. A wait that is all there is in an arm or a loop gets none of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.kernel import Attr, Block, Evaluate, If, Stmt, nested_blocks
from smemreuse.semantics.table import evaluated_effect
from smemreuse.versions.thread_sync import ThreadSync


def followed_by_barriers(body: Block, rules: ThreadSync) -> Iterator[Stmt]:
    """The statements of a block, and inside it, directly after which the pass puts a barrier."""

    def is_wait(stmt: Stmt) -> bool:
        if isinstance(stmt, Evaluate):
            effect = evaluated_effect(stmt)
            return effect is not None and rules.follows(effect)
        inner = stmt.body if isinstance(stmt, Attr) else ()
        if isinstance(stmt, If) and not stmt.orelse:
            inner = stmt.then
        return len(inner) == 1 and is_wait(inner[0])

    for stmt in body:
        if len(body) > 1 and is_wait(stmt):
            yield stmt
        for block in nested_blocks(stmt):
            yield from followed_by_barriers(block, rules)
