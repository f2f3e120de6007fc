"""What blocks take of shared memory under the compiler's merge and under ours."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Attr, walk_statements
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.targets.blocks import STATIC_LIMIT
from tests.compilers.text.texts import dump
from tests.pipeline.lowered import STOCK, of_dump


def test_bytes_hold_the_arena_and_what_lies_beside_it() -> None:
    """The pipelined GEMM has four mbarriers of 8 bytes each, padded up to the dynamic array."""
    found = of_dump("batched_gemm.sm_90a", "bytes").footprint()
    assert (found.bytes_before, found.bytes_after) == (65_536 + 1_024, 32_768 + 1_024)
    assert found.static_bytes == 32
    assert (found.arch, found.limit, found.threads) == ("sm_90", 232_448, 256)
    assert (found.blocks_before, found.blocks_after) == (3, 6)
    assert found.fits


def test_blocks_are_those_of_the_architecture_asked_for() -> None:
    kernel = of_dump("batched_gemm.sm_80", "bytes")
    found = kernel.footprint(ARCHITECTURES["sm_75"])
    assert (found.blocks_before, found.blocks_after) == (1, 2)
    assert found.limit == 65_536


def test_a_kernel_too_large_does_not_fit() -> None:
    kernel = of_dump("stream_k.sm_80", "none")
    assert kernel.footprint().fits
    (applied,) = kernel.plans
    size = kernel.footprint().bytes_after
    assert size is not None
    small = replace(ARCHITECTURES["sm_80"], per_block=size - 1)
    assert kernel.footprint(small).fits is False
    assert kernel.footprint(replace(small, per_block=size)).fits is True
    huge = replace(applied, plan=replace(applied.plan, arena_bytes=200_000))
    assert replace(kernel, plans=(huge,)).footprint().fits is False


ONE_BUFFER = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
As = T.alloc_buffer(({count},), "float32", scope="{scope}")
As[tx] = T.float32(0)
"""


def one_buffer(count: str = "64", scope: str = "shared.dyn", threads: str = "32") -> LoweredKernel:
    (kernel,) = parse_dump(
        dump(ONE_BUFFER.format(count=count, scope=scope, threads=threads))
    ).kernels
    return LoweredKernel(kernel, STOCK)


def test_a_single_buffer_is_counted_without_a_plan() -> None:
    kernel = one_buffer()
    found = kernel.footprint(ARCHITECTURES["sm_90"])
    assert (found.bytes_before, found.bytes_after, found.static_bytes) == (256, 256, 0)
    assert found.blocks_after == 32


def test_static_memory_has_a_limit_of_its_own() -> None:
    arch = ARCHITECTURES["sm_90"]
    for count, blocks in ((STATIC_LIMIT // 4, 4), (STATIC_LIMIT // 4 + 1, 0)):
        found = one_buffer(str(count), "shared").footprint(arch)
        assert found.static_bytes == found.bytes_after == 4 * count
        assert (found.fits, found.blocks_after) == (blocks > 0, blocks)
    assert one_buffer(str(STATIC_LIMIT // 4 + 1)).footprint(arch).fits


def test_what_is_not_known_is_none() -> None:
    for kernel in (one_buffer(count="n"), one_buffer(threads="n")):
        found = kernel.footprint(ARCHITECTURES["sm_90"])
        assert found.blocks_before is None
        assert found.blocks_after is None
    assert one_buffer(count="n").footprint(ARCHITECTURES["sm_90"]).fits is None
    nowhere = one_buffer().footprint()
    assert (nowhere.arch, nowhere.limit, nowhere.fits) == (None, None, None)
    assert nowhere.bytes_after == 256


def test_threads_are_those_of_the_launch() -> None:
    """The oracle of `threads`: the only extent of the dump's thread launch."""
    kernel = of_dump("batched_gemm.sm_80").kernel
    extents = {
        str(stmt.node.value): stmt.value.value
        for stmt in walk_statements(kernel.body)
        if isinstance(stmt, Attr) and isinstance(stmt.node, Const) and isinstance(stmt.value, Const)
    }
    assert of_dump("batched_gemm.sm_80").footprint().threads == extents["threadIdx.x"]
