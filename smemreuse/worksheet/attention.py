"""FlashAttention forward: a tile of queries for each block, a pipeline of K and V tiles.

Dao, "FlashAttention-2", 2023 (arXiv:2307.08691): the rows' sums O and their statistics l and m stay
in registers, scores are never written. The query tile is loaded once, K and V in `BC` rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card
from smemreuse.worksheet.elements import output_size, size_of
from smemreuse.worksheet.gemm import engine_note
from smemreuse.worksheet.matrix import (
    BESIDE,
    MatrixUnit,
    engine_of,
    loading_threads,
    pipeline_depths,
    shared_stages,
    staging_registers,
)
from smemreuse.worksheet.work import TileWork

SOFTMAX_LANES = 4
"""Lane instructions for each score: maximum, scale and subtract in one, sum, conversion."""

QUERIES = (64, 128, 192, 256)
KEYS = (32, 64, 96, 128, 160, 192, 256)


@dataclass(frozen=True)
class Attention:
    """Sizes in elements: batch, heads, queries, keys, and the dimension of a head."""

    batch: int
    heads: int
    queries: int
    keys: int
    dim: int
    causal: bool = False

    @property
    def multiplies(self) -> bool:
        return True

    @property
    def title(self) -> str:
        masked = ", causal" if self.causal else ""
        return (
            f"attention, batch {self.batch}, {self.heads} heads, {self.queries:,} queries, "
            f"{self.keys:,} keys of {self.dim}{masked}"
        )

    @property
    def flops(self) -> float:
        """`4 B H SQ SK D`, of a causal mask only the pairs that it leaves."""
        return 4.0 * self.batch * self.heads * self.pairs * self.dim

    @property
    def pairs(self) -> float:
        """The number of pairs of a query and a key that one head computes.

        If causal, the last query sees the last key.
        """
        if not self.causal:
            return float(self.queries) * self.keys
        full = min(self.queries, self.keys)
        seen = full * (self.keys - (full - 1) / 2)
        return float(seen)

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        return (
            engine_note(card, dtype),
            "tensor cores and softmax are taken to overlap, between warps or resident blocks",
        )

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """Every configuration: queries of a block, warps, keys of a step, and stages."""
        engine = engine_of(card, dtype)
        for br in QUERIES:
            for warps in _warps(engine, br):
                for bc in KEYS:
                    for stages in pipeline_depths(card):
                        yield self.work(card, dtype, br, bc, warps, stages)

    def steps(self, br: int, bc: int) -> int:
        """Tiles of keys that all blocks of one head go through, in total; `br` queries, `bc` keys a
        tile.
        """
        tiles = math.ceil(self.queries / br)
        if not self.causal:
            return tiles * math.ceil(self.keys / bc)
        offset = self.keys - self.queries
        lasts = (min(self.keys, max(0, (tile + 1) * br + offset)) for tile in range(tiles))
        return sum(math.ceil(last / bc) for last in lasts)

    def work(self, card: Card, dtype: str, br: int, bc: int, warps: int, stages: int) -> TileWork:
        """`BR` queries of a head for a block, `BC` keys a step."""
        size, engine = size_of(dtype), engine_of(card, dtype)
        heads, tiles = self.batch * self.heads, math.ceil(self.queries / br)
        steps = heads * self.steps(br, bc)
        loaded = 2 * bc * self.dim * size
        flops = 4.0 * br * bc * self.dim
        lanes = SOFTMAX_LANES * br * bc + br * self.dim
        is_simt = engine is MatrixUnit.SIMT
        per_step = _Step(
            tensor=0.0 if is_simt else flops,
            lanes=lanes + (flops / 2 if is_simt else 0),
            specials=float(br * bc),
        )
        written = heads * self.queries * self.dim * output_size(dtype)
        threads = warps * WARP + loading_threads(engine)
        staged = staging_registers(card, loaded, threads)
        readers = math.ceil(br / engine.rows) if engine.reads_shared else warps
        return TileWork(
            config={"BR": br, "BC": bc, "warps": warps, "stages": stages},
            shared_bytes=int(br * self.dim * size + shared_stages(card, stages) * loaded),
            threads=threads,
            registers=registers(engine, br, bc, self.dim, warps) + staged,
            grid=heads * tiles,
            flops=self.flops,
            dram=self._from_dram(card, size, tiles) + written,
            l2=heads * self.queries * self.dim * size + steps * loaded + written,
            rounds=0,  # the queries come with the first keys
            stages=stages,
            steps=steps / (heads * tiles),
            step_bytes=loaded,
            step_seconds=per_step.seconds(card, dtype),
            tensor=steps * per_step.tensor,
            lanes=steps * per_step.lanes,
            specials=steps * per_step.specials,
            shared=steps * (br * self.dim * size + (readers + 1) * loaded),
            loading=loading_threads(engine),
            columns=_columns(bc + self.dim, br) if engine is MatrixUnit.TCGEN05 else 0,
        )

    def _from_dram(self, card: Card, size: float, tiles: int) -> float:
        """Q once; K and V once for each wave of a head's blocks, or once where L2 holds them.

        Blocks of a head are neighbours, and go through K and V side by side.
        """
        heads = self.batch * self.heads
        of_a_head = 2.0 * self.keys * self.dim * size
        at_once = math.ceil(card.sms / tiles) + 1
        again = 1 if at_once * of_a_head <= card.l2_bytes else math.ceil(tiles / card.sms)
        return heads * (self.queries * self.dim * size + again * of_a_head)


@dataclass(frozen=True)
class _Step:
    """The work that one step of the pipeline executes."""

    tensor: float
    lanes: float
    specials: float

    def seconds(self, card: Card, dtype: str) -> float:
        """Seconds that one SM takes for the step at its full rates, which overlap."""
        parts = (
            self.tensor / card.peak(dtype),
            self.lanes / card.lanes,
            self.specials / card.specials,
        )
        return max(parts) * card.sms


def registers(engine: MatrixUnit, br: int, bc: int, dim: int, warps: int) -> int:
    """Registers of a computing thread: O, the scores (which become P in place), l, m, and a
    constant.

    `(BR D + BR BC) / threads` plus two for each row that the thread has a part of. With `tcgen05`,
    O and the scores are in tensor memory, and a thread loads one row of scores at a time.
    """
    lanes = warps * WARP
    if engine is MatrixUnit.TCGEN05:
        sums, rows = bc * br // lanes, 1
    else:
        sums = math.ceil(br * (dim + bc) / lanes)
        rows = 2 * math.ceil(br / (warps * 16))
    fragments = 0 if engine.reads_shared else math.ceil((br / warps + 16) / 4)
    return -(-(sums + 2 * rows + fragments + BESIDE) // 8) * 8


def _warps(engine: MatrixUnit, br: int) -> tuple[int, ...]:
    """The numbers of warps that can share `br` queries; each row stays within one warp."""
    if engine is MatrixUnit.TCGEN05:
        return (br // 32,) if br % 128 == 0 else ()
    if engine is MatrixUnit.WGMMA:
        return (br // 16,)
    return tuple(warps for warps in (4, 8) if br % (16 * warps) == 0)


def _columns(width: int, br: int) -> int:
    """Of tensor memory, for 128 rows each."""
    return max(32, 1 << (width * (br // 128) - 1).bit_length())
