"""Resident blocks and carve-out steps against the occupancy calculator that CUDA brings."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from smemreuse.targets.architectures import ARCHITECTURES, Architecture

THREADS = (32, 64, 96, 128, 160, 256, 384, 512, 640, 1024)
REGISTERS = (1, 16, 24, 32, 33, 40, 64, 72, 96, 128, 129, 168, 200, 232, 240, 255)
BARRIERS = (1, 2, 3, 5, 16)
SIZES = tuple(1024 * size for size in (0, 1, 3, 7, 8, 12, 24, 31, 33, 47, 63, 64, 72, 99, 112, 227))

# One line each: capability, shared memory of an SM, of a block, reserved, threads of an SM, threads
# and registers, barriers, bytes. Answers resident blocks, and the step that holds one block.
PROGRAM = """\
#include <cstdio>
#include <cuda_occupancy.h>
int main() {
  int major, minor, sm, block, reserved, most, threads, registers, barriers;
  unsigned long long bytes;
  while (scanf("%d %d %d %d %d %d %d %d %d %llu", &major, &minor, &sm, &block, &reserved, &most,
               &threads, &registers, &barriers, &bytes) == 10) {
    cudaOccDeviceProp card;
    cudaOccFuncAttributes own;
    cudaOccDeviceState state;
    cudaOccResult found;
    card.computeMajor = major;
    card.computeMinor = minor;
    card.maxThreadsPerBlock = 1024;
    card.maxThreadsPerMultiprocessor = most;
    card.regsPerBlock = card.regsPerMultiprocessor = 65536;
    card.warpSize = 32;
    card.sharedMemPerBlock = 49152;
    card.sharedMemPerMultiprocessor = sm;
    card.sharedMemPerBlockOptin = block;
    card.reservedSharedMemPerBlock = reserved;
    card.numSms = 100;
    own.maxThreadsPerBlock = 1024;
    own.numRegs = registers;
    own.sharedSizeBytes = 0;
    own.partitionedGCConfig = PARTITIONED_GC_OFF;
    own.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    own.maxDynamicSharedSizeBytes = bytes;
    own.numBlockBarriers = barriers;
    size_t step = bytes ? (bytes + reserved + 127) / 128 * 128 : reserved;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &card, &own, &state, threads, bytes) ||
        cudaOccAlignUpShmemSizeVoltaPlus(&step, &card))
      return 1;
    printf("%d %zu\\n", found.activeBlocksPerMultiprocessor, step);
  }
}
"""


pytestmark = pytest.mark.xdist_group("occupancy calculator")


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("occupancy")
    (folder / "occupancy.cu").write_text(PROGRAM)
    subprocess.run(["nvcc", "-o", "occupancy", "occupancy.cu"], cwd=folder, check=True)
    return folder / "occupancy"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=lambda arch: arch.name)
def test_the_calculator_counts_alike(arch: Architecture, calculator: Path) -> None:
    number = int(arch.name.removeprefix("sm_"))
    limits = (arch.per_sm, arch.per_block, arch.reserved, arch.threads)
    sizes = [size for size in SIZES if size <= arch.per_block]
    asked = list(itertools.product(THREADS, REGISTERS, BARRIERS, sizes))
    given = "\n".join(
        " ".join(map(str, (number // 10, number % 10, *limits, *one))) for one in asked
    )
    done = subprocess.run([calculator], input=given, capture_output=True, text=True, check=True)
    answers = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    for one, (blocks, step) in zip(asked, answers, strict=True):
        threads, registers, barriers, size = one
        assert arch.resident_blocks(size, threads, registers, barriers) == blocks, one
        assert arch.step_for(arch.taken(size)) == step
