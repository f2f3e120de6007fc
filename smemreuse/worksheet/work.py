"""What one configuration does, whatever the kernel: the common form that is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from smemreuse.targets.architectures import most_by_registers
from smemreuse.targets.cards import Card

LOADING = 24
"""Registers that a thread keeps at least which gives up the others."""


@dataclass(frozen=True)
class TileWork:
    """What one configuration demands; amounts are of the whole problem unless stated otherwise.

    Of one block:

    - `shared_bytes`: bytes of shared memory, all stages included.
    - `threads`: all of its threads. `loading`: those of them that only load.
    - `registers`: of each thread that computes.
    - `columns`: of tensor memory (an SM has 512).
    - `stages`: buffers of its pipeline, 0 without a pipeline. `steps`: iterations of the pipeline.
    - `step_bytes`: bytes loaded by one step. `step_seconds`: time its SM computes on one step at
      full rate.
    - `rounds`: latencies outside of the pipeline that follow one another.

    Of the problem:

    - `grid`: number of blocks.
    - `flops`: useful flops. `tensor`: executed flops, with padding, and weighted where they run at
      a lower rate.
    - `lanes`: instructions of CUDA-core lanes. `specials`: operations of special function units.
    - `dram`, `l2`, `shared`: bytes moved to and from DRAM, between L2 and the SMs, and between
      shared memory and the rest of its SM.
    - `row_bytes`: contiguous bytes of global memory that a load takes.
    """

    config: Mapping[str, int | str]
    shared_bytes: int
    threads: int
    registers: int
    grid: int
    flops: float
    dram: float
    l2: float
    rounds: float
    stages: int = 0
    steps: float = 0.0
    step_bytes: float = 0.0
    step_seconds: float = 0.0
    tensor: float = 0.0
    lanes: float = 0.0
    specials: float = 0.0
    shared: float = 0.0
    loading: int = 0
    columns: int = 0
    row_bytes: int = 128

    @property
    def launched(self) -> int:
        """Registers of each thread at launch, where all threads get the same number.

        That is `registers` if an SM has as many for all. Else threads that only load keep 24 and
        hand the rest to the others (`setmaxnreg`, PTX ISA, sm_90); the block launches with the
        mean, rounded up to a multiple of 8.
        """
        if most_by_registers(self.threads, self.registers):
            return self.registers
        given = (self.threads - self.loading) * self.registers + self.loading * LOADING
        return -(-given // (8 * self.threads)) * 8


class Workload(Protocol):
    """A kind of kernel, such as a GEMM, with the sizes of its problem."""

    @property
    def title(self) -> str:
        """In words, for tables."""

    @property
    def multiplies(self) -> bool:
        """Whether it has matrix products, so that the peak is that of tensor cores."""

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        """What is to be known of the formulas before the numbers are believed."""

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """A grid of configurations, those that do not fit among them."""
