"""What a block takes of its SM under one plan, and how many one SM holds, as data."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan
from smemreuse.results.residents import Residents
from smemreuse.results.serialized import picked
from smemreuse.targets.architectures import Architecture, threads_of
from smemreuse.targets.blocks import block_memory


def by_memory(kernel: Kernel, plan: Plan, arch: Architecture) -> int | None:
    """Blocks that an SM holds by its shared memory and threads; 0: too large, None: unknown."""
    return block_memory(kernel, [plan]).blocks(arch, threads_of(kernel))


def fits(kernel: Kernel, plan: Plan, arch: Architecture) -> bool | None:
    """Whether a block under the plan has room; None if not known."""
    return block_memory(kernel, [plan]).fits(arch)


def beside(kernel: Kernel, plan: Plan) -> int | None:
    """Bytes that a block takes on top of the arena of a plan, padding included."""
    return block_memory(kernel, [replace(plan, arena_bytes=0, arena_expr=None)]).total


def residents_data(found: Residents | None) -> dict[str, object] | None:
    """Resident blocks, what stops one more, and what is known of it; None where they are not
    known."""
    if found is None:
        return None
    registers = found.registers
    return {
        **picked(found, "arch assumed blocks blocks_by_memory=by_memory block_bytes threads"),
        "registers": None if registers is None else registers.count,
        "registers_from": None if registers is None else registers.source.value,
        **picked(found, "stopped_by=limits most_bytes_for_one_more=most_bytes"),
        "bytes_over": found.bytes_over,
    }
