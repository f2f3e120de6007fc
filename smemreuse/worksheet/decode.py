"""Decode attention: one query of each head against a cache of keys and values, split along it.

Two ways. `gemv`: each query head reads K and V by itself, on CUDA cores, 16 bytes a thread at a
time, in registers. `gemm`: the heads that share a KV head are the rows of a matrix, padded to an
instruction's; K and V come through shared memory once for all of them. With few KV heads there are
too few blocks, so the cache is split, and a second kernel merges the parts: Dao, Haziza, Massa and
Sizov, "Flash-Decoding for long-context inference", 2023.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.errors import PlanError
from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card
from smemreuse.worksheet.attention import SOFTMAX_LANES
from smemreuse.worksheet.elements import ACCUMULATOR, output_size, size_of
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

LOAD = 16
"""Bytes that a thread loads at once: the widest there is on every architecture."""

GEMV_LANES = 2
"""Lane instructions for each element of K or V: its conversion to 32 bits, and a multiply-add."""

KEYS = (32, 64, 128)
UNROLLED = (1, 2, 4, 8)
THREADS = (128, 256)


@dataclass(frozen=True)
class Decode:
    """Sizes in elements: batch, query heads, KV heads, keys in the cache, dimension of a head."""

    batch: int
    heads: int
    kv_heads: int
    keys: int
    dim: int

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise PlanError(
                f"{self.heads} heads cannot share {self.kv_heads} KV heads evenly; "
                "give a multiple of them"
            )

    @property
    def group(self) -> int:
        """Query heads that share a KV head."""
        return self.heads // self.kv_heads

    @property
    def multiplies(self) -> bool:
        return True

    @property
    def title(self) -> str:
        return (
            f"decode, batch {self.batch}, {self.heads} heads on {self.kv_heads} KV heads, "
            f"{self.keys:,} keys of {self.dim}"
        )

    @property
    def flops(self) -> float:
        """`4 B H S D`."""
        return 4.0 * self.batch * self.heads * self.keys * self.dim

    def cache_bytes(self, dtype: str) -> float:
        """K and V, read once: `2 B KVH S D b`."""
        return 2.0 * self.batch * self.kv_heads * self.keys * self.dim * size_of(dtype)

    def notes(self, card: Card, dtype: str) -> tuple[str, ...]:
        per_byte = 2 * self.group / size_of(dtype)
        return (
            engine_note(card, dtype),
            f"{self.group} query heads on a KV head are {per_byte:g} flops for each byte of cache",
        )

    def splits(self) -> Iterator[int]:
        """Numbers of parts of the keys: powers of two, while a part has at least 128 keys."""
        count = 1
        while count == 1 or self.keys // count >= 128:
            yield count
            count *= 2

    def candidates(self, card: Card, dtype: str) -> Iterator[TileWork]:
        """Every configuration of both ways, `gemv` and `gemm`."""
        for splits in self.splits():
            for threads in THREADS:
                for unrolled in UNROLLED:
                    yield self.gemv(card, dtype, threads, unrolled, splits)
            if engine_of(card, dtype) is not MatrixUnit.SIMT:
                for bc in KEYS:
                    for stages in pipeline_depths(card):
                        yield self.gemm(card, dtype, bc, stages, splits)

    def merge_bytes(self, splits: int) -> float:
        """Parts of O, l and m of 32 bits, written and read once; 0 where there is one part."""
        parts = self.batch * self.heads * splits * (self.dim + 2)
        return 2.0 * ACCUMULATOR * parts if splits > 1 else 0.0

    def gemv(self, card: Card, dtype: str, threads: int, unrolled: int, splits: int) -> TileWork:
        """Each query head for itself; `unrolled` loads of 16 bytes are under way in each thread."""
        size = size_of(dtype)
        grid = self.batch * self.heads * splits
        cache = self.cache_bytes(dtype)
        per_block = cache * self.group / grid
        merging = self.merge_bytes(splits)
        keys = math.ceil(self.keys / splits)
        held = (unrolled + 1) * LOAD // 4 + math.ceil(LOAD / size)  # loads, query, sums
        scores = self.batch * self.heads * self.keys
        return TileWork(
            config={"way": "gemv", "splits": splits, "loads": unrolled, "threads": threads},
            shared_bytes=keys * ACCUMULATOR + self.dim * ACCUMULATOR,  # the scores of its keys
            threads=threads,
            registers=-(-(held + BESIDE) // 8) * 8,
            grid=grid,
            flops=self.flops,
            dram=cache + self._beside(dtype) + merging,
            l2=cache * self.group + self._beside(dtype) + merging,
            rounds=math.ceil(per_block / (threads * unrolled * LOAD)) + _merge_rounds(splits),
            lanes=GEMV_LANES * cache / size * self.group + SOFTMAX_LANES * scores,
            specials=float(scores),
            shared=3.0 * ACCUMULATOR * scores,
        )

    def gemm(self, card: Card, dtype: str, bc: int, stages: int, splits: int) -> TileWork:
        """The heads of a group as rows, by one group of four warps."""
        size, engine = size_of(dtype), engine_of(card, dtype)
        rows = -(-self.group // engine.rows) * engine.rows
        warps = 4
        grid = self.batch * self.kv_heads * splits
        steps = math.ceil(math.ceil(self.keys / splits) / bc)
        loaded = 2 * bc * self.dim * size
        threads = warps * WARP + loading_threads(engine)
        flops = 4.0 * rows * bc * self.dim
        merging = self.merge_bytes(splits)
        cache = self.cache_bytes(dtype)
        # warps share the keys where rows are few, and their sums of O are merged in the end
        sums = rows * (self.dim + bc // (1 if engine.reads_shared else warps)) / WARP
        taken = 32 if engine is MatrixUnit.TCGEN05 else sums / (warps if engine.reads_shared else 1)
        own = -(-(math.ceil(taken) + BESIDE) // 8) * 8
        return TileWork(
            config={"way": "gemm", "splits": splits, "BC": bc, "stages": stages},
            shared_bytes=int(rows * self.dim * size + shared_stages(card, stages) * loaded),
            threads=threads,
            registers=own + staging_registers(card, loaded, threads),
            grid=grid,
            flops=self.flops,
            dram=cache + self._beside(dtype) + merging,
            l2=cache + self._beside(dtype) + merging,
            rounds=_merge_rounds(splits),
            stages=stages,
            steps=steps,
            step_bytes=loaded,
            step_seconds=flops / (card.peak(dtype) / card.sms),
            tensor=grid * steps * flops,
            lanes=float(grid) * steps * (SOFTMAX_LANES * rows * bc + rows * self.dim),
            specials=float(grid) * steps * rows * bc,
            shared=grid * steps * 2.0 * loaded,
            loading=loading_threads(engine),
            columns=_columns(bc + self.dim) if engine is MatrixUnit.TCGEN05 else 0,
        )

    def _beside(self, dtype: str) -> float:
        """The queries, and the results."""
        return self.batch * self.heads * self.dim * (size_of(dtype) + output_size(dtype))


def _merge_rounds(splits: int) -> int:
    """Latencies of the second kernel: its parts are loaded at once."""
    return 1 if splits > 1 else 0


def _columns(width: int) -> int:
    return max(32, 1 << (width - 1).bit_length())
