"""What a block takes of its SM under one plan, as data."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture, threads_of
from smemreuse.targets.blocks import block_memory


def blocks_per_sm(kernel: Kernel, plan: Plan, arch: Architecture) -> int | None:
    """Blocks that an SM holds by its shared memory and threads; 0: too large, None: unknown."""
    return block_memory(kernel, [plan]).blocks(arch, threads_of(kernel))


def fits(kernel: Kernel, plan: Plan, arch: Architecture) -> bool | None:
    """Whether a block under the plan has room; None if not known."""
    return block_memory(kernel, [plan]).fits(arch)


def beside(kernel: Kernel, plan: Plan) -> int | None:
    """Bytes that a block takes on top of the arena of a plan, padding included."""
    return block_memory(kernel, [replace(plan, arena_bytes=0, arena_expr=None)]).total
