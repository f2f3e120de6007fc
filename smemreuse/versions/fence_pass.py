"""`InjectFenceProxy` re-enacted: where TileLang is going to put its proxy fences (rule 11).

The pass walks the statements in their order and keeps what the last one may have been that touched
shared memory: a generic write, or an operation of the async proxy. Before the latter, after the
former, it puts a fence. It knows of no buffers, bytes, threads or barriers, and reads do not count.
So its fences do not depend on the plan, and none goes from one arm of a branch to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag

from smemreuse.ir.expr import Expr, Load, Pointer, constant, walk
from smemreuse.ir.kernel import (
    Block,
    For,
    If,
    Stmt,
    Store,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.pointers import is_for_writing
from smemreuse.semantics.table import evaluated_call

MAX_ROUNDS = 8


class Last(Flag):
    """What the last operation on shared memory may have been."""

    NOTHING = 1
    GENERIC = 2
    ASYNC = 4


@dataclass(frozen=True)
class FencePass:
    """What one version of the pass recognizes, as lists of operations.

    - `fenced`: operations that get a fence before them if a generic write may precede.
    - `fences`: fences in the kernel that the pass takes into account.
    """

    fenced: frozenset[str]
    fences: frozenset[str]

    def fences_to_come(self, body: Block) -> frozenset[Stmt]:
        """The statements right before which the pass puts a fence."""
        walk_through = _Walk(self)
        walk_through.block(body, Last.NOTHING)
        return frozenset(walk_through.fenced)

    def event(self, stmt: Stmt) -> Last | None:
        """What the pass takes a statement itself for; of calls it sees those that stand alone."""
        if isinstance(stmt, Store):
            return Last.GENERIC if _is_shared(stmt.buffer.scope) else None
        call = evaluated_call(stmt)
        if call is None:
            return None
        if call.op in self.fences:
            return Last.NOTHING
        if call.op in self.fenced:
            return Last.ASYNC
        return Last.GENERIC if any(map(_is_written_through, walk(call))) else None

    def is_async_only(self, block: Block) -> bool:
        """Whether a block has operations of the async proxy, and no generic write."""
        events = {self.event(stmt) for stmt in walk_statements(block)}
        return Last.ASYNC in events and Last.GENERIC not in events


class _Walk:
    """Re-enacts the pass: `fenced` collects the statements before which it puts a fence.

    Its methods take what the last operation on shared memory may have been, and return that after
    the statement. A loop is repeated until that no longer changes.
    """

    def __init__(self, rules: FencePass) -> None:
        self.fenced: set[Stmt] = set()
        self._rules = rules

    def block(self, block: Block, last: Last) -> Last:
        for stmt in block:
            last = self._statement(stmt, last)
        return last

    def _statement(self, stmt: Stmt, last: Last) -> Last:
        """Fences an asynchronous operation that may follow a generic one."""
        if isinstance(stmt, If):
            return self._branch(stmt, last)
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, last)
        for block in nested_blocks(stmt):
            last = self.block(block, last)
        event = self._rules.event(stmt)
        if event is Last.ASYNC and last & Last.GENERIC:
            self.fenced.add(stmt)
        return last if event is None else event

    def _branch(self, stmt: If, last: Last) -> Last:
        """Fences the whole branch if both arms are asynchronous only, else looks into the arms."""
        arms = (stmt.then, stmt.orelse)
        if last & Last.GENERIC and all(map(self._rules.is_async_only, arms)):
            self.fenced.add(stmt)
            last = Last.NOTHING
        return self.block(stmt.then, last) | self.block(stmt.orelse, last)

    def _loop(self, stmt: For | While, last: Last) -> Last:
        """Fences the whole loop if its body is asynchronous only, else iterates over its body."""
        if last & Last.GENERIC and self._rules.is_async_only(stmt.body):
            self.fenced.add(stmt)
            last = Last.NOTHING
        before, after = last, last
        for _ in range(MAX_ROUNDS):
            after = self.block(stmt.body, before)
            if last | after == before:
                break
            before = last | after
        surely = isinstance(stmt, For) and bool(constant(stmt.extent))
        return after if surely else last | after


def _is_written_through(expr: Expr) -> bool:
    """Whether an address in shared memory is handed over that may be written through."""
    return is_for_writing(expr) and any(
        isinstance(node, (Load, Pointer)) and _is_shared(node.buffer.scope) for node in walk(expr)
    )


def _is_shared(scope: str) -> bool:
    return scope.startswith("shared") and scope != "shared.tmem"
