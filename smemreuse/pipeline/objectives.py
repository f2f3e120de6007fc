"""Objective `speed`: it fits, then the most resident blocks, then the most L1, then little sharing.

Shared memory is carved out of L1 in steps, and every shared pair costs barriers, which stop the
prefetch of the next tile. So bytes are shared as far as that lets the kernel fit, adds a resident
block or leaves a larger step to L1, and no further.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Standing:
    """What a plan leaves of an SM; more is better.

    `l1_left` are bytes that the carve-out leaves to L1.
    """

    blocks: int
    l1_left: int

    @classmethod
    def of(cls, plan: Plan, kernel: Kernel, arch: Architecture) -> Standing | None:
        """None where a size is symbolic."""
        memory, threads = block_memory(kernel, [plan]), threads_of(kernel) or WARP
        blocks = memory.blocks(arch, threads)
        if blocks is None or memory.total is None:
            return None
        return cls(blocks, arch.l1_left(memory.total, threads) if blocks else 0)


def reckoned(kernel: Kernel, plan: Plan, arch: Architecture | None) -> Plan:
    """The same plan, with what it leaves of an SM; as it is where nobody knows how many fit."""
    known = arch or target_architecture(kernel)
    on = known or ARCHITECTURES[DEFAULT_ARCH]
    standing = Standing.of(plan, kernel, on)
    if standing is None:
        return plan
    threads_known = threads_of(kernel) is not None
    found = Occupancy(standing.blocks, on.name, known is None, threads_known, standing.l1_left)
    return plan.with_provenance(occupancy=found)


def with_least_sharing(
    kernel: Kernel, smallest: Plan, arch: Architecture | None, most: int | None = None
) -> Plan:
    """The plan with the least sharing that stands as well as the smallest does.

    `most` are bytes beyond which the arena is not to grow.
    """
    smallest = reckoned(kernel, smallest, arch)
    found = smallest.provenance.occupancy
    if found is None or not found.fits:
        return smallest
    room = _room(kernel, smallest, ARCHITECTURES[found.arch])
    ranges = Liveness.of_plan(smallest)
    constant, dear = ranges.constant, Handovers(kernel)
    placement = least_sharing(
        ranges.problem(),
        room if most is None else max(smallest.arena_bytes, min(room, most)),
        lambda one, other: dear(constant[one], constant[other]),
        PACKERS["best"],  # the others know no conflicts but those of live ranges
    )
    return replace(
        smallest,
        offsets=dict(zip(constant, placement.offsets, strict=True)),
        arena_bytes=placement.arena,
        proved=False,
    )


def _room(kernel: Kernel, smallest: Plan, arch: Architecture) -> int:
    """Bytes that the arena may take in a block that stands as well as that of the smallest."""
    memory, threads = block_memory(kernel, [smallest]), threads_of(kernel) or WARP
    most = arch.largest_like(memory.total or 0, threads)
    growth = memory.growth(smallest.scope, most)
    return (smallest.arena_rounded + growth) // ARENA_ALIGNMENT * ARENA_ALIGNMENT
