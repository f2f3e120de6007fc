"""Differential test of analysis and checker on tens of thousands of random kernels.

    python -m scripts.random_kernels --examples 20000 --out docs/results/random-kernels.json

Every kernel is run unmerged and under several plans in a reference interpreter. Exit 1 if a plan
that is called sound, or one of the dataflow policy, gives another result; the kernel is then made
smaller and printed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.random_kernels.choices import run_seed, source_of  # noqa: E402
from tests.soundness.compare import compare  # noqa: E402

BATCH = 100
MAX_SHRUNK = 5


def main() -> int:
    options = _parse()
    begin = time.monotonic()
    batches = [
        range(first, min(first + BATCH, options.seed + options.examples))
        for first in range(options.seed, options.seed + options.examples, BATCH)
    ]
    stats: Counter[str] = Counter()
    failing: list[int] = []
    with multiprocessing.Pool(options.jobs) as pool:
        for number, (found, failed) in enumerate(pool.imap_unordered(_batch, batches)):
            stats += found
            failing += failed
            done = min((number + 1) * BATCH, options.examples)
            print(
                f"\r{done:,} of {options.examples:,} kernels, {stats['well defined']:,} well "
                f"defined, {len(failing)} failures",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    for seed in sorted(failing)[:MAX_SHRUNK]:
        print(f"seed {seed}, made smaller:\n{_smallest(seed)}\n")
    summary = {
        "schema": "smemreuse.random-kernels/1",
        "date": datetime.date.today().isoformat(),
        "machine": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
        },
        "seconds": round(time.monotonic() - begin, 1),
        "seed": options.seed,
        "examples": options.examples,
        "failures": len(failing),
        "failing_seeds": sorted(failing),
        "counts": dict(sorted(stats.items())),
    }
    text = json.dumps(summary, indent=1) + "\n"
    if options.out is None:
        print(text, end="")
    else:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text)
    return 1 if failing else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first kernel's seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="where the JSON summary goes")
    return parser.parse_args()


def _batch(seeds: range) -> tuple[Counter[str], list[int]]:
    stats: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        stats["kernels"] += 1
        try:
            compare(source_of(seed), seed, stats)
        except Exception as error:
            stats[f"failed: {type(error).__name__}"] += 1
            failed.append(seed)
    return stats, failed


def _smallest(seed: int) -> str:
    """The failure of a seed, with a kernel as small as can be found."""
    try:
        run_seed(seed, lambda pick: compare(pick, seed, Counter()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it does not fail any more"


if __name__ == "__main__":
    sys.exit(main())
