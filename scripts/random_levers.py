"""Random functions under levers and other rewrites, held against runs on numbers.

    python -m scripts.random_levers --count 100000 --jobs 64 --out docs/results/random-levers.json

Each function is rewritten once in each way: by levers as `merge(objective="fit")` pulls them, and
by edits that know nothing of what they do. Exit 1 if a rewrite is accepted after which a run leaves
something else in global memory; the function is then made smaller and printed. How many levers are
refused that change a result says what would be pulled without proof.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from typing import Any

from scripts.results import about, dumped, options_of, write
from tests.random_kernels.choices import run_seed, source_of
from tests.random_levers.edits import EDITS
from tests.random_levers.examine import Examination, examine

BATCH = 25
MAX_SHRUNK = 2

Failed = tuple[str, int, str]
"""The rewrite, the seed and the first line of what went wrong."""


def main() -> int:
    options = _parse()
    begin, last = time.monotonic(), options.seed + options.count
    batches = [range(first, min(first + BATCH, last)) for first in range(options.seed, last, BATCH)]
    stats: Counter[str] = Counter()
    failing: list[Failed] = []
    done = 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for found, failed, count in pool.imap_unordered(_batch, batches):
            stats.update(found)
            failing += failed
            done += count
            for one in failed:  # at once, for a run may be cut off
                print(f"\n{one}", file=sys.stderr)
            print(f"\r{done:,} of {options.count:,}", end="", file=sys.stderr)
    print(file=sys.stderr)
    summary = summed(stats, failing, options.seed, done)
    summary["seconds"] = round(time.monotonic() - begin, 1)
    print(dumped(summary))
    write(options.out, summary)
    for kind, seed, _ in sorted(failing)[:MAX_SHRUNK]:  # last, since it takes long
        print(f"{kind}, seed {seed}, made smaller:\n{_smallest(kind, seed)}\n")
    return 1 if failing else 0


def summed(stats: Counter[str], failing: list[Failed], seed: int, functions: int) -> dict[str, Any]:
    """What is written down: counts by rewrite and outcome."""
    kinds = {kind: _outcomes(kind, stats) for kind in EDITS}
    rewrites = sum(sum(one.values()) for one in kinds.values())
    return {
        **about("random-levers"),
        "seed": seed,
        "functions": functions,
        "rewrites": rewrites,
        "failures": len(failing),
        "failing_seeds": [f"{kind} {each}: {way}" for kind, each, way in sorted(failing)],
        "outcomes": kinds,
    }


def _outcomes(kind: str, stats: Counter[str]) -> dict[str, int]:
    return {
        way: stats[f"{kind}: {way}"]
        for way in (
            *("accepted, same results", "accepted, other results"),
            *("refused, same results", "refused, other results"),
        )
    }


def _parse() -> argparse.Namespace:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("--count", type=int, default=1_000, help="functions")
    parser.add_argument("--seed", type=int, default=0, help="the first function's seed")
    return parser.parse_args()


def _batch(seeds: range) -> tuple[Counter[str], list[Failed], int]:
    stats: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        examination = Examination(source_of(seed), seed)
        for kind in EDITS:
            try:
                examination.examine(kind, stats)
            except Exception as error:
                way = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
                failed.append((kind, seed, way))
    return stats, failed, len(seeds)


def _smallest(kind: str, seed: int) -> str:
    """The failure of a seed, with a function as small as can be found."""
    try:
        run_seed(seed, lambda pick: examine(kind, pick, seed, Counter()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it does not fail any more"


if __name__ == "__main__":
    sys.exit(main())
