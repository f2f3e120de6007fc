"""How a block's warps multiply a tile: instructions by architecture, registers, operand traffic.

Shapes are those of the PTX ISA: `mma` of a warp has 16 rows and takes its operands from registers,
`wgmma` of four warps 64 rows and takes them from shared memory, `tcgen05` of a block 128 rows, with
its sums in tensor memory. Where no tensor core takes the type, the CUDA cores multiply.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card

BESIDE = 32
"""Registers of a thread beside sums and fragments: indices, pointers, predicates. An assumption."""

_SLICE = 32
"""Bytes along k of one instruction's operands, whatever the type: 16 of two bytes (PTX ISA)."""


class MatrixUnit(Enum):
    """What multiplies."""

    SIMT = "CUDA cores"
    MMA = "mma"
    WGMMA = "wgmma"
    TCGEN05 = "tcgen05"

    @property
    def rows(self) -> int:
        """Rows of the result of one instruction of a group; 8 for each of a warp's CUDA cores."""
        return {
            MatrixUnit.SIMT: 8,
            MatrixUnit.MMA: 16,
            MatrixUnit.WGMMA: 64,
            MatrixUnit.TCGEN05: 128,
        }[self]

    @property
    def reads_shared(self) -> bool:
        """Whether operands need not pass through registers."""
        return self in (MatrixUnit.WGMMA, MatrixUnit.TCGEN05)


def engine_of(card: Card, dtype: str) -> MatrixUnit:
    """The widest instruction that a card has for a type."""
    if not card.has_tensor_cores_for(dtype):
        return MatrixUnit.SIMT
    if card.arch in ("sm_100", "sm_103", "sm_110"):
        return MatrixUnit.TCGEN05
    return MatrixUnit.WGMMA if card.arch == "sm_90" else MatrixUnit.MMA


def engines_of(card: Card, dtype: str) -> tuple[MatrixUnit, ...]:
    """That, and beside `wgmma` the `mma` of a warp, which has tiles of fewer rows."""
    widest = engine_of(card, dtype)
    return (widest, MatrixUnit.MMA) if widest is MatrixUnit.WGMMA else (widest,)


def reached(card: Card, engine: MatrixUnit) -> float:
    """What part of the peak an engine reaches: a warp's `mma` less, where there is a wider one."""
    return card.mma if engine is MatrixUnit.MMA else 1.0


def copies_asynchronously(card: Card) -> bool:
    """Whether a load can go to shared memory past the registers (`cp.async`, since sm_80)."""
    return int(card.arch.removeprefix("sm_")) >= 80


@dataclass(frozen=True)
class MatrixTile:
    """`bm` x `bn` results of a block, by so many `warps` that compute, or issue for a whole block.

    With `wgmma` and `tcgen05` four more warps are there to load.
    """

    engine: MatrixUnit
    bm: int
    bn: int
    warps: int

    @property
    def threads(self) -> int:
        """Of a block, those that only load included."""
        return self.warps * WARP + self.loading

    @property
    def loading(self) -> int:
        """Threads that only load."""
        return loading_threads(self.engine)

    def is_possible(self) -> bool:
        """Whether instructions divide the tile among the warps."""
        if self.engine is MatrixUnit.TCGEN05:
            return self.bm % 128 == 0 and self.warps == 4
        if self.engine is MatrixUnit.WGMMA:
            return self.bm % 64 == 0 and self.bn % (8 * self._across) == 0 and self._is_shared_out
        return self._layout() is not None

    @property
    def _across(self) -> int:
        """Groups of four warps beside each other: more than one where rows are too few for them."""
        return max(1, self.warps // 4 // (self.bm // 64))

    @property
    def _is_shared_out(self) -> bool:
        groups = self.warps // 4
        return self.warps % 4 == 0 and (
            self.bm % (64 * groups) == 0 or groups == self._across * (self.bm // 64)
        )

    def _layout(self) -> tuple[int, int] | None:
        """Rows and columns of one warp's part of the tile: the squarest, because it reads fewest
        operands.
        """
        parts = [
            (self.bm // down, self.bn // (self.warps // down))
            for down in range(1, self.warps + 1)
            if self.warps % down == 0
            and self.bm % (down * self.engine.rows) == 0
            and self.bn % (self.warps // down * 8) == 0
        ]
        return min(parts, key=sum, default=None)

    @property
    def sums(self) -> int:
        """Registers of a thread for 32-bit sums: `BM BN / threads` of those that compute."""
        if self.engine is MatrixUnit.TCGEN05:
            return 32  # what the epilogue takes out of tensor memory at a time
        return math.ceil(self.bm * self.bn / (self.warps * WARP))

    @property
    def fragments(self) -> int:
        """Registers of a thread for one slice of both operands along k."""
        layout = self._layout() if not self.engine.reads_shared else None
        if layout is None:
            return 0
        slice_bytes = _SLICE if self.engine is MatrixUnit.MMA else 16
        return math.ceil(sum(layout) * slice_bytes / (WARP * 4))

    @property
    def registers(self) -> int:
        """Of a thread that computes, rounded up to the eight that are given out together."""
        return -(-(self.sums + self.fragments + BESIDE) // 8) * 8

    @property
    def columns(self) -> int:
        """Columns of tensor memory for the sums, a power of two and at least 32 (PTX ISA)."""
        if self.engine is not MatrixUnit.TCGEN05:
            return 0
        return max(32, 1 << (self.bn * (self.bm // 128) - 1).bit_length())

    def operand_rows(self) -> int:
        """Rows and columns of operands that pass from shared memory for one step, repetitions too.

        Times the bytes of a row (`BK b`) these are the step's bytes. A warp reads its rows and its
        columns; each lane of CUDA cores those of its own part, a warp being 4 x 8 of them; an
        instruction that reads shared memory does so for its 64 or 128 rows and up to 256 columns.
        """
        if self.engine.reads_shared:
            instructions = math.ceil(self.bm / self.engine.rows)
            across = self._across if self.engine is MatrixUnit.WGMMA else 1
            return self.bm * max(across, math.ceil(self.bn / 256)) + self.bn * instructions
        layout = self._layout()
        if layout is None:
            return 0
        high, wide = layout
        if self.engine is MatrixUnit.SIMT:
            return self.warps * min(8 * high + 4 * wide, 4 * high + 8 * wide)
        return self.warps * (high + wide)


def loading_threads(engine: MatrixUnit) -> int:
    """Of a block: four warps where operands come by TMA, as TileLang and CUTLASS have it."""
    return 4 * WARP if engine.reads_shared else 0


def tiles(engine: MatrixUnit) -> Iterator[MatrixTile]:
    """The grid of tiles for an engine, those without an instruction left out."""
    heights = {
        MatrixUnit.SIMT: (32, 64, 128),
        MatrixUnit.MMA: (16, 32, 64, 128, 256),
        MatrixUnit.WGMMA: (64, 128, 192, 256),
        MatrixUnit.TCGEN05: (128, 256),
    }[engine]
    widths = (32, 64, 128, 192, 256) if engine.reads_shared else (32, 64, 128, 256)
    counts = {MatrixUnit.TCGEN05: (4,), MatrixUnit.WGMMA: (4, 8, 12)}.get(engine, (4, 8))
    for bm in heights:
        for bn in widths:
            for warps in counts:
                tile = MatrixTile(engine, bm, bn, warps)
                if tile.is_possible():
                    yield tile


def pipeline_depths(card: Card) -> tuple[int, ...]:
    """Numbers of stages that are tried; without asynchronous copies two, one of them registers."""
    return (2, 3, 4, 5, 6, 7, 8) if copies_asynchronously(card) else (2,)


def staging_registers(card: Card, step_bytes: float, threads: int) -> int:
    """Registers of a thread that hold the next step's tile where copies pass through them."""
    if copies_asynchronously(card):
        return 0
    return math.ceil(step_bytes / threads / 4)


def shared_stages(card: Card, stages: int) -> int:
    """Buffers of shared memory: all stages, or all but the one that waits in registers."""
    return stages if copies_asynchronously(card) else stages - 1


def compute_seconds(card: Card, dtype: str, flops: float, engine: MatrixUnit) -> float:
    """Seconds of one SM at the full rate of an engine."""
    return flops / (card.rate(dtype) * reached(card, engine) * card.clock)
