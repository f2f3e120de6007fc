"""Where a plan needs barriers that the kernel does not have (rule 6).

Two buffers that share bytes are kept apart in time only by the block's threads meeting in between.
The walk carries the buffers accessed since the last barrier, as Triton's `Membar` does with its
intervals, and asks for one before a statement that touches bytes of another buffer among them;
loops are walked until nothing is added, so that the way round counts. Only statements that all
threads of the block reach together can have a barrier before them.

A copy in flight is accessed once more by every wait, since it may have landed as late as that.
Whether a kernel with its barriers is sound is for the checker to say, not for this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from smemreuse.analysis.divergence import ThreadFlow
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    While,
    nested_blocks,
    rounds_of,
    walk_statements,
)
from smemreuse.semantics.accesses import accesses_of
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.pointers import find_pointers
from smemreuse.semantics.table import BLOCK_BARRIER, is_block_barrier, leaves, returns, waits

BARRIER = BLOCK_BARRIER
_Buffers = frozenset[Buffer]


def barriers_needed(kernel: Kernel, offsets: Mapping[Buffer, int]) -> set[Stmt]:
    """Statements of `kernel` before which all threads must meet for this plan (bytes) to hold.

    None are found for a kernel whose threads may return early: a barrier could wait for ever.
    """
    if returns(kernel.body):
        return set()
    walker = _Walker(kernel, _partners(offsets))
    walker.block(kernel.body, frozenset())
    return walker.needed


def with_barriers(block: Block, before: Iterable[Stmt]) -> Block:
    """The statements with a barrier before each of those given."""
    wanted = set(before)
    result: list[Stmt] = []
    for stmt in block:
        if stmt in wanted:
            result.append(Evaluate(BARRIER))
        if isinstance(stmt, If):
            then, orelse = (with_barriers(inner, wanted) for inner in nested_blocks(stmt))
            stmt = replace(stmt, then=then, orelse=orelse)
        elif isinstance(stmt, (For, While, Attr, Assert)):
            stmt = replace(stmt, body=with_barriers(stmt.body, wanted))
        result.append(stmt)
    return tuple(result)


def _partners(offsets: Mapping[Buffer, int]) -> dict[Buffer, _Buffers]:
    """For each buffer those whose bytes in the arena overlap with its own."""

    def share(one: Buffer, other: Buffer) -> bool:
        begin = max(offsets[one], offsets[other])
        return begin < min(offsets[one] + (one.size or 0), offsets[other] + (other.size or 0))

    return {
        one: frozenset(other for other in offsets if other is not one and share(one, other))
        for one in offsets
    }


class _Walker:
    def __init__(self, kernel: Kernel, partners: Mapping[Buffer, _Buffers]):
        self.needed: set[Stmt] = set()
        self._partners = {buffer: others for buffer, others in partners.items() if others}
        self._flow = ThreadFlow(kernel.body)
        self._touched: dict[Stmt, _Buffers] = {}
        self._exposed: dict[Stmt, tuple[_Buffers, bool]] = {}
        pointers = find_pointers(kernel.body)
        in_flight = set()
        for stmt in walk_statements(kernel.body):
            accesses = [one for one in accesses_of(stmt, pointers) if one.buffer in self._partners]
            self._touched[stmt] = frozenset(access.buffer for access in accesses)
            in_flight |= {one.buffer for one in accesses if one.engine is not Engine.THREAD}
        self._in_flight = frozenset(in_flight)

    def block(self, block: Block, pending: _Buffers) -> _Buffers:
        """The buffers accessed since the last barrier, behind a block entered with `pending`."""
        for stmt in block:
            pending = self._statement(stmt, pending)
        return pending

    def _statement(self, stmt: Stmt, pending: _Buffers) -> _Buffers:
        if is_block_barrier(stmt):
            return frozenset()
        exposed, _ = self._exposure(stmt)
        if stmt in self.needed or self._collide(pending, exposed):
            self.needed.add(stmt)
            pending = frozenset()
        pending |= self._touched[stmt]
        if self._is_opaque(stmt):
            return pending | exposed
        if waits(stmt):
            return pending | self._in_flight
        if isinstance(stmt, If):
            return self.block(stmt.then, pending) | self.block(stmt.orelse, pending)
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, pending)
        for inner in nested_blocks(stmt):
            pending = self.block(inner, pending)
        return pending

    def _loop(self, stmt: For | While, pending: _Buffers) -> _Buffers:
        """Round and round, until neither barriers nor pending accesses are added."""
        around = pending
        while True:
            known = len(self.needed)
            after = self.block(stmt.body, around)
            if after <= around and known == len(self.needed):
                return pending | after
            around |= after

    def _collide(self, pending: _Buffers, touched: _Buffers) -> bool:
        return any(self._partners[buffer] & pending for buffer in touched)

    def _exposure(self, stmt: Stmt) -> tuple[_Buffers, bool]:
        """What a statement touches before its first barrier, and whether it surely has one."""
        known = self._exposed.get(stmt)
        if known is None:
            known = self._exposed[stmt] = self._find_exposure(stmt)
        return known

    def _find_exposure(self, stmt: Stmt) -> tuple[_Buffers, bool]:
        if is_block_barrier(stmt):
            return frozenset(), True
        if self._is_opaque(stmt):
            inside = walk_statements((stmt,))
            return frozenset().union(*(self._touched[one] for one in inside)), False
        exposed, met = self._touched[stmt], []
        for inner in nested_blocks(stmt):
            meets = False
            for one in inner:
                more, meets = self._exposure(one)
                exposed |= more
                if meets:
                    break
            met.append(meets)
        runs = isinstance(stmt, (If, Attr, Assert))  # a loop may have no iteration
        return exposed, runs and bool(met) and all(met)

    def _is_opaque(self, stmt: Stmt) -> bool:
        """Whether a statement has parts that some threads may reach without the others."""
        if isinstance(stmt, If):
            return self._flow.is_divergent(stmt) or leaves(stmt)
        if isinstance(stmt, For):
            return self._flow.depends_on_thread(rounds_of(stmt)) or leaves(stmt)
        return isinstance(stmt, While)
