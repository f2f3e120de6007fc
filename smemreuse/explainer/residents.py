"""How many blocks of a kernel an SM holds under one plan, and what stops the next."""

from __future__ import annotations

from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.objectives import registers_at_launch
from smemreuse.results.headroom import SHARED_MEMORY, Residents
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import (
    Architecture,
    architecture_for,
    most_by_registers,
    threads_of,
)
from smemreuse.targets.blocks import block_memory


def residents_of(
    kernel: Kernel, plan: Plan, arch: Architecture | None, *, with_registers: bool = True
) -> Residents | None:
    """Blocks on an SM, and what stops one more; None where a size or a number of threads is not
    known."""
    on, assumed = architecture_for(kernel, arch)
    memory, threads = block_memory(kernel, [plan]), threads_of(kernel)
    if memory.total is None or threads is None:
        return None
    registers = facts_of(kernel).ask(registers_at_launch) if with_registers else None
    blocks = memory.blocks(on, threads, registers) or 0
    more = blocks + 1
    limits = []
    if memory.fits(on) is False or on.most_by_bytes(memory.total) < more:
        limits.append(SHARED_MEMORY)
    if on.resident_blocks(0, threads) < more:
        limits.append("threads" if more <= on.blocks else "blocks of an SM")
    if registers is not None and most_by_registers(threads, registers) < more:
        limits.append("registers")
    most = on.largest_for(more) if more <= on.blocks else None
    return Residents(
        on.name,
        assumed,
        blocks,
        tuple(limits),
        memory.total,
        most if most and most > 0 else None,
        threads,
        registers,
    )
