"""Kernels that levers are pulled in."""

from __future__ import annotations

from typing import Any

import tilelang.language as T

BM, BN, BK, K = 128, 128, 64, 512


def gemm(stages: int = 3, *, through: str = "float16", at_once: bool = False) -> Any:
    """A GEMM whose tile is stored through shared memory, of type `through`; with `at_once` a tile
    that is needed last is loaded first."""

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
