"""Convolution as an implicit GEMM: a patch of output pixels times a set of filters, with its halo.

Input `N x H x W x C`, filters `F x KH x KW x C`, output `N x P x Q x F`. As a GEMM it is
`M = N P Q`, `N = F`, `K = C KH KW`; what differs is what a block loads: the patch with its halo
once for each chunk of channels, and not once for each of the KH KW taps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.errors import PlanError
from smemreuse.targets.cards import Card
from smemreuse.worksheet.elements import output_size, size_of
from smemreuse.worksheet.gemm import engine_note
from smemreuse.worksheet.matrix import (
    MatrixTile,
    MatrixUnit,
    compute_seconds,
    engine_of,
    pipeline_depths,
    shared_stages,
    staging_registers,
    tiles,
)
from smemreuse.worksheet.terms import gemm_tile_flops, wave_traffic
from smemreuse.worksheet.work import TileWork

WIDTHS = (4, 8, 16, 32)
CHUNKS = (32, 64, 128)
"""Bytes of the channels of a pixel in a step."""


def halo_pixels(height: int, width: int, kh: int, kw: int, stride: int) -> int:
    """Input pixels under a patch of output pixels: `((TH - 1) s + KH) ((TW - 1) s + KW)`."""
    return ((height - 1) * stride + kh) * ((width - 1) * stride + kw)


@dataclass(frozen=True)
class Convolution:
    """Sizes in elements; the same stride and padding both ways."""

    n: int
    h: int
    w: int
    c: int
    f: int
    kh: int
    kw: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        if self.p < 1 or self.q < 1:
            raise PlanError(
                f"filters of {self.kh} x {self.kw} do not fit into {self.h} x {self.w} pixels; "
                "--padding makes room"
            )

    @property
    def p(self) -> int:
        """Rows of the output."""
        return (self.h + 2 * self.padding - self.kh) // self.stride + 1

    @property
    def q(self) -> int:
        """Columns of the output."""
        return (self.w + 2 * self.padding - self.kw) // self.stride + 1

    @property
    def multiplies(self) -> bool:
        return True

    @property
    def title(self) -> str:
        return (
            f"convolution {self.n} x {self.h} x {self.w} x {self.c:,}, {self.f:,} filters "
            f"{self.kh} x {self.kw}, stride {self.stride}, padding {self.padding}"
        )

    @property
    def flops(self) -> float:
        """`2 N P Q F C KH KW`."""
        return 2.0 * self.n * self.p * self.q * self.f * self.c * self.kh * self.kw

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        return (engine_note(card, dtype),)

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """Every configuration: tile, width of the patch of pixels, channels per step, and
        stages.
        """
        for tile in tiles(engine_of(card, dtype)):
            for width in WIDTHS:
                if tile.bm % width:
                    continue
                for chunk in CHUNKS:
                    for stages in pipeline_depths(card):
                        yield self.work(
                            card, dtype, tile, width, int(chunk / size_of(dtype)), stages
                        )

    def work(
        self, card: Card, dtype: str, tile: MatrixTile, width: int, bc: int, stages: int
    ) -> TileWork:
        """A patch of `BM / width` x `width` pixels and `BN` filters, `bc` channels a step."""
        size = size_of(dtype)
        height = tile.bm // width
        patches = self.n * math.ceil(self.p / height) * math.ceil(self.q / width)
        groups, steps = math.ceil(self.f / tile.bn), math.ceil(self.c / bc)
        taps, grid = self.kh * self.kw, patches * groups
        halo = halo_pixels(height, width, self.kh, self.kw, self.stride)
        loaded = (halo + tile.bn * taps) * bc * size
        written = self.n * self.p * self.q * self.f * output_size(dtype)
        flops_of_a_step = gemm_tile_flops(tile.bm, tile.bn, bc * taps)
        executed = float(grid) * steps * flops_of_a_step
        is_simt = tile.engine is MatrixUnit.SIMT
        read = grid * steps * loaded
        once = (self.n * self.h * self.w + self.f * taps) * self.c * size
        per_wave = wave_traffic(
            patches,
            groups,
            halo * self.c * size,
            min(tile.bn, self.f) * taps * self.c * size,
            card.sms,
            card.l2_bytes,
        )
        return TileWork(
            config={
                "TH": height,
                "TW": width,
                "BN": tile.bn,
                "BC": bc,
                "warps": tile.warps,
                "stages": stages,
            },
            shared_bytes=int(shared_stages(card, stages) * loaded),
            threads=tile.threads,
            registers=tile.registers + staging_registers(card, loaded, tile.threads),
            grid=grid,
            flops=self.flops,
            dram=min(read, once if once <= card.l2_bytes else max(once, per_wave)) + written,
            l2=read + written,
            rounds=0,
            stages=stages,
            steps=steps,
            step_bytes=loaded,
            step_seconds=compute_seconds(card, dtype, flops_of_a_step, tile.engine),
            tensor=0.0 if is_simt else executed,
            lanes=executed / 2 if is_simt else 0.0,
            shared=grid * steps * (tile.operand_rows() * taps * bc * size + loaded),
            loading=tile.loading,
            columns=tile.columns,
            row_bytes=int(bc * size),
        )
