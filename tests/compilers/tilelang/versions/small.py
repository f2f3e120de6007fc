"""Small kernels in the forms that programs write them in, for any version of TileLang.

This is a module of its own since programs that tests start import it as well.
"""

from __future__ import annotations

import os
from typing import Any

import tilelang
import tilelang.language as T
from tilelang import tvm

ARCH = "sm_80"
TARGET = tvm.target.Target({"kind": "cuda", "arch": ARCH})
ROWS, COLUMNS = 64, 32
TILE = ROWS * COLUMNS * 4
"""The bytes of each of the two tiles of a kernel; one is over before the other is filled."""


def tiles(rows: int = ROWS, columns: int = COLUMNS) -> Any:
    """A PrimFunc; its second tile, columns and rows exchanged in time, may lie where the first does."""

    @T.prim_func
    def tiles_of(
        A: T.Tensor((rows, columns), "float32"),
        B: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((rows, columns), "float32")
            Y = T.alloc_shared((rows, columns), "float32")
            Xl = T.alloc_fragment((rows, columns), "float32")
            Yl = T.alloc_fragment((rows, columns), "float32")
            T.copy(A, X)
            T.copy(X, Xl)
            for i, j in T.Parallel(rows, columns):
                Xl[i, j] = Xl[i, j] + X[rows - 1 - i, j]
            T.copy(Xl, Y)
            T.copy(Y, Yl)
            for i, j in T.Parallel(rows, columns):
                Yl[i, j] = Yl[i, j] + Y[rows - 1 - i, j]
            T.copy(Yl, B)

    return tiles_of


lazy = tilelang.jit(target=TARGET)(tiles)
tuned = tilelang.autotune(configs=[{"rows": 32}, {"rows": 64}])(tilelang.jit(target=TARGET)(tiles))
unshared = tilelang.jit(target=TARGET, pass_configs={"tl.disable_thread_storage_sync": True})(tiles)


@tilelang.jit(target=TARGET)
def eager(A, B, rows: int = ROWS):
    columns = T.const("columns")
    A: T.Tensor[[rows, columns], T.float32]
    B: T.Tensor[[rows, columns], T.float32]
    with T.Kernel(1, threads=128):
        X = T.alloc_shared((rows, COLUMNS), T.float32)
        Y = T.alloc_shared((rows, COLUMNS), T.float32)
        T.copy(A, X)
        T.copy(X, B)
        T.copy(A, Y)
        T.copy(Y, B)


@tilelang.jit(target=TARGET)
def needing_rows(A, rows):
    columns = T.const("columns")
    A: T.Tensor[[rows, columns], T.float32]
    with T.Kernel(1, threads=128):
        T.fill(A, 0)


@T.macro
def through(source, S, target):
    T.copy(source, S)
    T.copy(S, target)


class Layer:
    """A kernel as a method, which is made of a macro and of what its object has."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def kernel(self, columns: int = COLUMNS) -> Any:
        rows = self.rows

        @T.prim_func
        def layer(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
            with T.Kernel(1, threads=128):
                X = T.alloc_shared((rows, columns), "float32")
                Y = T.alloc_shared((rows, columns), "float32")
                through(A, X, B)
                through(A, Y, B)

        return layer

    @property
    def jitted(self) -> Any:
        return tilelang.jit(self.kernel, target=TARGET)


if __name__ == "__main__":
    kernel = lazy()
    print(len(kernel.get_kernel_source()), os.environ.get("TILELANG_CACHE_DIR"))
