"""Objective `speed` on whole kernels: as many blocks as can be had, and no more bytes."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.objectives import SmStanding, better_sizes
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Occupancy
from smemreuse.results.residents import Registers, RegisterSource, Residents
from smemreuse.targets.architectures import ARCHITECTURES, threads_of
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.residents import residents_with
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


def standing_with(size: int, found: Residents) -> SmStanding:
    registers = found.registers.count if found.registers else None
    asked = (size, found.threads or 0, registers, found.barriers)
    return SmStanding(H200.resident_blocks(*asked), H200.l1_left(*asked))


@pytest.mark.parametrize(
    ("threads", "registers", "most"), [(128, 24, 16), (1024, 24, 2), (128, 168, 3)]
)
def test_each_better_size_is_the_largest_of_its_standing(
    threads: int, registers: int, most: int
) -> None:
    """No byte more leaves as much; and all that threads and registers allow is there."""
    (kernel,) = parse_dump(dump(PHASES.format(threads=threads))).kernels
    found = residents_with(kernel, 150_000, H200, threads=threads, compiled=registers)
    sizes = better_sizes(found, H200)
    standings = [standing_with(size, found) for size in sizes]
    assert all(one > standing_with(150_000, found) for one in standings)
    assert len({*standings}) == len(sizes)
    assert sizes == sorted(sizes, reverse=True)
    assert max(one.blocks for one in standings) == most
    for size, standing in zip(sizes, standings, strict=True):
        assert standing_with(size + 128, found) < standing
    assert sizes[0] == H200.largest_within(132 * 1024, 1)


def test_bytes_are_not_what_a_block_lacks_that_threads_stop() -> None:
    (kernel,) = parse_dump(dump(PHASES.format(threads=1024))).kernels
    small = residents_with(kernel, 3_000, H200, threads=1024, compiled=24)
    assert better_sizes(small, H200) == []
    assert "threads (1,024 a block)" in small.words
    large = residents_with(kernel, 240_000, H200, threads=1024, compiled=24)
    assert (large.blocks, better_sizes(large, H200)) == (0, [])
