"""What one configuration does, whatever the kernel: the common form that is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from smemreuse.targets.cards import Card


@dataclass(frozen=True)
class Work:
    """A configuration's demands; all amounts are of the whole problem unless they say otherwise.

    Of a block: `shared_bytes` (all stages), `threads`, `registers` of each thread, `columns` of
    tensor memory (512 in an SM). `grid` blocks. `flops` are useful, the others executed: `tensor`
    flops with padding, `lanes` instructions of CUDA-core lanes, `specials`. Bytes moved: `dram`,
    `l2` (between L2 and the SMs) and `shared` (between shared memory and the rest of its SM).
    Of a block's loop: `step_seconds` that its SM takes for a step at the full rate; `rounds`
    latencies that stand one behind the other; `stages` of its pipeline, 0 without one; `row_bytes`
    that lie together in what is loaded.
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
    step_seconds: float = 0.0
    tensor: float = 0.0
    lanes: float = 0.0
    specials: float = 0.0
    shared: float = 0.0
    columns: int = 0
    row_bytes: int = 128


class Problem(Protocol):
    """A kind of kernel with its sizes."""

    @property
    def title(self) -> str:
        """In words, for tables."""

    @property
    def multiplies(self) -> bool:
        """Whether it has matrix products, so that the peak is that of tensor cores."""

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        """What is to be known of the formulas before the numbers are believed."""

    def candidates(self, card: Card, dtype: str) -> Iterator[Work]:
        """A grid of configurations, those that do not fit among them."""
