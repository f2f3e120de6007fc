"""Objective `occupancy` on whole kernels: as many blocks as can be had, and no more bytes."""

from __future__ import annotations

import pytest

from smemreuse.frontend.text import parse_dump, read_dump
from smemreuse.model.architectures import ARCHITECTURES, threads_of
from smemreuse.model.blocks import block_memory
from smemreuse.model.kernel import Kernel
from smemreuse.model.sequence import Plan
from smemreuse.planning import plan_kernel
from tests.conftest import DUMPS
from tests.frontend.texts import dump

H200 = ARCHITECTURES["sm_90"]
PHASES = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
S = T.alloc_buffer((4,), "uint64", scope="shared")
P = T.alloc_buffer((10000,), "float32", scope="shared.dyn")
X = T.alloc_buffer((9400,), "float32", scope="shared.dyn")
Y = T.alloc_buffer((9400,), "float32", scope="shared.dyn")
G = T.decl_buffer((1024,), "float32", data=A)
P[tx] = G[tx]
X[tx] = G[tx]
G[tx] = X[tx]
Y[tx] = G[tx]
G[tx] = Y[tx] + P[tx]
"""


def blocks(kernel: Kernel, plan: Plan) -> int | None:
    return block_memory(kernel, [plan]).blocks(H200, threads_of(kernel))


def test_the_padding_of_static_bytes_is_left_room_for() -> None:
    """Side by side, 115,200 bytes: 2 blocks but for 32 static ones, padded."""
    (kernel,) = parse_dump(dump(PHASES.format(threads=128))).kernels
    apart = plan_kernel(kernel, "shared.dyn", objective="none")
    assert (apart.arena_bytes, blocks(kernel, apart)) == (115_200, 1)
    plan = plan_kernel(kernel, "shared.dyn", objective="occupancy")
    assert blocks(kernel, plan) == 2
    assert (
        "2 blocks per SM on sm_90 (assumed), as far as shared memory and threads go" in plan.notes
    )


def test_unknown_threads_set_no_number_of_blocks() -> None:
    (kernel,) = parse_dump(dump(PHASES.format(threads="n"))).kernels
    plan = plan_kernel(kernel, "shared.dyn", objective="occupancy", arch=H200)
    assert plan.notes == ("at most 2 blocks per SM on sm_90; the number of threads is not known",)


@pytest.mark.parametrize(
    "name", ["batched_gemm.sm_90a", "stream_k.sm_90a", "flash_attention.sm_90a"]
)
def test_no_block_is_lost_to_less_sharing(name: str) -> None:
    for kernel in read_dump(str(DUMPS / f"{name}.tir")).kernels:
        for scope in kernel.shared_scopes():
            wanted = plan_kernel(kernel, scope, objective="occupancy")
            cautious = plan_kernel(kernel, scope, cautious=True)
            assert (blocks(kernel, wanted) or 0) >= (blocks(kernel, cautious) or 0)
