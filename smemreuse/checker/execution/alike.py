"""Branches of which both arms store to the same place: `if row < n: t[i] = a[i]`, `else: t[i] = 0`.

Whichever arm a thread takes, it writes the same bytes, and nothing else is done there. So the two
arms may be executed one after the other, as writes that may not happen: what is known then is what
would be known of either, joined.

A loop of such branches, or of stores, fills its buffers: where each thread writes bytes of its own
in each iteration, and all that was done to the buffers before is over, nothing relates one
iteration to another, and all may be executed at once.
"""

from __future__ import annotations

from collections.abc import Set

from smemreuse.checker.execution.leaves import Leaves
from smemreuse.checker.slice import ProgramSlice
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Block, For, If, Stmt, Store
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine

Writes = tuple[MemoryAccess, MemoryAccess]


class StoresAlike:
    """Finds what may be such branches: arms that write to one buffer, and do nothing else.

    `fenced` are statements before which a later pass puts a fence.
    """

    def __init__(self, program_slice: ProgramSlice, leaves: Leaves, fenced: Set[Stmt]):
        self._slice, self._leaves, self._fenced = program_slice, leaves, fenced
        self._known: dict[If, Writes | None] = {}
        self._fills: dict[For, tuple[Writes, ...]] = {}

    def __call__(self, stmt: If) -> Writes | None:
        """The write that either arm is, of the same kind; None if they are anything else."""
        if stmt not in self._known:
            one, two = (self._write(block) for block in (stmt.then, stmt.orelse))
            both = None if one is None or two is None else (one, two)
            self._known[stmt] = both if both is not None and _are_alike(*both) else None
        return self._known[stmt]

    def in_loop(self, loop: For) -> tuple[Writes, ...]:
        """What the statements of a loop write, each to another buffer and nothing else: a branch in
        both of its arms, a store once; none if the loop does anything else."""
        if loop not in self._fills:
            writes = tuple(found for stmt in loop.body if (found := self._of(stmt)) is not None)
            buffers = {one.buffer for one, _ in writes}
            is_fill = len(buffers) == len(writes) == len(loop.body)
            is_fill = is_fill and not self._slice.synchronizes(loop.body)
            self._fills[loop] = writes if is_fill else ()
        return self._fills[loop]

    def _of(self, stmt: Stmt) -> Writes | None:
        if isinstance(stmt, If):
            is_plain = not self._slice.accesses.get(stmt) and stmt not in self._fenced
            return self(stmt) if is_plain else None
        write = self._write((stmt,))
        return None if write is None else (write, write)

    def _write(self, block: Block) -> MemoryAccess | None:
        """The only thing that a block does: a plain write to shared memory."""
        if len(block) != 1 or not isinstance(block[0], Store) or block[0] in self._fenced:
            return None
        leaf, accesses = self._leaves(block[0]), self._slice.accesses.get(block[0], ())
        if leaf is None or leaf.sets or leaf.orders or leaf.around or len(accesses) != 1:
            return None
        (write,) = accesses
        is_plain = write.access is Access.WRITE and write.engine is Engine.THREAD
        is_known = write.certain and not write.uncovered and write.descriptor is None
        return write if is_plain and is_known and write.footprint.start is not None else None


def _are_alike(one: MemoryAccess, two: MemoryAccess) -> bool:
    return one.buffer is two.buffer and (
        one.proxy,
        one.by_warp,
        one.atomic,
        one.signals,
        one.lanes,
    ) == (two.proxy, two.by_warp, two.atomic, two.signals, two.lanes)
