"""Whether a configuration launches, what bounds it, and how long it takes at the least."""

from __future__ import annotations

import math

from smemreuse.results.advice import Estimate
from smemreuse.results.residents import MOST_REGISTERS
from smemreuse.targets.architectures import (
    WARP,
    Architecture,
    most_by_registers,
)
from smemreuse.targets.cards import Card
from smemreuse.worksheet.terms import (
    balance,
    intensity,
    pipeline_time,
    stages_needed,
    waves,
)
from smemreuse.worksheet.work import TileWork

TENSOR, LANES, SPECIALS = "tensor cores", "CUDA cores", "special functions"
DRAM, L2, SHARED, LATENCY = "DRAM", "L2", "shared memory", "latency"
PORT = "port to L2"
_OF_AN_SM = (TENSOR, LANES, SPECIALS, SHARED, PORT)
"""What each SM has for itself, so that the busiest one decides."""

TENSOR_COLUMNS = 512
"""Columns of tensor memory in an SM from sm_100 on (PTX ISA, "Tensor Memory")."""


def judge(card: Card, dtype: str, work: TileWork) -> Estimate:
    """The estimate of one configuration; one that cannot launch takes infinite seconds."""
    limits = _limits(card.architecture, work)
    blocks = min(limits.values())
    terms = roofline_terms(card, dtype, work)
    refused = "" if blocks else _refusal(card.architecture, work)
    even = balance(work.grid, card.sms)
    filled = waves(work.grid, card.sms, blocks) if blocks else 0.0
    if blocks:
        terms[LATENCY] = math.ceil(filled) * _waiting(card, work)
    taken = {name: one / even if name in _OF_AN_SM else one for name, one in terms.items()}
    limit = max(taken, key=lambda name: taken[name])
    return Estimate(
        config=work.config,
        shared_bytes=work.shared_bytes,
        registers=work.registers,
        threads=work.threads,
        grid=work.grid,
        blocks=blocks,
        occupancy_limit=min(limits, key=lambda name: limits[name]),
        l1_left=_l1_left(card.architecture, work) if blocks else 0,
        stages=work.stages,
        stages_needed=_stages_needed(card, work, blocks or 1) if work.stages else 0,
        waves=filled,
        balance=even,
        intensity={
            DRAM: intensity(work.flops, work.dram),
            L2: intensity(work.flops, work.l2),
            SHARED: intensity(work.flops, work.shared),
        },
        terms=terms,
        seconds=taken[limit] if blocks else float("inf"),
        limit=limit if blocks else "",
        flops=work.flops,
        refused=refused,
    )


def roofline_terms(card: Card, dtype: str, work: TileWork) -> dict[str, float]:
    """Seconds that each resource takes at its full rate; their maximum is the roofline's bound.

    Amount over rate, each: flops over flops/s, bytes over bytes/s, instructions over lanes/s.
    """
    return {
        TENSOR: work.tensor / card.peak(dtype),
        LANES: work.lanes / card.lanes,
        SPECIALS: work.specials / card.specials,
        SHARED: work.shared / card.shared_bandwidth,
        PORT: work.l2 / (card.port * card.sms * card.clock),
        L2: work.l2 / card.l2,
        DRAM: work.dram / card.dram,
    }


def _waiting(card: Card, work: TileWork) -> float:
    """The least seconds of one block alone on its SM: its latencies and its pipeline."""
    latency = card.dram_latency / card.clock
    waited = work.rounds * latency
    if not work.stages:
        return waited
    transfer = _transfer(card, work)
    return waited + pipeline_time(latency, transfer, work.step_seconds, work.steps, work.stages)


def _stages_needed(card: Card, work: TileWork, blocks: int) -> int:
    transfer = _transfer(card, work)
    total = card.dram_latency / card.clock + transfer
    return stages_needed(total, max(work.step_seconds, transfer), blocks)


def _transfer(card: Card, work: TileWork) -> float:
    """Seconds that a step's bytes take: at an SM's share of L2, and no faster than its port."""
    share = card.l2 / min(card.sms, work.grid)
    return work.step_bytes / min(share, card.port * card.clock)


def _limits(arch: Architecture, work: TileWork) -> dict[str, int]:
    """The resident blocks per SM that each resource allows, by its name; the smallest is
    the limit.
    """
    launches = work.shared_bytes <= arch.per_block and 0 < work.threads <= 1024
    warps = -(-work.threads // WARP)
    return {
        "shared memory": arch.most_by_bytes(work.shared_bytes) if launches else 0,
        "registers": _by_registers(work),
        "threads": arch.threads // (warps * WARP) if launches else 0,
        "blocks of an SM": arch.blocks,
        **({"tensor memory": TENSOR_COLUMNS // work.columns} if work.columns else {}),
    }


def _by_registers(work: TileWork) -> int:
    if work.registers > MOST_REGISTERS:
        return 0
    return most_by_registers(work.threads, work.launched)


def _l1_left(arch: Architecture, work: TileWork) -> int:
    return arch.l1_left(work.shared_bytes, work.threads, work.launched)


def _refusal(arch: Architecture, work: TileWork) -> str:
    """Why a configuration cannot launch, as "demand of limit"; called only if it cannot."""
    if work.shared_bytes > arch.per_block:
        return f"{work.shared_bytes:,} of {arch.per_block:,} bytes of shared memory"
    if work.threads > 1024:
        return f"{work.threads:,} of 1,024 threads"
    if work.registers > MOST_REGISTERS:
        return f"{work.registers} of {MOST_REGISTERS} registers, and would spill"
    if work.columns > TENSOR_COLUMNS:
        return f"{work.columns} of {TENSOR_COLUMNS} columns of tensor memory"
    return f"{work.registers} registers for each of {work.threads:,} threads"
