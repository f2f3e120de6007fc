"""Time common kernels under TileLang's merge and ours on a CUDA device, and check the results.

    python -m scripts.benchmark_on_gpu --out docs/results/benchmarks-h200.json
    python -m scripts.benchmark_on_gpu --rehearse     # lower and compile only: needs no GPU

Each kernel of fixtures/benchmarks, at each tile, is compiled as TileLang merges it, as smemreuse
does for the fewest bytes and for speed, and with its buffers side by side. All are held against a
reference in float64, bit for bit against each other, and timed in turns from a cold L2 cache.
What is found is written after each tile.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.apart import Named, Worker, command_of, in_turn
from scripts.benchmarks.variants import AGAIN, DEFAULT, SPEED_OBJECTIVE
from scripts.benchmarks.worker import work
from scripts.results import about_gpu, options_of, write

SECONDS_TO_COMPILE = 300
SECONDS_TO_LAUNCH = 40


def workers(names: Sequence[str], arch: str, speed: str) -> list[Named]:
    """One for each tile."""
    from fixtures.benchmarks import BENCHMARKS

    tiles = [(name, tile) for name in names or BENCHMARKS for tile in BENCHMARKS[name].tiles]
    return [
        (
            {"benchmark": name, "tile": tile, "variants": []},
            Worker(command_of(work, name, tile, arch, speed)),
        )
        for name, tile in tiles
    ]


def brief(found: Mapping[str, Any]) -> str:
    """A line for the terminal; `?` marks outputs in which a kernel differs from itself."""
    label = f"{found['benchmark']:20} {found['tile']:26}"
    if "error" in found:
        label += f" {found['error']}:"
    cells = []
    for one in found["variants"]:
        if one["merge"] == AGAIN:
            continue
        time_ms = f" {one['median_ms']:.4f}" if one["median_ms"] else ""
        wrong = f" WRONG {one['wrong_launches']}" if one["wrong_launches"] else ""
        differs = " differs" if one["bitwise_equal"] is False else ""
        unsteady = "".join(f" {name}?" for name, count in one["differing"].items() if count)
        failed = " failed" if one["compile_error"] or one["launch_error"] else ""
        step = (one["carveout"] or 0) // 1024
        cells.append(f"{one['block_bytes']}/{step}{time_ms}{wrong}{differs}{unsteady}{failed}")
    return f"{label} {' | '.join(cells)}"


def slower(tiles: Sequence[Mapping[str, Any]]) -> list[str]:
    """Kernels of at least 50 microseconds that `speed` makes over 1 % slower than the default."""
    found = []
    for one in tiles:
        by_merge = {variant["merge"]: variant for variant in one.get("variants", ())}
        default, speed = by_merge.get(DEFAULT), by_merge.get("smemreuse speed")
        if not default or not speed or not default["median_ms"] or "of_default" not in speed:
            continue
        ratio = speed["of_default"]["median"]
        if default["median_ms"] >= 0.05 and ratio > 1.01:
            found.append(f"{one['benchmark']} {one['tile']}: {ratio:.3f}")
    return found


def parser() -> argparse.ArgumentParser:
    found = options_of(__doc__, "out", "rehearse", "arch")
    found.add_argument("--speed", default=SPEED_OBJECTIVE, help="the objective that is to be fast")
    found.add_argument("--workers", type=int, help="how many compile at once (default: by cores)")
    found.add_argument("--compile-seconds", type=float, default=SECONDS_TO_COMPILE)
    found.add_argument("names", nargs="*", help="benchmarks (default: all)")
    return found


def main() -> int:
    options = parser().parse_args()
    started = time.monotonic()
    team = workers(options.names, options.arch, options.speed)
    tiles: list[dict[str, Any]] = []
    about = {**about_gpu("benchmarks", tilelang=True), "arch": options.arch}
    for found in in_turn(team, options, SECONDS_TO_LAUNCH):
        tiles.append(found)
        print(brief(found), flush=True)
        write(options.out, {**about, "tiles": tiles})
    print(f"{time.monotonic() - started:.0f} s; slower than the default: {slower(tiles) or 'none'}")
    return int(any("error" in one for one in tiles))


if __name__ == "__main__":
    sys.exit(main())
