"""Registers of a thread: as ptxas gave them, as they are handed over, or estimated."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.nvcc import resources
from smemreuse.results.residents import Registers, RegisterSource
from smemreuse.targets.architectures import most_by_registers, most_registers
from smemreuse.targets.registers import BESIDE, BESIDE_FEW, FEW, live_registers, registers_of
from tests.advisor.dumps import kernel_of

WIDE = 'X = T.alloc_buffer((64,), "float32", scope="local")\n'
TWO = WIDE + 'Y = T.alloc_buffer((64,), "float32", scope="local")\n'


def fill(name: str, value: str = "A[tx]") -> str:
    return f"for i in T.unroll(64):\n    {name}[i] = {value}\n"


def test_locals_that_live_together_add_up() -> None:
    both = TWO + fill("X") + fill("Y") + "O[tx] = X[0] + Y[0]\n"
    assert live_registers(kernel_of(both)) == BESIDE + 128


@pytest.mark.parametrize(
    ("elements", "beside"), [(1, BESIDE_FEW), (FEW, BESIDE_FEW), (FEW + 1, BESIDE)]
)
def test_little_more_is_needed_beside_few(elements: int, beside: int) -> None:
    local = f'X = T.alloc_buffer(({elements},), "float32", scope="local")\n'
    used = f"for i in T.unroll({elements}):\n    X[i] = A[tx]\nO[tx] = X[0]\n"
    assert live_registers(kernel_of(local + used)) == beside + elements


def test_one_that_dies_gives_its_registers_to_what_is_made_of_it() -> None:
    turned = TWO + fill("X") + fill("Y", "X[i]") + "O[tx] = Y[0]\n"
    assert live_registers(kernel_of(turned)) == BESIDE + 64


def test_what_is_carried_round_a_loop_lives_in_all_of_it() -> None:
    used = "    O[tx] = X[0]\n"
    inner = "".join(f"    {line}\n" for line in fill("Y").splitlines()) + "    O[tx] = Y[0]\n"
    carried = TWO + fill("X") + "for k in range(8):\n" + used + inner
    before = TWO + fill("X") + "O[tx] = X[0]\nfor k in range(8):\n" + inner
    assert live_registers(kernel_of(carried)) == BESIDE + 128
    assert live_registers(kernel_of(before)) == BESIDE + 64


LARGE = 'X = T.alloc_buffer((300,), "float32", scope="local")\n' + fill("X").replace("64", "300")
LARGE += "for i in range(9):\n    O[i] = X[i]\n"


@pytest.mark.parametrize(("threads", "count"), [(128, 255), (288, 168), (512, 128), (1024, 64)])
def test_an_estimate_is_never_more_than_lets_a_block_launch(threads: int, count: int) -> None:
    found = registers_of(kernel_of(LARGE, threads=threads))
    assert found == Registers(count, RegisterSource.ESTIMATE)


def test_every_number_of_threads_launches_with_the_most_registers() -> None:
    for threads in range(1, 1025):
        most = most_registers(threads)
        assert most_by_registers(threads, most) >= 1, threads
        assert most == 255 or most_by_registers(threads, most + 8) == 0, threads


def test_what_ptxas_gave_is_taken_as_it_is() -> None:
    kernel = kernel_of(LARGE)
    assert registers_of(kernel, compiled=77) == Registers(77, RegisterSource.PTXAS)


def test_ptxas_may_be_asked_for_more_blocks() -> None:
    asked = 'T.attr(None, "tl.min_blocks_per_sm", 2)\n' + LARGE
    found = registers_of(kernel_of(asked, threads=256))
    assert found == Registers(128, RegisterSource.ESTIMATE)


def test_an_unknown_number_of_threads_has_no_registers() -> None:
    assert registers_of(kernel_of(LARGE, threads="n")) is None  # type: ignore[arg-type]


CUDA = """\
extern "C" __global__ void __launch_bounds__(THREADS_OF_A_BLOCK, BLOCKS) kernel(float *out) {
  float kept[400];
#pragma unroll
  for (int i = 0; i < 400; i++) kept[i] = out[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 400; i++) out[(399 - i) * 1024 + threadIdx.x] = kept[i] * kept[i * 7 % 400];
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("threads", "blocks"),
    [(160, 1), (288, 1), (320, 1), (416, 1), (544, 1), (800, 1), (1024, 1), (96, 3), (288, 2)],
)
def test_ptxas_gives_as_many_as_we_say(tmp_path: Path, threads: int, blocks: int) -> None:
    source = tmp_path / "wide.cu"
    source.write_text(CUDA)
    cubin = source.with_suffix(".cubin")
    defined = [f"-DTHREADS_OF_A_BLOCK={threads}", f"-DBLOCKS={blocks}"]
    command = ["nvcc", "-cubin", "-arch=sm_90a", *defined, "-o", str(cubin), str(source)]
    subprocess.run(command, check=True)
    found = resources(cubin.read_bytes())
    assert found is not None
    assert found[0] == most_registers(threads, blocks)
