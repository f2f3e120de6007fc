"""Objective `speed` on whole kernels: as many blocks as can be had, and no more bytes."""

from __future__ import annotations

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Occupancy
from smemreuse.results.residents import Registers, RegisterSource
from smemreuse.targets.architectures import ARCHITECTURES, threads_of
from smemreuse.targets.blocks import block_memory
from tests.compilers.text.texts import dump

H200 = ARCHITECTURES["sm_90"]
LEFT = (256 - 164) * 1024
EXPECTED = Registers(24, RegisterSource.ESTIMATE)
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
    plan = plan_kernel(kernel, "shared.dyn", objective="speed")
    assert blocks(kernel, plan) == 2
    assert plan.provenance.occupancy == Occupancy(
        2, "sm_90", assumed=True, threads_known=True, l1_left=LEFT, registers=EXPECTED
    )


def test_unknown_threads_set_no_number_of_blocks() -> None:
    (kernel,) = parse_dump(dump(PHASES.format(threads="n"))).kernels
    plan = plan_kernel(kernel, "shared.dyn", objective="speed", arch=H200)
    assert plan.provenance.occupancy == Occupancy(
        2, "sm_90", assumed=False, threads_known=False, l1_left=LEFT, registers=EXPECTED
    )
