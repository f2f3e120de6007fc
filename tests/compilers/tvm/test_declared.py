"""A function that the user declares, in an Apache TVM lowering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plugins.added import nothing_added

__all__ = ["nothing_added"]

pytestmark = pytest.mark.tvm

FILL = """
__device__ void mylib_fill(float* x, float value) {
  x[threadIdx.x] = value;
  __syncthreads();
}
"""
DECLARED = """
[functions.mylib_fill]
arguments = [{ access = "write", bytes = 4096, surely = "block" }, "value"]
asynchronous = false
escapes = false
barrier_at_end = true
"""


def make() -> Any:
    import tvm
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4096,), "float32"), C: T.Buffer((4096,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 1024)
        X = T.alloc_buffer((1024,), "float32", scope="shared.dyn")
        Y = T.alloc_buffer((1024,), "float32", scope="shared.dyn")
        O = T.alloc_buffer((1,), "float32", scope="local")  # noqa: E741
        for k in range(4):
            T.evaluate(
                T.cuda.func_call(
                    "mylib_fill", T.address_of(X[0]), A[bx + k * 1024 + tx], source_code=FILL
                )
            )
            O[0] = X[1023 - tx]
            Y[tx] = O[0] + T.float32(1)
            T.tvm_storage_sync("shared.dyn")
            C[k * 1024 + tx] = Y[1023 - tx]
            T.tvm_storage_sync("shared.dyn")

    return tvm.IRModule({"main": main})


def merged() -> Any:
    import smemreuse.tvm
    from fixtures.tvm.lowering import compile_module

    with smemreuse.tvm.merge(objective="bytes") as session:
        compile_module(make(), {})
    (applied,) = session.plans
    return applied


def test_without_a_declaration_nothing_is_shared() -> None:
    assert merged().plan.arena_bytes == 8_192


def test_with_one_the_plan_is_applied_and_says_on_whose_word() -> None:
    Path("smemreuse.toml").write_text(DECLARED)
    applied = merged()
    assert applied.plan.arena_bytes == 4_096
    assert applied.verdict.sound
    told = "`mylib_fill` does as declared by smemreuse.toml, line 2"
    assert told in applied.verdict.assumptions
