"""Row-wise reduction, and what is made of it: LayerNorm, softmax, or the sums alone.

The row is needed twice, for its statistic and for what is made with it. It stays in registers, in
shared memory, or is read twice; and where rows are few, several blocks share one, in two levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card
from smemreuse.worksheet.elements import ACCUMULATOR, size_of
from smemreuse.worksheet.elementwise import BESIDE
from smemreuse.worksheet.work import TileWork

REGISTERS, SHARED, TWICE, LEVELS = "registers", "shared", "read twice", "two levels"
ONCE = "once"
"""Where the sums alone are asked for, nothing is kept."""

WIDTH = 16
"""Bytes of a load."""

UNROLLED = 4
"""Loads that a thread has under way where it does not hold its part of the row."""

ROW_THREADS = (32, 64, 128, 256, 512, 1024)
LANES = 3
"""Lane instructions for each element: conversion, reduction, and what is made of it."""


@dataclass(frozen=True)
class Reduction:
    """`rows` of `columns` elements. `sums_only` writes one element for each row."""

    rows: int
    columns: int
    sums_only: bool = False

    @property
    def multiplies(self) -> bool:
        return False

    @property
    def title(self) -> str:
        what = "sums" if self.sums_only else "normalization"
        return f"{what} of {self.rows:,} rows of {self.columns:,}"

    @property
    def flops(self) -> float:
        """An addition for each element; a normalization has a multiply-add more."""
        return float(self.rows) * self.columns * (1 if self.sums_only else 3)

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        return ()

    def ways(self) -> tuple[str, ...]:
        """What is done with a row between its statistic and its use."""
        return (ONCE, LEVELS) if self.sums_only else (REGISTERS, SHARED, TWICE, LEVELS)

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """Every configuration: where the row is kept, threads for a row, and parts of a row."""
        for way in self.ways():
            for threads in ROW_THREADS:
                if way != LEVELS:
                    yield self.work(card, dtype, way, threads)
                    continue
                for splits in (2, 4, 8, 16, 32, 64, 128):
                    if self.columns >= splits * threads:
                        yield self.work(card, dtype, way, threads, splits)

    def work(self, card: Card, dtype: str, way: str, row_threads: int, splits: int = 1) -> TileWork:
        """`row_threads` for a row or a part of it; blocks of at least 128 threads take several."""
        size = size_of(dtype)
        together = max(1, 128 // row_threads)
        threads = together * row_threads
        part = math.ceil(self.columns / splits)
        grid = math.ceil(self.rows / together) * splits
        own = math.ceil(part / row_threads)
        loads = math.ceil(own * size / WIDTH)
        row_bytes = self.rows * self.columns * size
        read = self._times_read(card, way, size, grid, together)
        merging = 2.0 * self.rows * splits * ACCUMULATOR if splits > 1 else 0.0
        written = self.rows * size if self.sums_only else row_bytes
        kept = part * together * size if way == SHARED else 0.0
        warps = threads // WARP
        held = own if way == REGISTERS else min(loads, UNROLLED) * WIDTH // 4
        passes = 1 if way in (REGISTERS, SHARED, ONCE) else 2
        serial = 1 if way == REGISTERS else math.ceil(loads / UNROLLED) * passes
        elements = self.rows * self.columns
        return TileWork(
            config={
                "row": way,
                "row threads": row_threads,
                "rows of a block": together,
                "blocks of a row": splits,
            },
            shared_bytes=int(kept + warps * ACCUMULATOR * (warps > together)),
            threads=threads,
            registers=-(-(held + BESIDE) // 8) * 8,
            grid=grid,
            flops=self.flops,
            dram=read * row_bytes + written + merging,
            l2=(1 if way in (REGISTERS, SHARED, ONCE) or self.sums_only else 2) * row_bytes
            + written
            + merging,
            rounds=serial + (2 if splits > 1 else 0),
            lanes=LANES * elements + (row_bytes + written) / WIDTH,
            shared=2.0 * row_bytes if way == SHARED else 0.0,
        )

    def _times_read(self, card: Card, way: str, size: float, grid: int, together: int) -> int:
        """How often a row is read from DRAM: twice where neither the SM nor L2 keeps it,
        else once.
        """
        if self.sums_only or way in (REGISTERS, SHARED, ONCE):
            return 1
        if way == LEVELS:
            return 1 if self.rows * self.columns * size <= card.l2_bytes else 2
        under_way = min(grid, card.sms * card.architecture.threads // 128) * together
        return 1 if under_way * self.columns * size <= card.l2_bytes else 2
