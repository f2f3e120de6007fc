"""Which loads of shared memory are under way when a kernel arrives at an mbarrier, by its SASS.

    python -m scripts.arrivals_in_sass --out docs/results/arrivals.json [-k chunk]

A stage is released by `SYNCS.ARRIVE`. Loads (`LDS`, `LDSM`) that come before set a scoreboard when
they are over, and an instruction waits for the scoreboards in its wait mask. A load whose
scoreboard nothing has waited for by then may end after the arrival. So for kernels as they are, and
with the stores before a read that `scripts.overtaken_on_gpu` puts in. Needs nvcc, and nvdisasm on
PATH (`pip install nvidia-cuda-nvdisasm`); no GPU.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from scripts.results import ARCH, about, options_of, write

_LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/")
_HIGH = re.compile(r"/\* 0x([0-9a-f]{16}) \*/")
_NO_BOARD = 7
_CONTROL, _WRITE, _WAIT = 41, 5, 11
"""Where in the high 64 bits of an instruction its control begins, and in that the scoreboard which
it sets and the mask that it waits for: Volta's layout, which Hopper has too."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: the scoreboard that it sets, if any, and those that it waits for."""

    address: int
    text: str
    sets: int | None
    waits: int

    @property
    def is_load(self) -> bool:
        """Whether it loads shared memory."""
        return bool(re.match(r"(?:@!?U?P\w+ )?LDSM?\b", self.text))

    @property
    def releases(self) -> bool:
        """Whether a consumer arrives at an mbarrier with it; announcing bytes is another one."""
        return "SYNCS.ARRIVE" in self.text and ".A1T0" in self.text


def instructions(listing: str) -> Iterator[Instruction]:
    """Those of what `nvdisasm -c -hex` prints: the low 64 bits in a line, the high ones below."""
    lines = listing.splitlines()
    for line, below in pairwise(lines):
        found, high = _LINE.match(line), _HIGH.search(below)
        if found is None or high is None:
            continue
        control = int(high[1], 16) >> _CONTROL
        board = control >> _WRITE & 7
        sets = None if board == _NO_BOARD else board
        yield Instruction(int(found[1], 16), found[2], sets, control >> _WAIT & 63)


def arrivals(code: Iterable[Instruction]) -> list[dict[str, Any]]:
    """Each arrival, with the loads since the last one and those that nothing has waited for."""
    open_: dict[int, int] = {}
    loads, found = 0, []
    for one in code:
        for board in [board for board in open_ if one.waits >> board & 1]:
            del open_[board]
        if one.is_load and one.sets is not None:
            loads += 1
            open_[one.sets] = open_.get(one.sets, 0) + 1
        if one.releases:
            under_way = sum(open_.values())
            row = {"address": f"{one.address:#x}", "wait_mask": one.waits}
            found.append({**row, "loads": loads, "under_way": under_way})
            loads, open_ = 0, {}
    return found


def of_benchmark(name: str) -> list[dict[str, Any]]:
    """The arrivals of a benchmark's first tile."""
    from fixtures.benchmarks import BENCHMARKS
    from fixtures.kernels.lowering import cuda_source

    benchmark = BENCHMARKS[name]
    func = benchmark.make(**benchmark.config(next(iter(benchmark.tiles))))
    return of_cuda(cuda_source(func, ARCH, dict(benchmark.pass_configs)))


def behind_stores(words: Sequence[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The arrivals of each variant of `scripts.overtaken_on_gpu` whose read is behind stores."""
    from scripts.overtaken_on_gpu import KERNELS, STORES, hazards
    from smemreuse.ir.tree import StatementTree
    from smemreuse.reproduce.queued import queued

    for program in KERNELS:
        if words and not any(word in " ".join(program) for word in words):
            continue
        for kernel, hazard in hazards(program):
            attempt = queued(hazard, StatementTree(kernel.body), STORES[0])
            name = " ".join((kernel.kernel.name.removesuffix("_kernel"), *hazard.buffers))
            yield name, of_cuda(kernel.source(attempt))


def of_cuda(source: str) -> list[dict[str, Any]]:
    """The arrivals of what nvcc makes of a source."""
    from fixtures.kernels.lowering import compile_cuda

    cubin = compile_cuda(source, ARCH)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        command = ["nvdisasm", "-c", "-hex", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return arrivals(instructions(done.stdout))


BENCHMARKS_WITH_READS = (
    *("chunk_scan", "chunk_state", "gated_delta", "dequantize_gemm", "flash_backward"),
)
"""Those of which `lint` says that a fence is missing behind plain reads."""


def main() -> int:
    options = options_of(__doc__, "out", "keywords").parse_args()
    words = options.keywords
    names = [one for one in BENCHMARKS_WITH_READS if not words or any(w in one for w in words)]
    found = {name: of_benchmark(name) for name in names}
    behind = dict(behind_stores(words))
    for name, rows in (*found.items(), *behind.items()):
        print(name, ", ".join(f"{one['under_way']} of {one['loads']}" for one in rows))
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True)
    release = re.search(r"release ([\d.]+)", nvcc.stdout)
    assert release is not None
    data = {**about("arrivals"), "nvcc": release[1], "arch": ARCH}
    write(options.out, {**data, "kernels": found, "behind_stores": behind}, 4)
    return 0


if __name__ == "__main__":
    sys.exit(main())
