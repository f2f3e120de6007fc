"""Which kernels TileLang hands registers over in, re-enacted on small kernels.

That the pass does so in whole kernels too is in tests/compilers/tilelang.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.nvcc import resources
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.targets.architectures import most_registers
from smemreuse.versions import TILELANG, VERSIONS

KERNEL = """
X = T.handle("int32", "global")
D = T.decl_buffer((64,), "int32", data=X)
A = T.alloc_buffer((64,), "int32", scope="shared.dyn")
m = T.alloc_buffer((4,), "uint64", scope="shared.barrier")
tx = T.launch_thread("threadIdx.x", {threads})
{before}
T.attr([128, 128], "{attribute}", 0)
if tx < {at}:
    {producer}
else:
    D[tx - 128] = A[tx - 128]
"""
LOAD = 'T.tma_load(X, m[0], T.tvm_access_ptr(T.type_annotation("int32"), A.data, 0, 64, 2), 0)'
SCOPE = "kWarpSpecializationScope"


def registers(
    threads: int = 256,
    at: int = 128,
    before: str = "T.evaluate(0)",
    producer: str = LOAD,
    attribute: str = SCOPE,
    version: str = TILELANG,
) -> int | None:
    text = KERNEL.format(
        threads=threads, at=at, before=before, producer=producer, attribute=attribute
    )
    (kernel,) = parse_dump(text).kernels
    handed = VERSIONS[version].register_pass.handed_over(kernel.body, threads)
    return None if handed is None else min(handed, most_registers(threads))


@pytest.mark.parametrize(
    ("threads", "at", "expected"),
    [
        (256, 128, 240),
        (384, 128, 168),
        (512, 128, 128),
        (512, 256, 128),
        (640, 128, None),
        (384, 256, None),
        (192, 128, None),
    ],
)
def test_layouts_of_groups(threads: int, at: int, expected: int | None) -> None:
    assert registers(threads, at) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("T.no_set_max_nreg()", None),
        ("T.annotate_consumer_reg_alloc(168)", 168),
        ("T.set_max_nreg(200, 1)", 200),
    ],
)
def test_what_a_kernel_asks_for(before: str, expected: int | None) -> None:
    assert registers(before=before) == expected
    assert registers(before=before, producer="A[tx] = 1") == expected


@pytest.mark.parametrize(
    ("version", "expected"), [("tilelang-0.1.11", 96), ("tilelang-0.1.12", None)]
)
def test_up_to_0_1_11_any_number_of_groups_will_do(version: str, expected: int | None) -> None:
    assert registers(640, 128, version=version) == expected


def test_in_0_1_9_nothing_asks_but_set_max_nreg() -> None:
    asked = "T.annotate_consumer_reg_alloc(168)"
    assert registers(before=asked, version="tilelang-0.1.10") == 168
    assert registers(before=asked, version="tilelang-0.1.9") == 240
    assert registers(before="T.set_max_nreg(200, 1)", version="tilelang-0.1.9") == 200


def test_a_producer_that_copies_by_itself_keeps_its_registers() -> None:
    assert registers(producer="A[tx] = 1") is None
    assert registers(producer="D[tx] = 1") == 240


@pytest.mark.parametrize("attribute", ["kCustomWarpSpecialization", "another"])
def test_other_attributes(attribute: str) -> None:
    assert registers(attribute=attribute) is None


CUDA = """\
extern "C" __global__ void __launch_bounds__(NTHREADS, 1) kernel(float *out) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    out[0] = 1;
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(TAKEN));
    out[threadIdx.x] = 2;
  }
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("threads", "taken"), [(256, 240), (384, 240), (512, 160), (256, 168), (256, 200)]
)
def test_ptxas_gives_as_many(threads: int, taken: int, tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(CUDA)
    defined = [f"-DNTHREADS={threads}", f"-DTAKEN={taken}"]
    command = ["nvcc", "-arch=sm_90a", "-cubin", *defined, "-o", "kernel.cubin", "kernel.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = resources((tmp_path / "kernel.cubin").read_bytes())
    assert found is not None
    assert found[0] == registers(threads, before=f"T.annotate_consumer_reg_alloc({taken})")
