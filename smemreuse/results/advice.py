"""What is advised of a space of configurations: each with its terms, its bound and its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Validation(str, Enum):
    """How a ranking was held against measurements."""

    UNCALIBRATED = "uncalibrated"
    """A roofline's estimates of data sheets and formulas; nothing was fitted to a measurement."""


@dataclass(frozen=True)
class MemoryLevel:
    """A level of memory: bandwidth in bytes a second, the roofline's ridge in flops/byte."""

    name: str
    bandwidth: float
    ridge: float


@dataclass(frozen=True)
class Estimate:
    """One configuration, judged.

    `terms` are seconds that each resource would take by itself, at full rate, whatever the
    quantization of waves; `seconds` is what the slowest takes with it, and `limit` its name.
    `intensity` is useful flops for each byte by level. `refused` says why no block launches, or
    that registers would spill, or is empty. `occupancy_limit` is what bounds the resident `blocks`
    of an SM.
    """

    config: Mapping[str, int | str]
    shared_bytes: int
    registers: int
    threads: int
    grid: int
    blocks: int
    occupancy_limit: str
    l1_left: int
    stages: int
    stages_needed: int
    waves: float
    balance: float
    intensity: Mapping[str, float]
    terms: Mapping[str, float]
    seconds: float
    limit: str
    flops: float
    refused: str = ""

    @property
    def fits(self) -> bool:
        """Whether a block launches, and nothing spills."""
        return not self.refused

    @property
    def rate(self) -> float:
        """Useful flops a second."""
        return self.flops / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Advice:
    """A ranked space: those that fit before those that do not, the fastest first."""

    problem: str
    dtype: str
    card: str
    arch: str
    source: str
    assumed: tuple[str, ...]
    peak: float
    levels: tuple[MemoryLevel, ...]
    estimates: Sequence[Estimate]
    validation: Validation
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Estimate | None:
        """The first that fits."""
        return next((one for one in self.estimates if one.fits), None)
