"""A process that compiles some tiles of one benchmark, waits for its turn, and launches them.

One of its own for each, so that all compile at once, and a kernel that hangs spoils no other.
It writes a line of JSON when all is compiled, and one for each tile.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

from scripts.benchmarks.timing import check, measure
from scripts.benchmarks.variants import AGAIN, DEFAULT, Variant, compile_variant, merges, timed


def work(name: str, tiles: Sequence[str], arch: str, speed: str, out: IO[str]) -> None:
    """Compiles, then launches if a line comes in; at the end of input it only tells."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        from fixtures.benchmarks import BENCHMARKS

        benchmark = BENCHMARKS[name]
        compiled: dict[str, list[Variant]] = {}
        for tile in tiles:
            func = benchmark.make(**benchmark.config(tile))
            options = dict(benchmark.pass_configs)
            compiled[tile] = [compile_variant(func, one, options, arch) for one in merges(speed)]
        _tell(out, {"compiled": sum(map(len, compiled.values()))})
        launches = bool(sys.stdin.readline().strip())
        for tile, variants in compiled.items():
            found = variants
            if launches:
                check(benchmark, benchmark.config(tile), variants)
                found = [*variants, *(one for one in timed(variants) if one.merge == AGAIN)]
                measure(benchmark, benchmark.config(tile), [one for one in found if one.runs])
            _tell(out, as_data(benchmark, tile, found))


def as_data(benchmark: Any, tile: str, variants: Sequence[Variant]) -> dict[str, Any]:
    default = next((one for one in variants if one.merge == DEFAULT), None)
    return {
        "benchmark": benchmark.name,
        "summary": benchmark.summary,
        "tile": tile,
        "config": dict(benchmark.config(tile)),
        "variants": [one.as_data(default) for one in variants],
    }


def _tell(out: IO[str], data: object) -> None:
    out.write(json.dumps(data) + "\n")
    out.flush()


def main(arguments: Sequence[str]) -> None:
    """Called as `worker BENCHMARK ARCH SPEED TILE...`; compilers' own words go to stderr."""
    name, arch, speed, *tiles = arguments
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    work(name, tiles, arch, speed, out)
