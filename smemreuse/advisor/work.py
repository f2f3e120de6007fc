"""What the blocks of a kernel ask of an SM and of its memory system, as it is counted.

Everything is counted for some of the launch's blocks, `blocks` of them, and by block: arrays of
that length. Cycles are those of one SM that does nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from smemreuse.ir.kernel import Buffer
from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card

SCHEDULERS = 4
"""Of an SM; each issues one warp's instruction in a cycle."""


class Resource(Enum):
    """What the resident blocks of an SM share, each in cycles."""

    TENSOR = "tensor cores"
    ISSUE = "instruction issue"
    SPECIAL = "special function units"
    SHARED = "shared memory bandwidth"
    PORT = "bytes between L2 and the SM"


@dataclass(frozen=True, eq=False)
class Transfer:
    """Global memory that one statement reads or writes: bytes by block.

    `name` is the tensor. `fresh` is the fraction of the bytes that blocks of one wave do not share.
    """

    name: str
    written: bool
    bytes: np.ndarray
    fresh: float


@dataclass(frozen=True, eq=False)
class Ring:
    """The stages of a buffer that one loop fills asynchronously and a loop (the same or another)
    reads.

    `rounds` are those of the filling loop, by block. `stages` is the buffer's size in units of the
    bytes loaded per round. `arrival` is the latency of a load in cycles.
    """

    buffer: Buffer
    rounds: np.ndarray
    stages: int
    arrival: np.ndarray


@dataclass(frozen=True, eq=False)
class StageReading:
    """A loop that reads stages: its rounds and its critical path in cycles, by block."""

    rounds: np.ndarray
    chain: np.ndarray


@dataclass(eq=False)
class BlockWork:
    """The counted work of some blocks; arrays have one entry (or row) for each block.

    - `chain`: the critical path of each warp, in cycles.
    - `loop_chain`, `loop_demand`: the part of `chain` and `demand` inside the outermost loops.
    - `flops`: of tensor cores, by the type of their operands, over all counted blocks.
    - `assumed`: what had to be guessed.
    """

    blocks: int
    demand: dict[Resource, np.ndarray]
    chain: np.ndarray
    loop_demand: dict[Resource, np.ndarray]
    loop_chain: np.ndarray
    transfers: list[Transfer] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)
    readings: dict[Buffer, list[StageReading]] = field(default_factory=dict)
    flops: dict[str, float] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)

    @staticmethod
    def empty(blocks: int, warps: int) -> BlockWork:
        demand, looped = ({one: np.zeros(blocks) for one in Resource} for _ in range(2))
        chain, loop_chain = (np.zeros((blocks, warps)) for _ in range(2))
        return BlockWork(blocks, demand, chain, looped, loop_chain)

    def spill(self, registers: int, threads: int, card: Card, cache: int) -> None:
        """Adds the cost of so many spilled `registers` of each thread.

        In every round of the loop with the most rounds, each is stored and loaded again, 128 bytes
        of a warp at a time. They go to L1, over the path of shared memory; what does not fit its
        `cache` bytes goes to L2.
        """
        if not registers:
            return
        rounds = np.ones(self.blocks)
        for readings in self.readings.values():
            for one in readings:
                rounds = np.maximum(rounds, one.rounds)
        taken = 4.0 * registers * threads
        moved = 2 * rounds * taken
        missed = max(0.0, 1 - cache / taken)
        warps = -(-threads // WARP)
        for demand, chain in ((self.demand, self.chain), (self.loop_demand, self.loop_chain)):
            demand[Resource.SHARED] += moved / card.shared
            demand[Resource.PORT] += missed * moved / card.port
            demand[Resource.ISSUE] += moved / (4 * WARP) / SCHEDULERS
            chain += (moved / warps / card.shared)[:, None]

    def first_stage(self) -> np.ndarray:
        """Cycles until the first stage that other warps fill has arrived; 0 if there is none."""
        come = np.zeros(self.blocks)
        for ring in self.rings:
            come = np.maximum(come, np.where(ring.rounds > 0, ring.arrival, 0))
        return come

    def straight(self) -> np.ndarray:
        """Cycles of the longest warp before and after its loops."""
        taken: np.ndarray = (self.chain - self.loop_chain).max(axis=1)
        return taken

    def critical_path(self) -> np.ndarray:
        """Cycles that each block takes if nothing else runs on its SM.

        That is the path of the longest warp, plus the longest time that a loop waits for stages
        which other loops fill. By Little's law a stage is refilled once per round of its ring, and
        such a round takes one load plus one use of the stage.
        """
        waited = np.zeros(self.blocks)
        for ring in self.rings:
            longest = np.zeros(self.blocks)
            for reading in self.readings.get(ring.buffer, ()):
                per_round = reading.chain / np.maximum(reading.rounds, 1)
                needed = ring.rounds * (ring.arrival + per_round) / ring.stages
                longest = np.maximum(longest, needed - reading.chain)
            waited = np.maximum(waited, longest)
        longest_warp: np.ndarray = self.chain.max(axis=1)
        return longest_warp + waited
