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
    """A configuration's demands; all amounts are of the whole problem unless they say otherwise.

    Of a block: `shared_bytes` (all stages), `threads`, of which `loading` only load, `registers` of
    each of the others, `columns` of tensor memory (512 in an SM). `grid` blocks. `flops` are
    useful, the others executed: `tensor` flops with padding, and more at a lower rate, `lanes`
    instructions of CUDA-core lanes, `specials`. Bytes moved: `dram`, `l2` (between L2 and the SMs)
    and `shared` (between shared memory and the rest of its SM).
    Of a block's pipeline: its `stages`, 0 without one; how many `steps`; of each, the `step_bytes`
    loaded and the `step_seconds` that its SM computes at the full rate. Beside it, `rounds`
    latencies follow one another. `row_bytes` lie together in what is loaded.
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
        """Registers of a thread at the launch, the same for all, eight together.

        Where that is too many for an SM, threads that only load give theirs to the others, all but
        24 (`setmaxnreg`, PTX ISA, sm_90), and a block of that many does launch.
        """
        if most_by_registers(self.threads, self.registers):
            return self.registers
        given = (self.threads - self.loading) * self.registers + self.loading * LOADING
        return -(-given // (8 * self.threads)) * 8


class Workload(Protocol):
    """A kind of kernel with its sizes."""

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
