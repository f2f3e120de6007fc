"""What a block takes, against what the driver and ptxas say of such arrays."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.targets.blocks import STATIC_LIMIT, BlockMemory, block_memory
from smemreuse.versions import APACHE_TVM, LEGACY, TILELANG
from tests.compilers.text.texts import dump

H200 = ARCHITECTURES["sm_90"]


@pytest.mark.parametrize(
    ("dynamic", "fits", "blocks"),
    [(114_688, True, 2), (115_200, True, 1), (231_424, True, 1), (231_936, False, 0)],
)
def test_static_bytes_cost_the_alignment_of_the_dynamic_array(
    dynamic: int, fits: bool, blocks: int
) -> None:
    """32 static bytes beside `__align__(1024)`: what an H200 accepts, and how often."""
    memory = BlockMemory(32, dynamic, 1024)
    assert memory.total == 1_024 + dynamic
    assert (memory.fits(H200), memory.blocks(H200, 256)) == (fits, blocks)


def test_too_many_static_bytes_do_not_launch() -> None:
    assert BlockMemory(STATIC_LIMIT, 0, 1).blocks(H200, 32) == 4
    for dynamic in (0, None):
        memory = BlockMemory(STATIC_LIMIT + 1, dynamic, 1024)
        assert (memory.fits(H200), memory.blocks(H200, None)) == (False, 0)


def test_what_is_not_known() -> None:
    for memory in (BlockMemory(None, 8, 1024), BlockMemory(8, None, 1024)):
        assert (memory.total, memory.fits(H200), memory.blocks(H200, 32)) == (None, None, None)
    assert BlockMemory(8, 8, 1024).blocks(H200, None) is None


@pytest.mark.parametrize(("scope", "most"), [("shared.dyn", 9_000), ("shared", 9_000)])
def test_growth_ends_at_the_limit(scope: str, most: int) -> None:
    memory = BlockMemory(40, 2_000, 1024)

    def grown(by: int) -> int:
        one = "dynamic" if scope == "shared.dyn" else "static"
        return replace(memory, **{one: getattr(memory, one) + by}).total or 0

    growth = memory.growth(scope, most)
    assert grown(growth) <= most < grown(growth + 1)


BOTH = """\
bx = T.launch_thread("blockIdx.x", 4)
tx = T.launch_thread("threadIdx.x", 32)
S = T.alloc_buffer((5,), "uint8", scope="shared")
R = T.alloc_buffer((8,), "uint8", scope="shared")
D = T.alloc_buffer((128,), "float32", scope="shared.dyn")
E = T.alloc_buffer((128,), "float32", scope="shared.dyn")
S[0] = T.uint8(0)
R[0] = S[0]
D[tx] = T.float32(0)
E[tx] = D[tx]
"""


def both(version: str) -> Kernel:
    (kernel,) = parse_dump(dump(BOTH)).kernels
    return replace(kernel, version=version)


@pytest.mark.parametrize(
    ("version", "static", "total"),
    [(TILELANG, 24, 1_024 + 1_024), (LEGACY, 24, 1_024 + 1_024), (APACHE_TVM, 72, 128 + 1_024)],
)
def test_each_compiler_declares_its_own_alignment(version: str, static: int, total: int) -> None:
    kernel = both(version)
    for memory in (
        block_memory(kernel, []),
        block_memory(kernel, [plan_kernel(kernel, "shared.dyn", objective="none")]),
    ):
        assert (memory.static, memory.total) == (static, total)


def test_static_arrays_alone_are_not_padded() -> None:
    (kernel,) = parse_dump(dump("\n".join(BOTH.splitlines()[:4]) + "\nS[0] = R[0]\n")).kernels
    assert block_memory(kernel, []) == BlockMemory(24, 0, 1)


CUDA = """\
extern "C" __global__ void kernel(unsigned char *out) {
  %s
  __shared__ %s unsigned char S[5];
  __shared__ %s unsigned char R[8];
  S[threadIdx.x] = R[threadIdx.x] = 1;
  __syncthreads();
  *out = S[threadIdx.x ^ 1] + R[threadIdx.x ^ 1];
  %s
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("version", "static", "dynamic"), [(TILELANG, 16, 1024), (APACHE_TVM, 64, 64)]
)
@pytest.mark.parametrize("is_alone", [True, False])
def test_ptxas_counts_alike(
    version: str, static: int, dynamic: int, is_alone: bool, tmp_path: Path
) -> None:
    """The static part with its padding, of arrays declared as the two compilers do."""
    array = "" if is_alone else f"extern __shared__ __align__({dynamic}) unsigned char D[];"
    use = "" if is_alone else "*out += D[threadIdx.x];"
    aligned = f"__align__({static})"
    (tmp_path / "kernel.cu").write_text(CUDA % (array, aligned, aligned, use))
    done = subprocess.run(
        ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "kernel.cu"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    counted = re.search(r"(\d+) bytes smem", done.stdout + done.stderr)
    assert counted is not None
    memory = block_memory(both(version), [])
    expected = memory.static if is_alone else (memory.total or 0) - (memory.dynamic or 0)
    assert int(counted[1]) == expected
