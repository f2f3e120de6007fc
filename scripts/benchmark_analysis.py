"""Measure what share of a TileLang lowering our analysis and planning take. Needs no GPU.

    python scripts/benchmark_analysis.py [--out docs/results/analysis-share.json]

Lowering and merge pass are timed side by side in one process, medians of several lowerings; the
pass is timed where the pipeline calls it. TileLang's own pass (C++) is there for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

REPEATS = 7
ARCHS = ("sm_80", "sm_90a")


def timed_lowering(func: Any, arch: str) -> tuple[float, float]:
    """Seconds of one whole lowering (CUDA source included), and of the merge pass inside it."""
    import tilelang
    from tilelang import tvm

    installed = tilelang.transform.MergeSharedMemoryAllocations
    spent = 0.0

    def watched(**options: bool) -> Callable[[Any], Any]:
        merge = installed(**options)

        def run(mod: Any) -> Any:
            nonlocal spent
            started = time.perf_counter()
            merged = merge(mod)
            spent += time.perf_counter() - started
            return merged

        return run

    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    tilelang.transform.MergeSharedMemoryAllocations = watched
    try:
        started = time.perf_counter()
        with target:
            tilelang.lower(func, target=target)
        return time.perf_counter() - started, spent
    finally:
        tilelang.transform.MergeSharedMemoryAllocations = installed


def measure(func: Any, arch: str) -> dict[str, float]:
    """Median milliseconds of lowering, of our pass and of TileLang's, taken in turns."""
    import smemreuse.tilelang

    lowering, ours, stock = [], [], []
    for _ in range(REPEATS):
        with smemreuse.tilelang.merge():
            whole, merge = timed_lowering(func, arch)
        lowering.append(whole)
        ours.append(merge)
        stock.append(timed_lowering(func, arch)[1])
    medians = [1e3 * statistics.median(times) for times in (lowering, ours, stock)]
    return {
        "lowering_ms": round(medians[0], 2),
        "smemreuse_pass_ms": round(medians[1], 3),
        "tilelang_pass_ms": round(medians[2], 3),
        "share_of_lowering": round(medians[1] / medians[0], 4),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="where to write the JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        import tilelang

        from fixtures.kernels import FIXTURES

        rows = []
        for fixture in FIXTURES.values():
            func = fixture.make(**fixture.configs["small"])
            for arch in ARCHS:
                rows.append({"fixture": fixture.name, "arch": arch, **measure(func, arch)})
                print(*rows[-1].values(), sep="\t")
        data = {
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "python": platform.python_version(),
            "tilelang": tilelang.__version__,
            "rows": rows,
        }
    if options.out:
        options.out.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
