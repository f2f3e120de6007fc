"""How many registers each thread of a block has: the one place that answers.

ptxas decides it. Before it has, two things are known: what warp groups hand over, which fixes the
number, and what ptxas may give at most for a block to launch, beyond which it spills. Between them
is an estimate, of the local arrays that are live at once. Held against 180 kernels that nvcc
compiled for sm_90a, fixtures and TileLang's examples, it gives as many resident blocks as ptxas for
106, fewer for 19, and more for 55: of many of those nvcc has unrolled loops.
"""

from __future__ import annotations

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
from smemreuse.ir.launch import least_blocks
from smemreuse.results.residents import Registers, RegisterSource
from smemreuse.targets.architectures import most_registers, threads_of
from smemreuse.versions import version_of

BESIDE = 32
"""Registers for addresses, counters and temporaries beside a thread's fragments."""
BESIDE_FEW = 24
FEW = 24
"""The same beside so few registers of locals, which are no fragments of a matrix."""
_LOCAL = "local"
_WIDTH = 4


def registers_of(
    kernel: Kernel, *, compiled: int | None = None, threads: int | None = None
) -> Registers | None:
    """Registers of each thread at launch; None where the number of threads is not known.

    `compiled` is what ptxas gave, where the kernel has been compiled. `threads` of a block are by
    default those of the kernel's launch. An estimate never is more than lets a block launch.
    """
    if compiled is not None:
        return Registers(compiled, RegisterSource.PTXAS)
    threads = threads or threads_of(kernel)
    if threads is None:
        return None
    most = most_registers(threads, least_blocks(kernel.body))
    handed = handed_over(kernel, threads)
    if handed is not None:
        return Registers(min(handed, most), RegisterSource.HAND_OVER)
    return Registers(min(live_registers(kernel), most), RegisterSource.ESTIMATE)


def handed_over(kernel: Kernel, threads: int) -> int | None:
    """The most registers that a thread has once warp groups have handed them over; None where they
    do not."""
    register_pass = version_of(kernel).register_pass
    return kernel.memo.once(
        handed_over, lambda: register_pass.handed_over(kernel.body, threads), threads
    )


def live_registers(kernel: Kernel) -> int:
    """The most registers (32 bits) that local buffers need at once, plus a number for other
    values.

    A local is live from the first statement that names it to the last, which may reuse its
    registers for its result. A local that a loop carries is live to the end of the loop.
    """
    return kernel.memo.once(live_registers, lambda: _with_others(_most_live(kernel)))


def _with_others(live: int) -> int:
    return live + (BESIDE_FEW if live <= FEW else BESIDE)


def _most_live(kernel: Kernel) -> int:
    spans = _Spans()
    spans.block(kernel.body)
    events: dict[int, int] = {}
    for buffer, (begin, end) in spans.found.items():
        size = -(-(buffer.size or 0) // _WIDTH)
        events[begin] = events.get(begin, 0) + size
        events[end] = events.get(end, 0) - size
    live = most = 0
    for at in sorted(events):
        live += events[at]
        most = max(most, live)
    return most


class _Spans:
    """The live span of each local buffer, as positions of its first and last use in
    program order.
    """

    def __init__(self) -> None:
        self.found: dict[Buffer, tuple[int, int]] = {}
        self._at = 0

    def block(self, block: Block) -> None:
        """Numbers the statements of a block; a serial loop extends the spans of what it carries."""
        for stmt in block:
            self._at += 1
            self._touch(stmt)
            begin, known = self._at, dict(self.found)
            for inner in nested_blocks(stmt):
                self.block(inner)
            if isinstance(stmt, For) and stmt.kind == "serial":
                self._carry(begin, known)

    def _touch(self, stmt: Stmt) -> None:
        """Extends the spans of the local buffers that a statement names."""
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
