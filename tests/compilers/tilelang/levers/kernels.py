"""Kernels that levers are pulled in."""

from __future__ import annotations

from typing import Any

import tilelang.language as T
import tilelang.layout

BM, BN, BK, K = 128, 128, 64, 512


def gemm(
    stages: int = 3, *, through: str = "float16", at_once: bool = False, depth: int = BK
) -> Any:
    """A GEMM whose tile is stored through shared memory, of type `through`; with `at_once` a tile
    that is needed last is loaded first. `depth` is what a round takes of the inner dimension."""
    BK = depth

    @T.prim_func
    def main(
        A: T.Tensor((BM, K), "float16"),
        B: T.Tensor((K, BN), "float16"),
        S: T.Tensor((K, BN), "float16"),
        C: T.Tensor((BM, BN), "float16"),
    ) -> None:
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((BM, BK), "float16")
            b = T.alloc_shared((BK, BN), "float16")
            scale = T.alloc_shared((BK, BN), "float16")
            out = T.alloc_shared((BM, BN), through)
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(K // BK, num_stages=stages):
                if at_once:
                    T.copy(S[k * BK, 0], scale)
                T.copy(A[0, k * BK], a)
                T.copy(B[k * BK, 0], b)
                T.gemm(a, b, c)
                if not at_once:
                    T.copy(S[k * BK, 0], scale)
                T.gemm(a, scale, c)
            T.copy(c, out)
            T.copy(out, C)

    return main


def attention(*, clear: bool = False, swizzled: bool = False) -> Any:
    """A tile that is kept for a loop, times one that a round uses twice; with `clear` the product
    clears what it is added to, with `swizzled` a layout is asked for."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 256), "float16"),
        K: T.Tensor((512, 1, 256), "float16"),
        B: T.Tensor((512,), "float32"),
        C: T.Tensor((64, 256), "float16"),
    ) -> None:
        with T.Kernel(1, threads=128):
            queries = T.alloc_shared((64, 256), "float16")
            keys = T.alloc_shared((64, 256), "float16")
            bias = T.alloc_shared((64,), "float32")
            weights = T.alloc_shared((64, 64), "float16")
            scores = T.alloc_fragment((64, 64), "float32")
            sums = T.alloc_fragment((64, 256), "float32")
            if swizzled:
                T.annotate_layout({keys: tilelang.layout.make_swizzled_layout(keys)})
            T.copy(Q, queries)
            T.clear(sums)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(K[k * 64, 0, 0], keys)
                T.copy(B[k * 64], bias)
                T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True, clear_accum=clear)
                for i, j in T.Parallel(64, 64):
                    scores[i, j] += bias[j]
                T.copy(scores, weights)
                T.gemm(weights, keys, sums)
            T.copy(sums, C)

    return main


def rows(stages: int = 3, *, threads: int = 512, blocks: int = 4096, rounds: int = 4) -> Any:
    """Short products of many blocks, each of which loads 48 KiB in a round."""

    @T.prim_func
    def main(
        A: T.Tensor((blocks * 128, rounds * 128), "float16"),
        B: T.Tensor((rounds * 128, 64), "float16"),
        C: T.Tensor((blocks * 128, 64), "float32"),
    ) -> None:
        with T.Kernel(blocks, threads=threads) as bx:
            a = T.alloc_shared((128, 128), "float16")
            b = T.alloc_shared((128, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(rounds, num_stages=stages):
                T.copy(A[bx * 128, k * 128], a)
                T.copy(B[k * 128, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[bx * 128, 0])

    return main


def sparse() -> Any:
    """A product of a part of a tile that two copies load, and of rows that an index names."""

    @T.prim_func
    def main(
        Q: T.Tensor((64, 192), "float16"),
        K: T.Tensor((4096, 192), "float16"),
        X: T.Tensor((512,), "int32"),
        C: T.Tensor((64, 512), "float32"),
    ) -> None:
        with T.Kernel(1, threads=128):
            queries = T.alloc_shared((64, 192), "float16")
            rows = T.alloc_shared((64, 128), "float16")
            tail = T.alloc_shared((64, 64), "float16")
            scores = T.alloc_fragment((64, 64), "float32")
            T.copy(Q[:, :128], queries[:, :128])
            T.copy(Q[:, 128:], queries[:, 128:])
            for k in T.Pipelined(8, num_stages=2):
                for i, j in T.Parallel(64, 128):
                    rows[i, j] = K[X[k * 64 + i], j]
                for i, j in T.Parallel(64, 64):
                    tail[i, j] = K[X[k * 64 + i], 128 + j]
                T.clear(scores)
                T.gemm(queries[:, :128], rows, scores, transpose_B=True)
                T.gemm(queries[:, 128:], tail, scores, transpose_B=True)
                T.copy(scores, C[0, k * 64])

    return main


def gathered() -> Any:
    """Rows that an index tensor names, used twice."""

    @T.prim_func
    def main(
        A: T.Tensor((512, 64), "float16"),
        X: T.Tensor((64,), "int32"),
        C: T.Tensor((128, 64), "float16"),
    ) -> None:
        with T.Kernel(1, threads=128):
            rows = T.alloc_shared((64, 64), "float16")
            for i, j in T.Parallel(64, 64):
                rows[i, j] = A[X[i], j]
            T.copy(rows, C[0, 0])
            T.clear(C[64, 0])
            T.copy(rows, C[64, 0])

    return main


def overlapping() -> Any:
    """A copy through shared memory, of whose parameters the author says that they may overlap."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float16")) -> None:
        with T.Kernel(1, threads=64):
            T.annotate_restrict_buffers(A, B)
            a = T.alloc_shared((64,), "float16")
            T.copy(A, a)
            T.copy(a, B)

    return main
