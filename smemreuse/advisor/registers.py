"""How many registers a thread will have, before ptxas has said it."""

from __future__ import annotations

from dataclasses import dataclass

from smemreuse.advisor.instructions import multiplication
from smemreuse.facts import KernelFacts, facts_of
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
    walk_statements,
)
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import effect_of, evaluated_call
from smemreuse.targets.architectures import WARP, most_registers
from smemreuse.versions import version_of

BESIDE = 32
"""Registers for addresses, counters and temporaries beside a thread's fragments."""
_LOCAL = "local"
_WIDTH = 4


@dataclass(frozen=True)
class Registers:
    """Registers of each thread: those its values take, those it launches with, and those that
    spill.
    """

    wanted: int
    launched: int
    spilled: int


def registers_of(kernel: Kernel, threads: int) -> Registers:
    """What is to be expected of ptxas, which keeps a block launchable.

    Where TileLang hands registers from the threads that load to those that compute, these have
    more than they were launched with.
    """
    wanted = live_registers(kernel)
    most = most_registers(threads)
    handed = version_of(kernel).register_pass.handed_over(kernel.body, threads)
    if handed is not None:
        return Registers(wanted, min(handed, most), spilled(kernel, wanted - max(handed, most)))
    return Registers(wanted, min(wanted, most), spilled(kernel, wanted - most))


def spilled(kernel: Kernel, missing: int) -> int:
    """Registers that are spilled if `missing` of them do not fit.

    A wgmma keeps its whole accumulator in registers. So whole accumulators are spilled, and one
    more to swap with.
    """
    if missing <= 0:
        return 0
    unit = max(1, facts_of(kernel).ask(_accumulator))
    return (-(-missing // unit) + (unit > 1)) * unit


def _accumulator(facts: KernelFacts) -> int:
    """Registers of the largest accumulator that one wgmma writes; 0 without one."""
    largest = 0
    for stmt in walk_statements(facts.kernel.body):
        call = evaluated_call(stmt)
        effect = effect_of(call) if call is not None else None
        if call is None or effect is None or effect.engine is not Engine.WGMMA:
            continue
        product = multiplication(call, effect.product) if effect.product else None
        if product is not None:
            largest = max(largest, product.m * product.n // (4 * WARP))
    return largest


def live_registers(kernel: Kernel) -> int:
    """The most registers (32 bits) that local buffers need at once, plus a constant for other
    values.

    A local is live from the first statement that names it to the last, which may reuse its
    registers for its result. A local that a loop carries is live to the end of the loop.
    """
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
    return BESIDE + most


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
