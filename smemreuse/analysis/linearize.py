"""Flattens the access tree into the linear sequence of `StmtEntry`."""

from __future__ import annotations

from collections.abc import Iterable

from smemreuse.analysis.touches import (
    find_aliases,
    touches_of,
    touches_of_bind,
    touches_of_store,
)
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    WARP_SPECIALIZATION,
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    expressions_of,
    nested_blocks,
)
from smemreuse.policies.attribution import Policy
from smemreuse.results.sequence import Linearization, StmtEntry, Touch

_SCOPE_ATTRS = ("extern_scope", VIRTUAL_THREAD)


def linearize(kernel: Kernel, scope: str, policy: Policy) -> Linearization:
    """The linear sequence of `kernel` as seen from the allocations of one storage scope."""
    return facts_of(kernel).ask(linear_sequence, scope, policy)


def linear_sequence(facts: KernelFacts, scope: str, policy: Policy) -> Linearization:
    """As `linearize`, worked out anew."""
    builder = _Linearizer(facts.kernel, scope, policy)
    builder.block(facts.kernel.body)
    return Linearization(tuple(builder.entries), builder.alloc_level)


class _Linearizer:
    def __init__(self, kernel: Kernel, scope: str, policy: Policy):
        self.entries: list[StmtEntry] = []
        self.alloc_level: dict[Buffer, int] = {}
        self._open: list[list[Touch]] = []
        self._scope = scope
        self._policy = policy
        self._aliases = find_aliases(kernel.body)
        self._in_thread_extent = False

    def block(self, block: Block) -> None:
        for stmt in block:
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Allocate):
            if stmt.buffer.scope == self._scope:
                self.alloc_level[stmt.buffer] = len(self._open)
        elif isinstance(stmt, Store):
            self._leaf(stmt, touches_of_store(stmt, self._aliases))
        elif isinstance(stmt, Evaluate):
            self._leaf(stmt, touches_of(stmt.value, self._aliases))
        elif isinstance(stmt, Bind):
            self._bind(stmt)
        elif isinstance(stmt, Attr):
            self._attr(stmt)
        elif isinstance(stmt, (For, While, If, Assert)):
            self._new_scope(stmt)

    def _bind(self, stmt: Bind) -> None:
        touches = touches_of_bind(stmt, self._aliases)
        if self._open:
            self._touch(touches)
        else:
            self._leaf(stmt, touches)

    def _attr(self, stmt: Attr) -> None:
        if stmt.key == THREAD_EXTENT and not self._in_thread_extent:
            self._in_thread_extent = True  # only the outermost thread axis is a scope
            self._new_scope(stmt)
            self._in_thread_extent = False
        elif stmt.key in _SCOPE_ATTRS:
            self._new_scope(stmt)
        elif stmt.key == WARP_SPECIALIZATION:
            self._warp_specialization(stmt.body)
        else:
            if self._open:
                self._touch(touches_of(stmt.value, self._aliases))
            self.block(stmt.body)

    def _warp_specialization(self, block: Block) -> None:
        """TileLang's pass visits the arms one after the other, without a scope for the branch.

        That is what makes `outer` see the producer's loop and the consumer's as two statements.
        It holds them to be ordered as in the text, which rule 4 does not.
        """
        for stmt in block:
            if isinstance(stmt, If):
                self.block(stmt.then)
                self.block(stmt.orelse)
            elif isinstance(stmt, Attr):
                self._warp_specialization(stmt.body)
            else:
                self._statement(stmt)

    def _leaf(self, stmt: Stmt, touches: Iterable[Touch]) -> None:
        self._open.append([])
        self._touch(touches)
        touched = self._open.pop()
        if touched:
            self.entries.append(StmtEntry(stmt, 0, tuple(touched)))

    def _new_scope(self, stmt: Stmt) -> None:
        begin = len(self.entries)
        self.entries.append(StmtEntry(stmt, 0))  # the offset is known when the scope closes
        self._open.append([])
        for expr in expressions_of(stmt):
            self._touch(touches_of(expr, self._aliases))
        for block in nested_blocks(stmt):
            self.block(block)
        touched = tuple(self._open.pop())
        length = len(self.entries) - begin
        self.entries[begin] = StmtEntry(stmt, length)
        self.entries.append(StmtEntry(stmt, -length, touched))

    def _touch(self, touches: Iterable[Touch]) -> None:
        for touch in touches:
            level = self.alloc_level.get(touch.buffer)
            if level is not None:
                self._open[self._policy(level, len(self._open))].append(touch)
