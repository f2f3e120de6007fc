"""Hold our table of resident blocks against CUDA's own answer for the card at hand.

    python3 -m scripts.check_occupancy --out docs/results/occupancy-h200.json

Needs nvcc and a CUDA device: asks `cudaOccupancyMaxActiveBlocksPerMultiprocessor` about small
kernels for many sizes of dynamic shared memory and of blocks: about one without static shared
memory, and ones with 32 static bytes before a dynamic array as TileLang and Apache TVM declare it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.results import options_of, today, write

STEP = 64  # bytes
THREADS = (32, 96, 128, 160, 256, 384, 512, 640, 1024)
KERNELS = ((0, 1024), (32, 1024), (32, 64))
"""Static bytes, and the alignment of the dynamic array, in bytes."""

PROGRAM = """
#include <cstdio>
__global__ void kernel(unsigned char *out) {
  extern __shared__ __align__(ALIGNMENT) unsigned char dynamic[];
#if STATIC
  __shared__ __align__(16) unsigned char fixed[STATIC];
  fixed[threadIdx.x % STATIC] = dynamic[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = fixed[threadIdx.x % STATIC ^ 1] + dynamic[threadIdx.x ^ 1];
#endif
}
int main() {
  cudaDeviceProp p;
  cudaFuncAttributes own;
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return 1;
  if (cudaFuncGetAttributes(&own, kernel) != cudaSuccess) return 1;
  printf("%s\\n%d %d\\n%zu %zu %zu %d %d\\n%zu\\n", p.name, p.major, p.minor,
         p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin, p.reservedSharedMemPerBlock,
         p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor, own.sharedSizeBytes);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       (int)(p.sharedMemPerBlockOptin - own.sharedSizeBytes));
  const int threads[] = {THREADS};
  for (int t : threads)
    for (size_t bytes = 0; bytes <= p.sharedMemPerBlockOptin; bytes += STEP) {
      int blocks = -1;
      if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, t, bytes) != cudaSuccess) {
        cudaGetLastError();
        blocks = 0;  // refused
      }
      printf("%d %zu %d\\n", t, bytes, blocks);
    }
}
"""


def build(folder: Path, static: int, alignment: int, arch: str = "native") -> Path:
    """The program that asks about one kernel; a module of its own, since the linker pads by it."""
    path = folder / f"occupancy_{static}_{alignment}.cu"
    path.write_text(PROGRAM.replace("THREADS", ", ".join(map(str, THREADS))))
    defined = {"STEP": STEP, "STATIC": static, "ALIGNMENT": alignment}
    options = [f"-D{name}={value}" for name, value in defined.items()]
    program = path.with_suffix("")
    subprocess.run(["nvcc", f"-arch={arch}", *options, "-o", program, path], check=True)
    return program


def ask_cuda(static: int, alignment: int) -> list[str]:
    """The lines that the program prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder), static, alignment)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def compare(static: int, alignment: int, lines: list[str]) -> dict[str, Any]:
    """CUDA's answers about one kernel against ours."""
    from smemreuse.targets.architectures import architecture
    from smemreuse.targets.blocks import BlockMemory

    name, capability, limits, padded, *rows = lines
    ours = architecture("sm_" + capability.replace(" ", ""))
    differences = []
    for row in rows:
        threads, shared, blocks = map(int, row.split())
        expected = BlockMemory(static, shared, alignment).blocks(ours, threads)
        if expected != blocks:
            differences.append(
                {"threads": threads, "bytes": shared, "cuda": blocks, "ours": expected}
            )
    return {
        "device": name,
        "arch": ours.name,
        "limits": [int(value) for value in limits.split()],
        "limits_agree": [int(value) for value in limits.split()]
        == [ours.per_sm, ours.per_block, ours.reserved, ours.threads, ours.blocks],
        "kernel": {
            "static": static,
            "alignment": alignment,
            "padded": int(padded),
            "padded_agrees": int(padded) == BlockMemory(static, 0, alignment).total,
            "asked": len(rows),
            "different": len(differences),
            "differences": differences[:20],
        },
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """One document of the answers about all kernels."""
    kernels = [each.pop("kernel") for each in found]
    return {
        "date": today(),
        **found[0],
        "asked": sum(one["asked"] for one in kernels),
        "different": sum(one["different"] for one in kernels),
        "kernels": kernels,
    }


def main() -> int:
    options = options_of(__doc__, "out").parse_args()
    found = summary([compare(*kernel, ask_cuda(*kernel)) for kernel in KERNELS])
    write(options.out, found)
    print({key: value for key, value in found.items() if key != "kernels"})
    agrees = found["limits_agree"] and all(one["padded_agrees"] for one in found["kernels"])
    return int(bool(found["different"]) or not agrees)


if __name__ == "__main__":
    sys.exit(main())
