"""What a GPU can do in a cycle and in a second: the terms of a roofline, by card.

`Architecture` says what a block may have; a `Card` how fast what it does can go. Peaks are those of
dense operands; each card names where its numbers are from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """Rates of one GPU. `clock` in Hz, rates in bytes or operations of one SM in a cycle.

    `tensor` is flops (a multiplication and an addition are two) of dense tensor operations by type
    of the operands; `fma` counts 32-bit multiply-adds of the CUDA cores, `special` what the special
    function units do (exp2, rsqrt). `dram` and `l2` are bytes a second of the whole card, `latency`
    cycles from a load's issue to its data, from DRAM and from L2. `port` is bytes that an SM gets
    from L2 in a cycle, `mma` what part of `tensor` the warp-wide instructions (`mma.sync`) reach.
    """

    name: str
    arch: str
    sms: int
    clock: float
    dram: float
    dram_bytes: int
    l2: float
    l2_bytes: int
    tensor: Mapping[str, float]
    source: str
    fma: int = 128
    special: int = 16
    shared: int = 128
    dram_latency: int = 800
    l2_latency: int = 280
    port: int = 64
    mma: float = 1.0

    def peak(self, dtype: str) -> float:
        """Flops a second of tensor operations on `dtype`; of CUDA cores where there are none."""
        return self.tensor.get(dtype, 2 * self.fma) * self.sms * self.clock

    def ridge(self, dtype: str) -> float:
        """Flops for each byte from DRAM from which on a kernel is not bound by that."""
        return self.peak(dtype) / self.dram


H200 = Card(
    name="H200 SXM",
    arch="sm_90",
    sms=132,
    clock=1.98e9,
    dram=4.8e12,
    dram_bytes=141 * 10**9,
    l2=11.6e12,
    l2_bytes=50 * 1024**2,
    tensor={"float16": 4096, "bfloat16": 4096, "tfloat32": 2048, "float8": 8192, "int8": 8192},
    mma=0.63,
    source="NVIDIA H200 and H100 data sheets; L2 bandwidth as GEMMs of small tiles reach it",
)
CARDS: Mapping[str, Card] = {"h200": H200}


def card_for(arch: str, wanted: Card | str | None = None) -> Card:
    """The card that is wanted, or the first one of an architecture."""
    if isinstance(wanted, Card):
        return wanted
    return next(one for one in CARDS.values() if one.arch == arch)
