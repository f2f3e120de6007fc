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
    """Global memory that a statement reads or writes: bytes by block.

    `fresh` is what part of them the blocks of one wave do not share: 1 where each block has its
    own. `name` is the tensor's.
    """

    name: str
    written: bool
    bytes: np.ndarray
    fresh: float


@dataclass(frozen=True, eq=False)
class Ring:
    """Stages of a buffer that one loop fills asynchronously and another one, or the same, reads.

    `rounds` of the filling loop by block; `stages` are how often what one round loads fits into the
    buffer; `arrival` is how many cycles a load is on its way.
    """

    buffer: Buffer
    rounds: np.ndarray
    stages: int
    arrival: np.ndarray


@dataclass(frozen=True, eq=False)
class StageReading:
    """A loop that reads stages: what its critical path takes in all, by block."""

    rounds: np.ndarray
    chain: np.ndarray


@dataclass(eq=False)
class BlockWork:
    """All of it. `chain` is the critical path of each warp, in cycles: one row for each block.

    `loop_chain` and `loop_demand` are what of these is in loops, outermost ones as a whole. `flops`
    are those of tensor cores by the type of their operands, of all blocks that are looked at.
    `assumed` says what had to be guessed.
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
        """Adds what each thread's registers that do not fit take: in every round of the loop that
        goes round most often each is stored and loaded again, 128 bytes of a warp at a time.

        They go to L1, by way of shared memory's; what its `cache` bytes do not hold goes to L2.
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
        """Cycles until the first stage that other warps fill has come; 0 where none do."""
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

        The longest warp's own path; and what its loops wait longer for the stages that others fill
        (Little's law: a stage is refilled once for each round of its ring, and a round takes as
        long as a load and the stage's use).
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
