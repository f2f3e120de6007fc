"""Padded products as TileLang lowers them: a row of the product is made of that row alone.

Which registers of which lane hold which row is what `linter.discarded` knows of `mma`. The compiler
knows it, too, and puts each element where it belongs: so the two agree here or one is wrong.
"""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import walk_statements
from smemreuse.linter import lint
from smemreuse.results.hazards import HazardKind
from smemreuse.semantics.table import calls_of
from tests.compilers.tilelang.lowering import lower

pytestmark = pytest.mark.tilelang

M, N = 32, 64


def padded(rows: int, looked_at: int, dtype: str, *, transposed: bool = False) -> Any:
    """A kernel whose product has 32 rows, of which the first are filled and looked at."""
    total, k = ("int32", 64) if dtype == "int8" else ("float32", 32)
    shape = (k, M) if transposed else (M, k)

    @T.prim_func
    def main(
        A: T.Tensor((rows, k), dtype),
        B: T.Tensor((N, k), dtype),
        C: T.Tensor((looked_at, N), total),
    ) -> None:
        with T.Kernel(1, threads=128):
            a = T.alloc_shared(shape, dtype)
            b = T.alloc_shared((N, k), dtype)
            out = T.alloc_shared((M, N), total)
            c = T.alloc_fragment((M, N), total)
            for i, j in T.Parallel(rows, k):
                if transposed:
                    a[j, i] = A[i, j]
                else:
                    a[i, j] = A[i, j]
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, transpose_A=transposed, transpose_B=True)
            T.copy(c, out)
            for i, j in T.Parallel(looked_at, N):
                C[i, j] = out[i, j]

    return main


def unwritten_reads(func: Any) -> int:
    lowered = lower(func, "sm_80", {"tl.disable_tma_lower": True})
    (kernel,) = parse_dump(lowered.before.script()).kernels
    report = lint(kernel)
    assert report.unknown == ()
    calls = {call.op for stmt in walk_statements(kernel.body) for call in calls_of(stmt)}
    assert "ptx_mma" in calls
    return sum(one.kind is HazardKind.UNINITIALISED_READ for one in report.hazards)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "float8_e4m3fn"])
@pytest.mark.parametrize("rows", [1, 9, 17])
def test_rows_that_nobody_looks_at_decide_nothing(dtype: str, rows: int) -> None:
    assert unwritten_reads(padded(rows, rows, dtype)) == 0
    assert unwritten_reads(padded(rows, rows + 1, dtype)) > 0


@pytest.mark.parametrize("rows", [8, 20])
def test_a_transposed_matrix_has_its_rows_across(rows: int) -> None:
    assert unwritten_reads(padded(rows, rows, "float16", transposed=True)) == 0
    assert unwritten_reads(padded(rows, rows + 1, "float16", transposed=True)) > 0
