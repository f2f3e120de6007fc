"""How long a card takes for a kernel: the roofline of each wave of its blocks.

The terms, each a function: what the resident blocks of an SM share (Williams et al., "Roofline",
2009); the critical path of one block, with the latencies that stages do not hide (Little's law);
traffic from DRAM, of which the blocks of a wave share what they read alike; waves and the last,
partial one. Nothing in it is fitted to a kernel; what is assumed is a name in capital letters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.advisor.grid import Grid
from smemreuse.advisor.spills import spilled_registers
from smemreuse.advisor.walk import Walk
from smemreuse.advisor.work import BlockWork, Resource
from smemreuse.ir.kernel import Kernel
from smemreuse.results.ranking import KernelEstimate
from smemreuse.targets.architectures import Architecture, architecture, threads_of
from smemreuse.targets.cards import Card
from smemreuse.targets.residents import l1_left, residents_with

SAMPLED_BLOCKS = 48
WAVE_BLOCKS = 1024
OVERLAP = 4.0
"""Terms that overlap add up as the norm of this order: 1 would be no overlap, infinity a perfect
one. Of two equal terms a fifth is lost."""
DRAM_EFFICIENCY = 0.92
"""What streaming kernels reach of a data sheet's bandwidth."""
L2_KEPT = 0.6
"""What part of L2 keeps what will be read again."""
BLOCK_START = 500
"""Cycles from one block's end to the first instruction of the next one in its place."""
LAUNCH = 2.5e-6
"""Seconds from one kernel's end to the next one's first block."""


def estimate(
    kernel: Kernel,
    card: Card,
    shared_bytes: int,
    tensors: Mapping[str, int] | None = None,
    registers: int | None = None,
    grid: Grid | None = None,
) -> KernelEstimate:
    """The estimate of a kernel whose blocks take `shared_bytes` of shared memory.

    - `tensors`: bytes of its parameters by name, where known.
    - `registers`: of a thread, as ptxas reports them; estimated if None.
    - `grid`: the launch order of its blocks, where the kernel does not state it.

    Raises `PlanError` for a grid or a block that only the launch determines.
    """
    arch = architecture(card.arch)
    threads = threads_of(kernel) or 128
    found = residents_with(kernel, shared_bytes, arch, threads=threads, compiled=registers)
    assert found.registers is not None, "the number of threads is known"
    given, resident = found.registers.count, max(1, found.blocks)
    grid = grid or Grid.of(kernel.body)
    wave = grid.wave(card.sms * resident)
    chosen = wave[:: -(-len(wave) // WAVE_BLOCKS)]
    fresh = Walk(kernel, card, grid, chosen).seen
    scale = len(chosen) / len(wave)
    fresh = {node: _rescaled(share, scale) for node, share in fresh.items()}
    work = Walk(kernel, card, grid, grid.sample(SAMPLED_BLOCKS), fresh).work
    spilled = spilled_registers(kernel, threads)
    work.spill(spilled, threads, card, l1_left(found, arch) // resident)
    return _timed(kernel, card, arch, grid, work, resident, shared_bytes, given, spilled, tensors)


def _rescaled(share: float, scale: float) -> float:
    """Of a thinned-out wave less is shared than of a whole one."""
    return share if share > 0.999 else share * scale


def _timed(
    kernel: Kernel,
    card: Card,
    arch: Architecture,
    grid: Grid,
    work: BlockWork,
    resident: int,
    shared_bytes: int,
    registers: int,
    spilled: int,
    tensors: Mapping[str, int] | None,
) -> KernelEstimate:
    """The estimate of a kernel's time from counted work, with the roofline's terms in seconds.

    `work` was counted for some blocks and is scaled to the whole `grid`. `resident` blocks share an
    SM. `spilled` registers of each thread do not fit.
    """
    per_block = grid.blocks / work.blocks
    path = work.critical_path() + BLOCK_START
    demand = {one: taken.mean() for one, taken in work.demand.items()}
    slots = card.sms * resident
    seconds = waves_of(grid.blocks, card.sms, resident, alone(work), demand) / card.clock
    moved = dram_traffic(work, per_block, card, tensors)
    l2 = sum(float(one.bytes.sum()) for one in work.transfers) * per_block
    terms = {
        "critical path": float(path.mean()) * grid.blocks / slots / card.clock,
        "DRAM": moved / (card.dram * DRAM_EFFICIENCY),
        "L2": l2 / card.l2,
    }
    for one, cycles in demand.items():
        terms[one.value] = float(cycles) * grid.blocks / card.sms / card.clock
    total = together([seconds, terms["DRAM"], terms["L2"]]) + LAUNCH
    return KernelEstimate(
        name=kernel.name,
        seconds=total,
        blocks=grid.blocks,
        blocks_per_sm=resident,
        waves=grid.blocks / slots,
        registers=registers,
        spilled=spilled,
        shared_bytes=shared_bytes,
        flops=sum(work.flops.values()) * per_block,
        dram_bytes=moved,
        l2_bytes=l2,
        terms=terms,
        assumed=tuple(work.assumed),
    )


def together(terms: list[float]) -> float:
    """The time of parts that overlap imperfectly: their norm of order `OVERLAP`."""
    largest = max(terms)
    if largest <= 0:
        return 0.0
    return float(largest * sum((one / largest) ** OVERLAP for one in terms) ** (1 / OVERLAP))


def alone(work: BlockWork) -> np.ndarray:
    """Cycles that each block takes if nothing else runs on its SM.

    Inside loops, demand on the SM overlaps with the critical path. What comes before and after the
    loops overlaps with neither: nothing is multiplied while the first stage arrives or the last
    tile is written. After the first stage, loops take at least their own path.
    """
    straight, begun = work.straight(), work.first_stage()
    chain = work.chain.max(axis=1) - straight
    loops = np.maximum(chain, work.critical_path() - straight - begun)
    asked = np.stack([loops, *work.loop_demand.values()], axis=1)
    taken: np.ndarray = straight + begun + [together(one.tolist()) for one in asked]
    return taken + BLOCK_START


def waves_of(
    blocks: int,
    sms: int,
    resident: int,
    path: np.ndarray,
    demand: Mapping[Resource, float],
) -> float:
    """Cycles for all blocks: full waves, and a last one with fewer blocks on each SM.

    `path` is the time of each block alone, `demand` the cycles that one block needs of each
    resource of an SM. Resident blocks compete for these resources only. So a wave takes the longer
    of one block's path and the sum of demands (asymptotic bounds of Denning and Buzen, "The
    Operational Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978).

    Where blocks differ in length, full waves take the mean path; the last wave adds the excess of
    the longest.
    """
    asked = together([float(one) for one in demand.values()]) if demand else 0.0

    def wave(on_sm: int) -> float:
        return max(float(path.mean()), on_sm * asked)

    full, rest = divmod(blocks, sms * resident)
    last = wave(-(-rest // sms)) if rest else 0.0
    longer = float(path.max() - path.mean()) if full or rest else 0.0
    return full * wave(resident) + last + longer


def dram_traffic(
    work: BlockWork, per_block: float, card: Card, tensors: Mapping[str, int] | None
) -> float:
    """Bytes from and to DRAM of all blocks; `per_block` scales the counted blocks to the grid.

    Blocks of one wave load what they share once. How much of it the next wave still finds in L2
    depends on its size: all if the kernel's tensors fit, nothing if they are far larger.
    """
    streamed: dict[str, float] = {}
    for one in work.transfers:
        total = float(one.bytes.sum()) * per_block
        streamed[one.name] = streamed.get(one.name, 0.0) + total * one.fresh
    sizes = {name: min(total, (tensors or {}).get(name, total)) for name, total in streamed.items()}
    whole = sum(sizes.values())
    kept = min(1.0, card.l2_bytes * L2_KEPT / whole) if whole else 1.0
    return sum(sizes[name] + (total - sizes[name]) * (1 - kept) for name, total in streamed.items())
