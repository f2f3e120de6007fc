"""How many registers a thread will have, before ptxas has said it."""

from __future__ import annotations

from smemreuse.facts import facts_of
from smemreuse.ir.expr import Load, Pointer
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    Kernel,
    Stmt,
    Store,
    nested_blocks,
    nodes_of,
)
from smemreuse.targets.architectures import MOST_REGISTERS, REGISTERS

BESIDE = 32
"""Registers for addresses, counters and temporaries beside a thread's fragments."""
_LOCAL = "local"
_WIDTH = 4


def estimated_registers(kernel: Kernel) -> int:
    """The most fragments that are live at once, in 32-bit registers, and some beside them.

    A local is live from the first statement that names it to the last; round a loop that it is
    carried through, to the loop's end. What ptxas shares, splits or spills is not known here; it
    gives no thread more than an SM's registers divided by the threads of the block, and no less
    than it needs.
    """
    facts_of(kernel)
    spans = _Spans()
    spans.block(kernel.body)
    events: dict[int, int] = {}
    for buffer, (begin, end) in spans.found.items():
        size = -(-(buffer.size or 0) // _WIDTH)
        events[begin] = events.get(begin, 0) + size
        events[end + 1] = events.get(end + 1, 0) - size
    live = most = 0
    for at in sorted(events):
        live += events[at]
        most = max(most, live)
    return BESIDE + most


def granted_registers(wanted: int, threads: int) -> int:
    """What a thread gets of those: ptxas keeps a block launchable, in steps of 8."""
    return min(wanted, MOST_REGISTERS, REGISTERS // max(threads, 1) // 8 * 8)


class _Spans:
    def __init__(self) -> None:
        self.found: dict[Buffer, tuple[int, int]] = {}
        self._at = 0

    def block(self, block: Block) -> None:
        for stmt in block:
            self._at += 1
            self._touch(stmt)
            begin, known = self._at, dict(self.found)
            for inner in nested_blocks(stmt):
                self.block(inner)
            if isinstance(stmt, For) and stmt.kind == "serial":
                self._carry(begin, known)

    def _touch(self, stmt: Stmt) -> None:
        buffers = {node.buffer for node in nodes_of(stmt) if isinstance(node, (Load, Pointer))}
        if isinstance(stmt, Store):
            buffers.add(stmt.buffer)
        for buffer in buffers:
            storage = buffer.storage
            if isinstance(storage, Buffer) and storage.scope == _LOCAL:
                begin, _ = self.found.get(storage, (self._at, self._at))
                self.found[storage] = (begin, self._at)

    def _carry(self, begin: int, known: dict[Buffer, tuple[int, int]]) -> None:
        """What was there before a loop, and is used in it, lives as long as the loop."""
        for buffer, (first, last) in self.found.items():
            if buffer in known and last > begin:
                self.found[buffer] = (first, self._at)
