"""Objective `occupancy`: the most resident blocks that can be had, with the least sharing.

Every shared pair costs barriers, and those stop the prefetch of the next tile; so bytes are only
shared where that lets the kernel fit or adds a resident block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from smemreuse.analysis.handovers import Handovers
from smemreuse.ir.kernel import Kernel
from smemreuse.planner import PACKERS, least_sharing
from smemreuse.planner.linear_scan import ARENA_ALIGNMENT
from smemreuse.policies.packing import Liveness
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Occupancy
from smemreuse.targets.architectures import (
    ARCHITECTURES,
    DEFAULT_ARCH,
    WARP,
    Architecture,
    target_architecture,
    threads_of,
)
from smemreuse.targets.blocks import block_memory


def resident_blocks(kernel: Kernel, plans: Iterable[Plan], arch: Architecture | None) -> int | None:
    """Blocks per SM, as far as shared memory and threads go; 0 for a kernel that cannot run.

    None if not known. `arch` is by default what the kernel's target says. A number of threads that
    is not known is taken for the smallest, under which shared memory alone sets the limit.
    """
    known = arch or target_architecture(kernel) or ARCHITECTURES[DEFAULT_ARCH]
    return block_memory(kernel, plans).blocks(known, threads_of(kernel) or WARP)


def with_least_sharing(kernel: Kernel, smallest: Plan, arch: Architecture | None) -> Plan:
    """The plan with the least sharing that keeps as many blocks on an SM as the smallest does."""
    known = arch or target_architecture(kernel)
    arch = known or ARCHITECTURES[DEFAULT_ARCH]
    blocks = resident_blocks(kernel, [smallest], arch)
    if blocks is None:
        return smallest  # nobody knows how many fit
    threads_known = threads_of(kernel) is not None
    reckoned = Occupancy(blocks, arch.name, known is None, threads_known)
    if not reckoned.fits:
        return smallest.with_provenance(occupancy=reckoned)
    found = Liveness.of_plan(smallest)
    constant = found.constant
    handovers = Handovers(kernel)
    placement = least_sharing(
        found.problem(),
        _room(kernel, smallest, arch.largest_for(blocks)),
        lambda one, other: handovers(constant[one], constant[other]),
        PACKERS["best"],  # the others know no conflicts but those of live ranges
    )
    return replace(
        smallest.with_provenance(occupancy=reckoned),
        offsets=dict(zip(constant, placement.offsets, strict=True)),
        arena_bytes=placement.arena,
        proved=False,
    )


def _room(kernel: Kernel, smallest: Plan, most: int) -> int:
    """Bytes that the arena may take in blocks of at most `most` bytes."""
    growth = block_memory(kernel, [smallest]).growth(smallest.scope, most)
    return (smallest.arena_rounded + growth) // ARENA_ALIGNMENT * ARENA_ALIGNMENT
