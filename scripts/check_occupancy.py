"""Hold our table of resident blocks against CUDA's own answer for the card at hand.

    python3 scripts/check_occupancy.py --out docs/results/occupancy-h200.json

Needs nvcc and a CUDA device: asks `cudaOccupancyMaxActiveBlocksPerMultiprocessor` about an empty
kernel for many sizes of dynamic shared memory and of blocks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

STEP = 64  # bytes
THREADS = (32, 96, 128, 160, 256, 384, 512, 640, 1024)

PROGRAM = """
#include <cstdio>
__global__ void empty() {}
int main() {
  cudaDeviceProp p;
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return 1;
  printf("%s\\n%d %d\\n%zu %zu %zu %d %d\\n", p.name, p.major, p.minor,
         p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin, p.reservedSharedMemPerBlock,
         p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor);
  cudaFuncSetAttribute(empty, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       (int)p.sharedMemPerBlockOptin);
  const int threads[] = {THREADS};
  for (int t : threads)
    for (size_t bytes = 0; bytes <= p.sharedMemPerBlockOptin; bytes += STEP) {
      int blocks = -1;
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, t, bytes);
      printf("%d %zu %d\\n", t, bytes, blocks);
    }
}
"""


def ask_cuda() -> list[str]:
    """The lines that the program prints."""
    source = PROGRAM.replace("THREADS", ", ".join(map(str, THREADS))).replace("STEP", str(STEP))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "occupancy.cu"
        path.write_text(source)
        subprocess.run(["nvcc", "-arch=native", "-o", path.with_suffix(""), path], check=True)
        done = subprocess.run([path.with_suffix("")], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def compare(lines: list[str]) -> dict[str, object]:
    from smemreuse.model.architectures import architecture

    name, capability, limits, *rows = lines
    ours = architecture("sm_" + capability.replace(" ", ""))
    reported = [int(value) for value in limits.split()]
    table = [ours.per_sm, ours.per_block, ours.reserved, ours.threads, ours.blocks]
    differences = []
    for row in rows:
        threads, shared, blocks = map(int, row.split())
        expected = ours.resident_blocks(shared, threads)
        if expected != blocks:
            differences.append(
                {"threads": threads, "bytes": shared, "cuda": blocks, "ours": expected}
            )
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "device": name,
        "arch": ours.name,
        "limits_agree": reported == table,
        "limits": reported,
        "asked": len(rows),
        "different": len(differences),
        "differences": differences[:20],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = compare(ask_cuda())
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print({key: value for key, value in found.items() if key != "differences"})
    return int(bool(found["different"]) or not found["limits_agree"])


if __name__ == "__main__":
    sys.exit(main())
