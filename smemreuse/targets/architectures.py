"""What shared memory, threads and registers allow of resident blocks, by compute capability.

Numbers of the CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
Capability"; since capability 8.0 the driver keeps 1 KB of shared memory for each block (guide,
section on shared memory of 8.x), and both round a block's demand up to 128 bytes (256 before).
The sizes of the unified cache and the steps in which shared memory is carved out of it are of the
same guide (table on shared memory capacities; "Shared Memory" of each capability before 13.0), and
the steps, and the barriers of an SM, are those of `cuda_occupancy.h`. The steps of 9.0, but for 0,
were all seen on an H200.
`scripts/check_occupancy.py` holds `resident_blocks` against
`cudaOccupancyMaxActiveBlocksPerMultiprocessor` on the card at hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from smemreuse.errors import PlanError
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Kernel
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.results.residents import MOST_REGISTERS, REGISTER_STEP, allocated_registers

_KB = 1024
WARP = 32
REGISTERS = 64 * 1024
"""Registers of an SM, on every architecture here."""
PARTS = 4
"""Equal parts of an SM, each with its share of the registers and of the warps."""


@dataclass(frozen=True)
class Architecture:
    """The limits of one compute capability; shared memory in bytes.

    `per_block` is the most that a block may ask for, opting in; `reserved` is what the driver adds.
    `unified` is what shared memory and L1 share, `carveouts` what of it can be shared memory.
    `barriers` are those of an SM, of which each block takes those up to its highest number; None
    before capability 9.0, where they limit nothing.
    """

    name: str
    per_sm: int
    per_block: int
    threads: int
    blocks: int
    unified: int
    carveouts: tuple[int, ...]
    reserved: int = _KB
    granularity: int = 128
    barriers: int | None = None

    def resident_blocks(
        self, shared_bytes: int, threads: int, registers: int | None = None, barriers: int = 1
    ) -> int:
        """Blocks of so many bytes and threads that one SM holds; 0 where one does not launch.

        `registers` is how many each thread has, and `barriers` how many a block has, as ptxas
        counts them. Where registers are not known, the answer goes as far as the others go;
        registers may allow fewer.
        """
        if shared_bytes > self.per_block or not 0 < threads <= 1024:
            return 0
        by_threads = self.threads // (_warps(threads) * WARP)
        limits = [self.blocks, by_threads, self.most_by_bytes(shared_bytes)]
        if registers is not None:
            limits.append(most_by_registers(threads, registers))
        if self.barriers is not None:
            limits.append(self.barriers // max(barriers, 1))
        return min(limits)

    def most_by_bytes(self, shared_bytes: int) -> int:
        """Blocks of so many bytes that fit into an SM's shared memory."""
        taken = self.taken(shared_bytes)
        return self.per_sm // taken if taken else self.blocks

    def taken(self, shared_bytes: int) -> int:
        """What a block that asks for so many bytes takes of its SM."""
        return -(-(shared_bytes + self.reserved) // self.granularity) * self.granularity

    def step_for(self, shared_bytes: int) -> int:
        """The smallest carve-out of at least so many bytes; the largest where none is."""
        return next((step for step in self.carveouts if step >= shared_bytes), self.carveouts[-1])

    def carveout(
        self, shared_bytes: int, threads: int, registers: int | None = None, barriers: int = 1
    ) -> int:
        """Bytes of the unified cache that the driver makes shared memory for a kernel.

        The smallest step that holds as many blocks as can be resident, whatever the grid.
        Measured on an H200 and an H100 (`scripts/measure_carveout.py`): exactly so where those
        blocks take more than 100 KB, and sooner a step or two more, never above 132 KB, where they
        take less; for other cards CUDA's occupancy calculator says so, and no measurement.
        Raises `ValueError` for a block that does not launch.
        """
        resident = self.resident_blocks(shared_bytes, threads, registers, barriers)
        if not resident:
            raise ValueError(f"a block of {shared_bytes} bytes does not launch on {self.name}")
        return self.step_for(resident * self.taken(shared_bytes))

    def l1_left(
        self, shared_bytes: int, threads: int, registers: int | None = None, barriers: int = 1
    ) -> int:
        """Bytes of the unified cache that remain for L1; raises as `carveout` does."""
        return self.unified - self.carveout(shared_bytes, threads, registers, barriers)

    def largest_by_step(
        self, shared_bytes: int, threads: int, registers: int | None = None, barriers: int = 1
    ) -> Iterator[int]:
        """The most bytes of a block that keeps its resident blocks, for each carve-out step.

        From the step of so many bytes, which leaves the most L1, upwards. Raises `ValueError` for a
        block that does not launch.
        """
        least = self.carveout(shared_bytes, threads, registers, barriers)
        resident = self.resident_blocks(shared_bytes, threads, registers, barriers)
        for step in self.carveouts:
            if step >= least:
                yield max(shared_bytes, self.largest_within(step, resident))

    def largest_within(self, step: int, blocks: int) -> int:
        """The most bytes that each of so many resident blocks can have in a carve-out step; below 0
        where it has no room for what the driver adds."""
        within = step // blocks // self.granularity * self.granularity - self.reserved
        return min(within, self.largest_for(blocks))

    def largest_for(self, blocks: int) -> int:
        """The most bytes that each of so many resident blocks can have."""
        share = self.per_sm // blocks // self.granularity * self.granularity
        return min(self.per_block, share - self.reserved)


def _warps(threads: int) -> int:
    return -(-threads // WARP)


def most_registers(threads: int, blocks: int = 1) -> int:
    """The most registers that ptxas gives each thread so that this many blocks launch on one SM.

    What more a thread needs ptxas spills. Compilers tell it the number of threads of a block, and
    one block (`__launch_bounds__`). The warps of an SM are in four equal parts, as its registers
    are, so that 288 threads get as many as 384.
    """
    of_a_part = -(-_warps(max(threads, 1)) * blocks // PARTS)
    of_a_thread = REGISTERS // PARTS // max(of_a_part, 1) // WARP
    return min(MOST_REGISTERS, of_a_thread // REGISTER_STEP * REGISTER_STEP)


def most_by_registers(threads: int, registers: int) -> int:
    """Blocks whose registers fit into an SM, of so many threads with so many registers each.

    Every architecture here has 65,536 registers in four equal parts, gives them out to a warp at
    a time, 256 and 256, and lets a thread have 255 at most; beyond, 0.
    """
    if registers > MOST_REGISTERS:
        return 0
    of_a_warp = allocated_registers(registers) * WARP
    warps = REGISTERS // PARTS // of_a_warp * PARTS
    return warps // _warps(threads)


_OF_128_KB = tuple(step * _KB for step in (0, 8, 16, 32, 64, 100))
_OF_192_KB = (*_OF_128_KB, 132 * _KB, 164 * _KB)
_OF_256_KB = (*_OF_192_KB, 196 * _KB, 228 * _KB)


def _old(
    name: str, unified: int, steps: tuple[int, ...], threads: int, blocks: int
) -> Architecture:
    """Before capability 8.0: nothing reserved."""
    most = steps[-1] * _KB
    carveouts = tuple(step * _KB for step in steps)
    return Architecture(name, most, most, threads, blocks, unified * _KB, carveouts, 0, 256)


def _new(
    name: str,
    unified: int,
    carveouts: tuple[int, ...],
    threads: int,
    blocks: int,
    barriers: int | None = None,
) -> Architecture:
    most, size = carveouts[-1], unified * _KB
    return Architecture(name, most, most - _KB, threads, blocks, size, carveouts, barriers=barriers)


ARCHITECTURES: Mapping[str, Architecture] = {
    one.name: one
    for one in (
        _old("sm_70", 128, (0, 8, 16, 32, 64, 96), 2048, 32),
        _old("sm_72", 128, (0, 8, 16, 32, 64, 96), 2048, 32),
        _old("sm_75", 96, (32, 64), 1024, 16),
        _new("sm_80", 192, _OF_192_KB, 2048, 32),
        _new("sm_86", 128, _OF_128_KB, 1536, 16),
        _new("sm_87", 192, _OF_192_KB, 1536, 16),
        _new("sm_89", 128, _OF_128_KB, 1536, 24),
        _new("sm_90", 256, _OF_256_KB, 2048, 32, 64),
        _new("sm_100", 256, _OF_256_KB, 2048, 32, 64),
        _new("sm_103", 256, _OF_256_KB, 2048, 32, 64),
        _new("sm_110", 256, _OF_256_KB, 1536, 24, 24),
        _new("sm_120", 128, _OF_128_KB, 1536, 24, 24),
        _new("sm_121", 128, _OF_128_KB, 1536, 24, 24),
    )
}
DEFAULT_ARCH = "sm_90"
"""Taken where a kernel does not say what it is for."""

_SM = re.compile(r"sm_\d+")


def architecture(name: str) -> Architecture:
    """By name, `sm_90a` as `sm_90`. Raises `PlanError` for one that is not in the table."""
    match = _SM.fullmatch(str(name).rstrip("af"))
    found = ARCHITECTURES.get(match[0]) if match else None
    if found is None:
        raise PlanError(f"unknown architecture {name!r}; choose one of {', '.join(ARCHITECTURES)}")
    return found


def target_architecture(kernel: Kernel) -> Architecture | None:
    """What a kernel's target says that it is for; None where it says nothing that is known."""
    match = _SM.search(str(kernel.attrs.get("target", "")))
    return ARCHITECTURES.get(match[0]) if match else None


def architecture_for(kernel: Kernel, arch: Architecture | None) -> tuple[Architecture, bool]:
    """`arch`, or what a kernel's target says that it is for; and whether it is only assumed."""
    known = arch or target_architecture(kernel)
    return known or ARCHITECTURES[DEFAULT_ARCH], known is None


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
