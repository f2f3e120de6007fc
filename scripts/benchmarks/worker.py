"""Compiles one tile of a benchmark, waits for its turn, and launches it.

In a process of its own (`scripts.apart`), so that several compile at once, and a kernel that hangs
spoils no other.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from scripts.apart import doing
from scripts.benchmarks.timing import check, measure
from scripts.benchmarks.variants import AGAIN, DEFAULT, Variant, compile_variant, merges, timed


def work(
    name: str, tile: str, arch: str, speed: str
) -> Generator[dict[str, Any], str, dict[str, Any]]:
    """What is known when all is compiled, and then when all has been launched."""
    import torch

    from fixtures.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[name]
    config = benchmark.config(tile)
    func = benchmark.make(**config)
    names = [func.buffer_map[parameter].name for parameter in func.params]
    variants = []
    for merge in merges(speed):
        doing(f"compiling {merge.name}")
        variants.append(compile_variant(func, merge, dict(benchmark.pass_configs), arch))
    if torch.cuda.is_available():  # so that this takes no time of the launches
        torch.zeros(1, device="cuda")
    yield as_data(benchmark, tile, variants, names)
    check(benchmark, config, variants, doing)
    found = [*variants, *(one for one in timed(variants) if one.merge == AGAIN)]
    doing("timing")
    measure(benchmark, config, [one for one in found if one.runs])
    return as_data(benchmark, tile, found, names)


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
