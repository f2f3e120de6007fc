"""Measure what share of a TileLang lowering our analysis and planning take. Needs no GPU.

    python -m scripts.benchmark_analysis [--out docs/results/analysis-share.json]

What is timed, where the pipeline calls it, is the merge pass and what `ThreadSync` takes longer
than TileLang's own because the plan is proved on its result. Medians of several lowerings, with
and without smemreuse in turns, in one process. TileLang's own merge pass (C++) is there for
comparison.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from scripts.results import about, options_of, write

REPEATS = 7


WATCHED = ("MergeSharedMemoryAllocations", "ThreadSync")


def timed_lowering(func: Any, arch: str) -> dict[str, float]:
    """Seconds of one whole lowering (CUDA source included), and of the watched passes inside it."""
    import tilelang
    from tilelang import tvm

    spent = dict.fromkeys(WATCHED, 0.0)

    def watched(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **options: Any) -> Callable[[Any], Any]:
            stage = make(*args, **options)

            def run(mod: Any) -> Any:
                started = time.perf_counter()
                result = stage(mod)
                spent[name] += time.perf_counter() - started
                return result

            return run

        return made

    installed = {name: getattr(tilelang.transform, name) for name in WATCHED}
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    for name, make in installed.items():
        setattr(tilelang.transform, name, watched(name, make))
    try:
        started = time.perf_counter()
        with target:
            tilelang.lower(func, target=target)
        return {"lowering": time.perf_counter() - started, **spent}
    finally:
        for name, make in installed.items():
            setattr(tilelang.transform, name, make)


def measure(func: Any, arch: str) -> dict[str, float]:
    """Median milliseconds of lowering, of planning and proof, and of TileLang's merge pass."""
    import smemreuse.tilelang

    ours, stock = [], []
    for _ in range(REPEATS):
        with smemreuse.tilelang.merge():
            ours.append(timed_lowering(func, arch))
        stock.append(timed_lowering(func, arch))

    def median(runs: list[dict[str, float]], stage: str) -> float:
        return 1e3 * statistics.median(run[stage] for run in runs)

    lowering, plan = median(ours, "lowering"), median(ours, WATCHED[0])
    proof = max(0.0, median(ours, WATCHED[1]) - median(stock, WATCHED[1]))
    return {
        "lowering_ms": round(lowering, 2),
        "merge_pass_ms": round(plan, 3),
        "proof_ms": round(proof, 3),
        "tilelang_merge_pass_ms": round(median(stock, WATCHED[0]), 3),
        "share_of_lowering": round((plan + proof) / lowering, 4),
    }


def main() -> None:
    options = options_of(__doc__, "out").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        import tilelang

        from fixtures.kernels import FIXTURES

        rows = []
        for fixture in FIXTURES.values():
            func = fixture.make(**fixture.configs["small"])
            for arch in fixture.variants or fixture.archs:
                rows.append({"fixture": fixture.name, "arch": arch, **measure(func, arch)})
                print(*rows[-1].values(), sep="\t")
    head = {**about("analysis-share"), "tilelang": tilelang.__version__}
    write(options.out, {**head, "rows": rows})


if __name__ == "__main__":
    main()
