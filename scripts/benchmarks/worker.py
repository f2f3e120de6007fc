"""A process that compiles one tile of a benchmark, waits for its turn, and launches it.

One of its own for each, so that several compile at once, and a kernel that hangs spoils no other.
What it tells, and when, is written in `process`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

from scripts.benchmarks.process import tell
from scripts.benchmarks.timing import check, measure
from scripts.benchmarks.variants import AGAIN, DEFAULT, Variant, compile_variant, merges, timed
from scripts.harness import first_line


def work(name: str, tile: str, arch: str, speed: str, out: IO[str]) -> None:
    """Compiles, then launches if a line comes in; at the end of input it only compiles."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        import torch

        from fixtures.benchmarks import BENCHMARKS

        benchmark = BENCHMARKS[name]
        config = benchmark.config(tile)
        func = benchmark.make(**config)
        names = [func.buffer_map[parameter].name for parameter in func.params]
        options = dict(benchmark.pass_configs)
        variants = []
        for merge in merges(speed):
            tell(out, doing=f"compiling {merge.name}")
            variants.append(compile_variant(func, merge, options, arch))
        if torch.cuda.is_available():  # so that this takes no time of the launches
            torch.zeros(1, device="cuda")
        tell(out, found=as_data(benchmark, tile, variants, names))
        if not sys.stdin.readline().strip():
            return
        check(benchmark, config, variants, lambda what: tell(out, doing=what))
        found = [*variants, *(one for one in timed(variants) if one.merge == AGAIN)]
        tell(out, doing="timing")
        measure(benchmark, config, [one for one in found if one.runs])
        tell(out, found=as_data(benchmark, tile, found, names))


def as_data(
    benchmark: Any, tile: str, variants: Sequence[Variant], names: Sequence[str]
) -> dict[str, Any]:
    """All that is known of a tile; `names` are those of the kernel's arguments."""
    default = next((one for one in variants if one.merge == DEFAULT), None)
    return {
        "benchmark": benchmark.name,
        "summary": benchmark.summary,
        "tile": tile,
        "config": dict(benchmark.config(tile)),
        "variants": [one.as_data(default, names) for one in variants],
    }


def main(arguments: Sequence[str]) -> None:
    """Called as `worker BENCHMARK TILE ARCH SPEED`; compilers' own words go to stderr."""
    name, tile, arch, speed = arguments
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        work(name, tile, arch, speed, out)
    except Exception as error:
        tell(out, failed=f"{type(error).__name__}: {first_line(error)}")
        raise
