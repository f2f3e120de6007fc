"""Flattens the access tree into the linear sequence of `StmtEntry`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
    nested_blocks,
)
from smemreuse.results.sequence import Linearization, StmtEntry, Touch
from smemreuse.semantics.accesses import MemoryAccess

Attribution = Callable[[int, int], int]
"""A policy: `(level of the allocation, number of open entries) -> level of the entry touched`.

Level 0 is the outermost open entry. An allocation made while `n` entries are open has level `n`,
the level of the first entry opened after it.
"""

_SCOPE_ATTRS = ("extern_scope", VIRTUAL_THREAD)


def linearize(kernel: Kernel, scope: str, policy: Attribution) -> Linearization:
    """The linear sequence of `kernel` as seen from the allocations of one storage scope."""
    return facts_of(kernel).ask(_linear_sequence, scope, policy)


def touches(accesses: Iterable[MemoryAccess]) -> Iterable[Touch]:
    """What accesses touch, in their order (rule 1).

    A touch is a mention, as in the passes of the compilers: what goes to a buffer by an address
    that was kept in memory mentions none. Policies that are proved reckon with that themselves.
    """
    return (Touch(one.buffer, one.access, one.node) for one in accesses if one.named)


def _linear_sequence(facts: KernelFacts, scope: str, policy: Attribution) -> Linearization:
    builder = _Linearizer(facts, scope, policy)
    builder.block(facts.kernel.body)
    return Linearization(tuple(builder.entries), builder.alloc_level)


class _Linearizer:
    def __init__(self, facts: KernelFacts, scope: str, policy: Attribution):
        self.entries: list[StmtEntry] = []
        self.alloc_level: dict[Buffer, int] = {}
        self._open: list[list[Touch]] = []
        self._scope = scope
        self._policy = policy
        self._accesses = facts.accesses
        self._in_thread_extent = False

    def block(self, block: Block) -> None:
        for stmt in block:
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Allocate):
            if stmt.buffer.scope == self._scope:
                self.alloc_level[stmt.buffer] = len(self._open)
        elif isinstance(stmt, (Store, Evaluate)):
            self._leaf(stmt)
        elif isinstance(stmt, Bind):
            self._bind(stmt)
        elif isinstance(stmt, Attr):
            self._attr(stmt)
        elif isinstance(stmt, (For, While, If, Assert)):
            self._new_scope(stmt)

    def _bind(self, stmt: Bind) -> None:
        if self._open:
            self._touch(stmt)
        else:
            self._leaf(stmt)

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
                self._touch(stmt)
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

    def _leaf(self, stmt: Stmt) -> None:
        self._open.append([])
        self._touch(stmt)
        touched = self._open.pop()
        if touched:
            self.entries.append(StmtEntry(stmt, 0, tuple(touched)))

    def _new_scope(self, stmt: Stmt) -> None:
        begin = len(self.entries)
        self.entries.append(StmtEntry(stmt, 0))  # the offset is known when the scope closes
        self._open.append([])
        self._touch(stmt)
        for block in nested_blocks(stmt):
            self.block(block)
        touched = tuple(self._open.pop())
        length = len(self.entries) - begin
        self.entries[begin] = StmtEntry(stmt, length)
        self.entries.append(StmtEntry(stmt, -length, touched))

    def _touch(self, stmt: Stmt) -> None:
        for touch in touches(self._accesses[stmt]):
            level = self.alloc_level.get(touch.buffer)
            if level is not None:
                self._open[self._policy(level, len(self._open))].append(touch)
