"""What shared memory and threads allow of resident blocks, by compute capability.

Numbers of the CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
Capability"; since capability 8.0 the driver keeps 1 KB of shared memory for each block (guide,
section on shared memory of 8.x), and both round a block's demand up to 128 bytes (256 before).
`scripts/check_occupancy.py` holds `resident_blocks` against
`cudaOccupancyMaxActiveBlocksPerMultiprocessor` on the card at hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.errors import PlanError
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Kernel
from smemreuse.ir.launch import AXES, launches, tag_of

_KB = 1024
WARP = 32


@dataclass(frozen=True)
class Architecture:
    """The limits of one compute capability; shared memory in bytes.

    `per_block` is the most that a block may ask for, opting in; `reserved` is what the driver adds.
    """

    name: str
    per_sm: int
    per_block: int
    threads: int
    blocks: int
    reserved: int = _KB
    granularity: int = 128

    def resident_blocks(self, shared_bytes: int, threads: int) -> int:
        """Blocks of so many bytes and threads that one SM holds; 0 where one does not launch.

        Registers, which nobody knows before the kernel is compiled, may allow fewer.
        """
        if shared_bytes > self.per_block or not 0 < threads <= 1024:
            return 0
        # A warp is held as a whole.
        by_threads = self.threads // (-(-threads // WARP) * WARP)
        return min(self.blocks, by_threads, self.most_by_bytes(shared_bytes))

    def most_by_bytes(self, shared_bytes: int) -> int:
        """Blocks of so many bytes that fit into an SM's shared memory."""
        taken = -(-(shared_bytes + self.reserved) // self.granularity) * self.granularity
        return self.per_sm // taken if taken else self.blocks

    def largest_for(self, blocks: int) -> int:
        """The most bytes that each of so many resident blocks can have."""
        share = self.per_sm // blocks // self.granularity * self.granularity
        return min(self.per_block, share - self.reserved)


def _old(name: str, per_sm: int, threads: int, blocks: int) -> Architecture:
    """Before capability 8.0: nothing reserved."""
    return Architecture(name, per_sm * _KB, per_sm * _KB, threads, blocks, 0, 256)


def _new(name: str, per_sm: int, threads: int, blocks: int) -> Architecture:
    return Architecture(name, per_sm * _KB, (per_sm - 1) * _KB, threads, blocks)


ARCHITECTURES: Mapping[str, Architecture] = {
    one.name: one
    for one in (
        _old("sm_70", 96, 2048, 32),
        _old("sm_72", 96, 2048, 32),
        _old("sm_75", 64, 1024, 16),
        _new("sm_80", 164, 2048, 32),
        _new("sm_86", 100, 1536, 16),
        _new("sm_87", 164, 1536, 16),
        _new("sm_89", 100, 1536, 24),
        _new("sm_90", 228, 2048, 32),
        _new("sm_100", 228, 2048, 32),
        _new("sm_103", 228, 2048, 32),
        _new("sm_110", 228, 1536, 24),
        _new("sm_120", 100, 1536, 24),
        _new("sm_121", 100, 1536, 24),
    )
}
DEFAULT_ARCH = "sm_90"
"""Taken where a kernel does not say what it is for."""

_SM = re.compile(r"sm_\d+")


def architecture(name: str) -> Architecture:
    """By name, `sm_90a` as `sm_90`. Raises `PlanError` for one that is not in the table."""
    match = _SM.fullmatch(name.rstrip("af"))
    found = ARCHITECTURES.get(match[0]) if match else None
    if found is None:
        raise PlanError(f"unknown architecture {name!r}; choose one of {', '.join(ARCHITECTURES)}")
    return found


def target_architecture(kernel: Kernel) -> Architecture | None:
    """What a kernel's target says that it is for; None where it says nothing that is known."""
    match = _SM.search(str(kernel.attrs.get("target", "")))
    return ARCHITECTURES.get(match[0]) if match else None


def threads_of(kernel: Kernel) -> int | None:
    """Threads of a block; None where its extents are not constant."""
    extents: dict[str, int] = {}
    for launch in launches(kernel.body):
        tag, extent = tag_of(launch), constant(launch.value)
        if tag in AXES:
            if extent is None:
                return None
            extents[tag] = max(extent, extents.get(tag, 1))
    return math.prod(extents.values())
