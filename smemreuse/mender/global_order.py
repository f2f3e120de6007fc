"""The order of accesses to global memory, which lint does not follow, and barriers needed for it.

A buffer that is both read and written keeps them all, and so does one that both threads and TMA
write. Of one that is only written a barrier stays if writes may come both before and after it, with
no other barrier of the block between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from smemreuse.checker.operations import operations_of
from smemreuse.ir.expr import Call, Load, Pointer, Var
from smemreuse.ir.kernel import (
    Bind,
    Block,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from smemreuse.ir.types import integer_type
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.global_memory import overlapping
from smemreuse.semantics.pointers import escaping
from smemreuse.semantics.table import calls_of, effect_of, is_block_barrier

_DESCRIPTOR = re.compile(r"_desc(_\d+)?$")
_NONE: frozenset[str] = frozenset()

Names = frozenset[str]


class GlobalOrder:
    """Which buffers in global memory a kernel reads and writes, by name, and where it writes."""

    def __init__(self, kernel: Kernel):
        operations = operations_of(kernel)
        self._may_overlap = overlapping(kernel.attrs)
        statements = [*walk_statements(kernel.body)]
        changing = {one for one in operations.written | operations.escaped if _is_global(one)}
        bound = {one.var for one in statements if isinstance(one, Bind)}
        self._written = {self._name(one) for one in changing}
        self._body = kernel.body
        self._one_name = not changing.isdisjoint(bound)
        """Whether it writes through pointers of which it is not told here where they point."""
        self._handles = {storage for stmt in statements for storage in _handles_in(stmt)}
        self._reads = {name for stmt in statements for name in self._read_by(stmt)}
        self._by_tma = _NONE.union(*map(self._stored_by_tma, statements))
        self._by_threads = _NONE.union(*map(self._by_threads_at, statements))

    @property
    def handed_on(self) -> str:
        """A buffer that is both read and written; empty where there is none. What a call has the
        address of it may read; what it may write is known of all others."""
        return min((self._written | self._by_tma) & self._reads, default="")

    @property
    def written_twice(self) -> str:
        """A buffer that both threads and TMA write; empty where there is none."""
        return min(self._by_tma & self._by_threads, default="")

    def needs(self, barrier: Stmt, gone: Set[Stmt]) -> bool:
        """Whether a barrier may be all that orders two writes to a buffer; others are `gone`."""
        before, after = (self._met(barrier, gone, back) for back in (False, True))
        return not before.isdisjoint(after)

    def _met(self, barrier: Stmt, gone: Set[Stmt], back: bool) -> Names:
        walk = _WritesAround(self, barrier, gone, back)
        walk.block(self._body, _NONE)
        return walk.met

    def written_at(self, stmt: Stmt) -> Names:
        """What a statement itself may write; one name for all where it is not known what is
        which."""
        found = self._by_threads_at(stmt) | self._stored_by_tma(stmt)
        return frozenset({""}) if found and self._one_name else found

    def _by_threads_at(self, stmt: Stmt) -> Names:
        found: set[str] = set()
        if isinstance(stmt, Store) and stmt.buffer.scope == "global":
            found.add(self._name(stmt.buffer.storage))
        if isinstance(stmt, Evaluate):
            found |= {self._name(one) for one in escaping(stmt)} & self._written
            for call in calls_of(stmt):
                effect = effect_of(call)
                by_tma = effect.engine in (Engine.TMA_LOAD, Engine.TMA_STORE)
                if effect.hands_on and not by_tma:
                    found |= set(self._tensors(call)) & self._written
        return frozenset(found)

    def _read_by(self, stmt: Stmt) -> Iterator[str]:
        for node in nodes_of(stmt):
            if isinstance(node, (Load, Pointer)) and node.buffer.scope == "global":
                yield self._name(node.buffer.storage)
        for call in calls_of(stmt):
            if effect_of(call).engine is Engine.TMA_LOAD:
                yield from self._tensors(call)

    def _stored_by_tma(self, stmt: Stmt) -> Names:
        stores = [one for one in calls_of(stmt) if effect_of(one).engine is Engine.TMA_STORE]
        return frozenset(name for one in stores for name in self._tensors(one))

    def _name(self, storage: Buffer | Var) -> str:
        """The name of memory, the same for a tensor and for the descriptor of it, and for all that
        may overlap."""
        name = _DESCRIPTOR.sub("", storage.name)
        return " or ".join(sorted(self._may_overlap)) if name in self._may_overlap else name

    def _tensors(self, call: Call) -> Iterator[str]:
        """The tensors and descriptors that an operation is handed; a handle may have the type of
        its elements."""
        for one in call.args:
            if isinstance(one, Var) and (one in self._handles or not integer_type(one.dtype)):
                yield self._name(one)


class _WritesAround:
    """Finds what may have been written since the last barrier of the block where `barrier` stands
    (`met`); backwards, what may be written until the next one."""

    def __init__(self, order: GlobalOrder, barrier: Stmt, gone: Set[Stmt], back: bool):
        self._order, self._back = order, back
        self._barrier, self._gone = barrier, gone
        self.met = _NONE

    def block(self, block: Block, written: Names) -> Names:
        for stmt in reversed(block) if self._back else block:
            written = self._statement(stmt, written)
        return written

    def _statement(self, stmt: Stmt, written: Names) -> Names:
        if stmt is self._barrier:
            self.met |= written
        elif is_block_barrier(stmt) and stmt not in self._gone:
            return _NONE
        elif isinstance(stmt, (For, While)):
            return self._rounds(stmt.body, written)
        elif isinstance(stmt, If):
            return self._arms(stmt, written)
        for inner in nested_blocks(stmt):
            written = self.block(inner, written)
        return written | self._order.written_at(stmt)

    def _rounds(self, body: Block, written: Names) -> Names:
        """It may have no round at all."""
        while True:
            found = written | self.block(body, written)
            if found == written:
                return written
            written = found

    def _arms(self, stmt: If, written: Names) -> Names:
        """Other threads may be in the other arm at the same time."""
        then, orelse = map(self._all_of, (stmt.then, stmt.orelse))
        return self.block(stmt.then, written | orelse) | self.block(stmt.orelse, written | then)

    def _all_of(self, block: Block) -> Names:
        return _NONE.union(*map(self._order.written_at, walk_statements(block)))


def _handles_in(stmt: Stmt) -> Iterator[Buffer | Var]:
    """The global memory that a statement names as buffers."""
    named = [stmt.buffer] if isinstance(stmt, (Declare, Store)) else []
    named += [node.buffer for node in nodes_of(stmt) if isinstance(node, (Load, Pointer))]
    yield from (one.storage for one in named if one.scope == "global")


def _is_global(storage: Buffer | Var) -> bool:
    return isinstance(storage, Var) or storage.scope == "global"
