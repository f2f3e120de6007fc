"""How many blocks of a kernel one SM holds, and what stops the next: the one place that answers."""

from __future__ import annotations

from collections.abc import Iterable

from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan
from smemreuse.results.residents import (
    BARRIERS,
    BLOCKS,
    REGISTERS,
    SHARED_MEMORY,
    THREADS,
    Registers,
    Residents,
)
from smemreuse.targets.architectures import (
    WARP,
    Architecture,
    architecture,
    architecture_for,
    most_by_registers,
    most_registers,
    threads_of,
)
from smemreuse.targets.barriers import barriers_of
from smemreuse.targets.blocks import BlockMemory, block_memory
from smemreuse.targets.registers import registers_of


def residents_of(
    kernel: Kernel,
    plans: Iterable[Plan],
    arch: Architecture | None = None,
    *,
    compiled: int | None = None,
    barriers: int | None = None,
    threads: int | None = None,
    by_registers: bool = True,
) -> Residents | None:
    """Blocks of a kernel under these plans on an SM, and what stops one more.

    None where a size or the number of threads is not known. `arch` is by default that of the
    kernel's target, `compiled` the registers of a thread and `barriers` those of a block as ptxas
    gave them, where it did; by default barriers are those that the kernel itself names.
    `threads` of a block are by default those of the kernel's launch. Without `by_registers` it is
    how many shared memory, threads and barriers alone allow.
    """
    on, assumed = architecture_for(kernel, arch)
    threads = threads or threads_of(kernel)
    memory = block_memory(kernel, plans)
    if memory.total is None or threads is None:
        return None
    registers = registers_of(kernel, compiled=compiled, threads=threads) if by_registers else None
    held = barriers_of(kernel) if barriers is None else barriers
    return _residents(on, assumed, memory, memory.total, threads, registers, held)


def blocks_of(
    kernel: Kernel,
    plans: Iterable[Plan],
    arch: Architecture | None = None,
    *,
    compiled: int | None = None,
    by_registers: bool = True,
) -> int | None:
    """As many blocks as `residents_of` says; 0 also where a block has no room, whatever else is not
    known of it."""
    plans = tuple(plans)
    found = residents_of(kernel, plans, arch, compiled=compiled, by_registers=by_registers)
    if found is not None:
        return found.blocks
    on, _ = architecture_for(kernel, arch)
    return 0 if block_memory(kernel, plans).fits(on) is False else None


def residents_with(
    kernel: Kernel, block_bytes: int, arch: Architecture, *, threads: int, compiled: int | None
) -> Residents:
    """As `residents_of`, for blocks that take so many bytes of shared memory."""
    memory = BlockMemory(0, block_bytes, 1)
    registers = registers_of(kernel, compiled=compiled, threads=threads)
    return _residents(arch, False, memory, block_bytes, threads, registers, barriers_of(kernel))


def blocks_with_fewer(found: Residents | None, saved: int) -> int | None:
    """The resident blocks where each takes `saved` bytes fewer, by shared memory, threads and
    barriers; None where the threads of a block are not known."""
    if found is None or found.threads is None:
        return None
    taken, on = max(0, found.block_bytes - saved), architecture(found.arch)
    return on.resident_blocks(taken, found.threads, barriers=found.barriers)


def l1_left(found: Residents, arch: Architecture) -> int:
    """Bytes of the unified cache that blocks leave for L1; 0 where none launches."""
    if not found.blocks:
        return 0
    registers = found.registers.count if found.registers else None
    return arch.l1_left(found.block_bytes, found.threads or WARP, registers, found.barriers)


def _residents(
    on: Architecture,
    assumed: bool,
    memory: BlockMemory,
    total: int,
    threads: int,
    registers: Registers | None,
    barriers: int,
) -> Residents:
    by_memory = memory.blocks(on, threads, barriers=barriers) or 0
    by_registers = most_by_registers(threads, registers.count) if registers else by_memory
    blocks = min(by_memory, by_registers)
    more = blocks + 1
    limits = []
    if memory.fits(on) is False or on.most_by_bytes(total) < more:
        limits.append(SHARED_MEMORY)
    if on.resident_blocks(0, threads) < more:
        limits.append(THREADS if more <= on.blocks else BLOCKS)
    if registers is not None and by_registers < more:
        limits.append(REGISTERS)
    if on.barriers is not None and on.barriers // max(barriers, 1) < more:
        limits.append(BARRIERS)
    most = on.largest_for(more) if more <= on.blocks else 0
    return Residents(
        on.name,
        assumed,
        blocks,
        by_memory,
        tuple(limits),
        total,
        most if most > 0 else None,
        threads,
        registers,
        barriers,
        (most_registers(threads, more) or None) if REGISTERS in limits else None,
    )
