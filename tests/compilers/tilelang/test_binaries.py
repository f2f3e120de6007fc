"""The registers that a cubin tells are those that ptxas says it has given."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tilelang.contrib import nvcc

from smemreuse.compilers.tilelang.binaries import barriers_of, registers_of

SOURCE = """
extern "C" __global__ void few(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void many(const float* x, float* y) {
  float sums[48];
  #pragma unroll
  for (int i = 0; i < 48; ++i) sums[i] = x[i * 128 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 48; ++i) y[i * 128 + threadIdx.x] = sums[i] * sums[47 - i];
  if (threadIdx.x < 64) asm volatile("bar.sync 4, 64;" ::: "memory");
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_they_are_what_ptxas_says(arch: str, tmp_path: Path) -> None:
    source, cubin = tmp_path / "kernels.cu", tmp_path / "kernels.cubin"
    source.write_text(SOURCE)
    options = ["--cubin", f"-arch={arch}", "-Xptxas", "-v", "-o", str(cubin), str(source)]
    done = subprocess.run(
        [nvcc.get_nvcc_compiler(), *options], check=True, capture_output=True, text=True
    )
    told = re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", done.stderr, re.S)
    assert {name: int(count) for name, count in told} == registers_of(cubin.read_bytes())
    assert {name for name, _ in told} == {"few", "many"}
    used = re.findall(
        r"entry function '(\w+)'(?:(?!entry).)*?used (\d+) barriers", done.stderr, re.S
    )
    assert {name: int(count) for name, count in used} == {"few": 0, "many": 5}
    assert barriers_of(cubin.read_bytes()).get("few", 0) == 0
    assert barriers_of(cubin.read_bytes())["many"] == 5


def test_what_is_no_cubin_tells_nothing() -> None:
    assert registers_of(b"") == {}
    assert registers_of(b"\x50\xed\x55\xba" + bytes(100)) == {}
    assert barriers_of(b"") == {}
