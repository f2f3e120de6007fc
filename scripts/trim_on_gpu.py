"""What `merge(trim=True)` gains on a CUDA device, and that it changes no bit.

    python -m scripts.trim_on_gpu --out docs/results/trim-h200.json
    python -m scripts.trim_on_gpu --rehearse        # lowers and compiles only: needs no GPU

Tiles of the benchmarks, each in a process of its own: mended, and mended and trimmed, launched in
turns on the same inputs, held against float64 and against each other, then timed in turns. Exit 1
if what was trimmed was wrong, or another in any launch.
"""

from __future__ import annotations

import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scripts.apart import command_of, found_apart
from scripts.benchmarks.timing import measure
from scripts.benchmarks.variants import Variant
from scripts.harness import fresh_inputs, launch, ratio, same_outputs
from scripts.results import ARCH, about_gpu, options_of, write

MENDED, TRIMMED = "mended", "mended, trimmed"
LAUNCHES = 12
SECONDS_EACH = 200
AT_ONCE = 8
"""Processes that compile at once; a lock lets one of them time."""
TILES_EACH = 2


def compiled(benchmark: Any, tile: str, *, trim: bool) -> tuple[Any, list[str]]:
    """A kernel, and what was taken out of it."""
    import tilelang

    import smemreuse.tilelang

    func = benchmark.make(**benchmark.config(tile))
    target, options = {"kind": "cuda", "arch": ARCH}, dict(benchmark.pass_configs)
    with smemreuse.tilelang.merge(mend=True, trim=trim) as session:
        kernel = tilelang.compile(func, target=target, pass_configs=options)
    return kernel, [each for one in session.trimmings for each in one.sentences]


def measured(name: str, tile: str, lock: str | None) -> dict[str, Any]:
    """Both variants of a tile, in this process; without a `lock` they are compiled alone."""
    from pathlib import Path

    from fixtures.benchmarks import BENCHMARKS
    from scripts.spaces.launching import alone

    benchmark = BENCHMARKS[name]
    kernels = {
        title: compiled(benchmark, tile, trim=title == TRIMMED) for title in (MENDED, TRIMMED)
    }
    found: dict[str, Any] = {"kernel": name, "tile": tile, "taken_out": kernels[TRIMMED][1]}
    if lock is None:
        return found
    with alone(Path(lock)):
        config = benchmark.config(tile)
        variants = [Variant(title, kernel=one) for title, (one, _) in kernels.items()]
        args = fresh_inputs(benchmark, config)
        expected = benchmark.reference(args, config)
        differing = unsteady = 0
        before: Any = None
        for _ in range(LAUNCHES):
            outputs = []
            for variant in variants:
                given = launch(variant, args, expected)
                if given is None:
                    raise RuntimeError(f"{variant.merge}: {variant.launch_error}")
                variant.judge(given, expected, benchmark.tolerance)
                outputs.append(given)
            one, two = outputs
            differing += not same_outputs(one, two)
            unsteady += before is not None and not same_outputs(one, before)
            before = one
        measure(benchmark, config, variants)
    mended, trimmed = variants
    return {
        **found,
        "launches": LAUNCHES,
        "differing_launches": differing,
        "mended_unsteady": unsteady,  # it adds in any order
        "wrong_launches": trimmed.wrong_launches,
        "wrong_mended": mended.wrong_launches,
        "median_ms": [round(statistics.median(one.rounds_ms), 5) for one in variants],
        "of_mended": ratio(trimmed.rounds_ms, mended.rounds_ms),
    }


def main() -> int:
    import tempfile
    from pathlib import Path

    options = options_of(__doc__, "out", "rehearse").parse_args()
    from fixtures.benchmarks import BENCHMARKS

    jobs = [
        (name, tile) for name, one in BENCHMARKS.items() for tile in list(one.tiles)[:TILES_EACH]
    ]
    about = {} if options.rehearse else about_gpu("trim", tilelang=True)
    with tempfile.TemporaryDirectory() as folder:
        lock = None if options.rehearse else str(Path(folder) / "gpu.lock")

        def one(job: tuple[str, str]) -> dict[str, Any]:
            command = command_of(measured, *job, lock)
            return found_apart(command, SECONDS_EACH, kernel=job[0], tile=job[1])

        with ThreadPoolExecutor(2 if options.rehearse else AT_ONCE) as pool:
            runs = list(pool.map(one, jobs))
    for run in runs:
        print(run["kernel"], run["tile"], run.get("of_mended"), run.get("error", ""), flush=True)
    shares = [run["of_mended"]["median"] for run in runs if "of_mended" in run]
    mean = statistics.geometric_mean(shares) if shares else None
    write(options.out, {**about, "geometric_mean": mean and round(mean, 4), "runs": runs})
    return int(any(map(_is_bad, runs)))


def _is_bad(run: dict[str, Any]) -> bool:
    differs = bool(run.get("differing_launches")) and not run.get("mended_unsteady")
    return bool(run.get("wrong_launches")) or differs


if __name__ == "__main__":
    sys.exit(main())
