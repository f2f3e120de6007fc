"""GEMM: `C[M, N] = A[M, K] B[K, N]`, a tile of C for each block, a pipeline along K."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.targets.cards import Card
from smemreuse.worksheet.elements import ACCUMULATOR, output_size, size_of
from smemreuse.worksheet.matrix import (
    MatrixTile,
    MatrixUnit,
    compute_seconds,
    engine_of,
    engines_of,
    pipeline_depths,
    reached,
    shared_stages,
    staging_registers,
    tiles,
)
from smemreuse.worksheet.terms import (
    gemm_tile_bytes,
    gemm_tile_flops,
    wave_traffic,
)
from smemreuse.worksheet.work import TileWork

DEPTHS = (64, 128, 256)
"""Bytes of a row of a tile along K: half a line, a line, two."""


@dataclass(frozen=True)
class Gemm:
    """Sizes in elements."""

    m: int
    n: int
    k: int

    @property
    def multiplies(self) -> bool:
        return True

    @property
    def title(self) -> str:
        return f"GEMM {self.m:,} x {self.n:,} x {self.k:,}"

    @property
    def flops(self) -> float:
        """`2 M N K`."""
        return 2.0 * self.m * self.n * self.k

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        return (engine_note(card, dtype),)

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """Every configuration: tile, step along K, stages, and splits of K."""
        found = (tile for engine in engines_of(card, dtype) for tile in tiles(engine))
        for tile in found:
            for depth in DEPTHS:
                bk = int(depth / size_of(dtype))
                for stages in pipeline_depths(card):
                    for splits in self._splits(card, tile, bk):
                        yield self.work(card, dtype, tile, bk, stages, splits)

    def _splits(self, card: Card, tile: MatrixTile, bk: int) -> Iterator[int]:
        """Parts of K, powers of two: more than one where tiles are fewer than SMs."""
        tiles_of_c = math.ceil(self.m / tile.bm) * math.ceil(self.n / tile.bn)
        splits = 1
        while splits == 1 or (tiles_of_c * splits <= 2 * card.sms and self.k >= 2 * splits * bk):
            yield splits
            splits *= 2

    def work(
        self, card: Card, dtype: str, tile: MatrixTile, bk: int, stages: int, splits: int = 1
    ) -> TileWork:
        """The work of a tile with steps of `bk` along K and so many stages; C is written once.

        If K is split, each part writes 32-bit sums, which a second kernel reads and adds.
        """
        size = size_of(dtype)
        bm, bn = tile.bm, tile.bn
        down, across = math.ceil(self.m / bm), math.ceil(self.n / bn)
        steps, grid = math.ceil(math.ceil(self.k / splits) / bk), down * across * splits
        loaded = gemm_tile_bytes(bm, bn, bk, size)
        parts = 2.0 * splits * ACCUMULATOR if splits > 1 else 0.0
        written = self.m * self.n * (output_size(dtype) + parts)
        rows, columns = self.m * self.k * size, self.n * self.k * size
        executed = float(grid) * steps * gemm_tile_flops(bm, bn, bk)
        buffers = shared_stages(card, stages)
        is_simt = tile.engine is MatrixUnit.SIMT
        is_widest = tile.engine is engine_of(card, dtype)
        return TileWork(
            config={
                **({} if is_widest else {"instruction": tile.engine.value}),
                "BM": bm,
                "BN": bn,
                "BK": bk,
                "splits": splits,
                "warps": tile.warps,
                "stages": stages,
            },
            shared_bytes=int(buffers * loaded),
            threads=tile.threads,
            registers=tile.registers + staging_registers(card, loaded, tile.threads),
            grid=grid,
            flops=self.flops,
            dram=written
            + wave_traffic(down, across, rows / down, columns / across, card.sms, card.l2_bytes),
            l2=across * rows + down * columns + written,
            rounds=int(splits > 1),
            stages=stages,
            steps=steps,
            step_bytes=loaded,
            step_seconds=compute_seconds(card, dtype, gemm_tile_flops(bm, bn, bk), tile.engine),
            tensor=0.0 if is_simt else executed / reached(card, tile.engine),
            lanes=executed / 2 if is_simt else 0.0,
            shared=grid * steps * (tile.operand_rows() * bk * size + loaded),
            loading=tile.loading,
            columns=tile.columns,
            row_bytes=int(bk * size),
        )


def engine_note(card: Card, dtype: str) -> str:
    """A note on the instruction with which the card multiplies this type."""
    engine = engine_of(card, dtype)
    if engine is MatrixUnit.SIMT:
        return f"no tensor cores for {dtype} on {card.arch}: the CUDA cores multiply"
    return f"{engine.value} instructions, as {card.arch} has them"
