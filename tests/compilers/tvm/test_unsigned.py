"""Unsigned arithmetic of live TIR, and of its dump: both know where it wraps."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.script import tirx as T

import smemreuse.tvm
from fixtures.tvm.lowering import capture, compile_module
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.pipeline.planning import plan_kernel

pytestmark = pytest.mark.tvm


@T.prim_func(s_tir=True)
def range_check(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
    T.launch_thread("blockIdx.x", 1)
    tx = T.launch_thread("threadIdx.x", 128)
    X = T.alloc_buffer((128,), "float32", scope="shared.dyn")
    Y = T.alloc_buffer((128,), "float32", scope="shared.dyn")
    X[tx] = A[tx]
    for k in T.serial(4):
        if T.Cast("uint32", tx) - T.uint32(32) < T.uint32(96):  # 32 <= tx < 128
            X[tx] = A[k * 128 + tx]
        C[k * 128 + tx] = X[127 - tx]
        Y[tx] = A[128 + k * 128 + tx]
        C[512 + k * 128 + tx] = Y[127 - tx]


def module() -> Any:
    return tvm.IRModule({"main": range_check})


def test_threads_that_are_left_out_do_not_refill() -> None:
    """The first 32 threads keep what they had, which Y would overwrite."""
    with smemreuse.tvm.merge(objective="bytes") as session:
        compile_module(module(), {"tirx.disable_storage_rewrite": True})
    (applied,) = session.plans
    assert applied.plan.sharing_pairs() == []


def test_the_dump_says_so_too() -> None:
    before, _ = capture(module(), {"tirx.disable_storage_rewrite": True})
    (kernel,) = parse_dump(before.script()).kernels
    assert plan_kernel(kernel, "shared.dyn").sharing_pairs() == []
