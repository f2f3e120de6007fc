"""Flattens the access tree into the linear sequence of `StmtEntry`."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

SCOPE_ATTRS = ("extern_scope", VIRTUAL_THREAD)


def linearize(kernel: Kernel, scope: str, policy: Attribution) -> Linearization:
    """The linear sequence of `kernel` as seen from the allocations of one storage scope."""
    return facts_of(kernel).ask(_linear_sequence, scope, policy)


def touches(accesses: Iterable[MemoryAccess]) -> Iterable[Touch]:
    """The touches that accesses amount to, in order (rule 1).

    As in the compilers' passes, a statement touches the buffers that it names. An access through an
    address kept in memory names none; proved policies account for those themselves.
    """
    return (Touch(one.buffer, one.access, one.node) for one in accesses if one.named)


def _linear_sequence(facts: KernelFacts, scope: str, policy: Attribution) -> Linearization:
    builder = _ByPolicy(facts, scope, policy)
    builder.block(facts.kernel.body)
    return Linearization(tuple(builder.entries), builder.alloc_level)


class Linearizer(ABC):
    """Walks a kernel, and makes an entry of each scope and of each leaf that touches something.

    `open` are the touches of the entries that are open, outermost first.
    """

    def __init__(self) -> None:
        self.entries: list[StmtEntry] = []
        self.alloc_level: dict[Buffer, int] = {}
        self.open: list[list[Touch]] = []
        self.in_launch = False

    @abstractmethod
    def statement(self, stmt: Stmt) -> None:
        """Makes the entries of one statement."""

    @abstractmethod
    def touch(self, stmt: Stmt) -> None:
        """Records what a statement itself touches, on entries that are open."""

    def block(self, block: Block) -> None:
        for stmt in block:
            self.statement(stmt)

    def launch(self, stmt: Attr) -> None:
        """The outermost thread axis, which alone is a scope."""
        self.in_launch = True
        self.new_scope(stmt)
        self.in_launch = False

    def leaf(self, stmt: Stmt) -> None:
        """Appends an entry for a statement without nested blocks, if it touches a buffer."""
        self.open.append([])
        self.touch(stmt)
        touched = self.open.pop()
        if touched:
            self.entries.append(StmtEntry(stmt, 0, tuple(touched)))

    def new_scope(self, stmt: Stmt) -> None:
        """Appends the begin entry of a scope, visits what is in the scope, and appends its end
        entry.
        """
        begin = len(self.entries)
        self.entries.append(StmtEntry(stmt, 0))  # the offset is known when the scope closes
        self.open.append([])
        self.touch(stmt)
        for block in nested_blocks(stmt):
            self.block(block)
        touched = tuple(self.open.pop())
        length = len(self.entries) - begin
        self.entries[begin] = StmtEntry(stmt, length)
        self.entries.append(StmtEntry(stmt, -length, touched))


class _ByPolicy(Linearizer):
    """Linearizes for one policy: every access counts (rule 1), on the entry that the
    policy names.
    """

    def __init__(self, facts: KernelFacts, scope: str, policy: Attribution):
        super().__init__()
        self._scope = scope
        self._policy = policy
        self._accesses = facts.accesses

    def statement(self, stmt: Stmt) -> None:
        """Appends the entries of a statement: allocations get a level, leaves and scopes get
        entries.
        """
        if isinstance(stmt, Allocate):
            if stmt.buffer.scope == self._scope:
                self.alloc_level[stmt.buffer] = len(self.open)
        elif isinstance(stmt, (Store, Evaluate)):
            self.leaf(stmt)
        elif isinstance(stmt, Bind):
            self._bind(stmt)
        elif isinstance(stmt, Attr):
            self._attr(stmt)
        elif isinstance(stmt, (For, While, If, Assert)):
            self.new_scope(stmt)

    def _bind(self, stmt: Bind) -> None:
        if self.open:
            self.touch(stmt)
        else:
            self.leaf(stmt)

    def _attr(self, stmt: Attr) -> None:
        """Makes a scope of the first thread axis and of scope attributes; other attributes only
        touch.
        """
        if stmt.key == THREAD_EXTENT and not self.in_launch:
            self.launch(stmt)
        elif stmt.key in SCOPE_ATTRS:
            self.new_scope(stmt)
        elif stmt.key == WARP_SPECIALIZATION:
            self._warp_specialization(stmt.body)
        else:
            if self.open:
                self.touch(stmt)
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
                self.statement(stmt)

    def touch(self, stmt: Stmt) -> None:
        for touch in touches(self._accesses[stmt]):
            level = self.alloc_level.get(touch.buffer)
            if level is not None:
                self.open[self._policy(level, len(self.open))].append(touch)
