"""Differential test of analysis, checker and linter on tens of thousands of random kernels.

    python -m scripts.random_kernels --examples 20000 --out docs/results/random-kernels.json

Every kernel is run unmerged and under several plans in the operational model. Exit 1 if a plan
that is called sound, or one of the dataflow policy, gives another result, if a kernel that `lint`
calls clean goes wrong, or if no execution shows a hazard that it is certain of; the kernel is then
made smaller and printed. The family "statements" has kernels whose barriers are still to come, and
is not linted, the others all that they will ever have; without --family they take turns.

With --before-barriers some barriers and proxy fences of the latter are taken out: `lint` reads such
a kernel as a dump, and the model runs what the installed TileLang's passes make of it. With
--discarding some are taken out, and most of the output: what is read in a race then often decides
nothing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass

from scripts.results import about, dumped, options_of, write
from tests.random_kernels.choices import Pick, run_seed, source_of
from tests.random_kernels.families import FAMILIES
from tests.soundness.as_it_stands import examine, examine_discarding
from tests.soundness.compare import compare
from tests.soundness.linted import TRIED

BATCH = 100
MAX_SHRUNK = 2
"""Of one way to fail."""

STATEMENTS = "statements"
ALL_FAMILIES = (STATEMENTS, *FAMILIES)


@dataclass(frozen=True)
class Work:
    """What is asked of the kernels: of which families, in how many modes, before their barriers,
    with most of what they read discarded, or as they stand."""

    families: tuple[str, ...]
    modes: int
    before_barriers: bool
    discarding: bool


Failed = tuple[str, int, str]
"""The family, the seed and the first line of what went wrong."""


def main() -> int:
    options = _parse()
    begin = time.monotonic()
    last = options.seed + options.examples
    work = Work(
        tuple(options.family or (FAMILIES if _changes(options) else ALL_FAMILIES)),
        options.modes,
        options.before_barriers,
        options.discarding,
    )
    batches = [
        (work, range(first, min(first + BATCH, last))) for first in range(options.seed, last, BATCH)
    ]
    stats: Counter[str] = Counter()
    failing: list[Failed] = []
    done = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for found, failed in pool.imap_unordered(_batch, batches):
            stats += found
            failing += failed
            for one in failed:  # at once, for a run may be cut off
                print(f"\n{one}", file=sys.stderr)
            done = min(done + BATCH, options.examples)
            print(
                f"\r{done:,} of {options.examples:,} kernels, {len(failing)} failures",
                end="",
                file=sys.stderr,
            )
            if options.limit and time.monotonic() - begin > options.limit:
                break
    print(file=sys.stderr)
    summary = {
        **about("random-kernels"),
        "seconds": round(time.monotonic() - begin, 1),
        "seed": options.seed,
        "examples": done,
        "failures": len(failing),
        "failing_seeds": [f"{family} {seed}: {way}" for family, seed, way in sorted(failing)],
        "counts": dict(sorted(stats.items())),
    }
    print(dumped(summary))
    write(options.out, summary)
    shown: Counter[str] = Counter()
    for family, seed, way in sorted(failing):  # last, since it takes long
        shown[way] += 1
        if shown[way] <= MAX_SHRUNK:
            print(f"{family}, seed {seed}, made smaller:\n{_smallest(work, family, seed)}\n")
    return 1 if failing else 0


def _parse() -> argparse.Namespace:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first kernel's seed")
    parser.add_argument("--family", action="append", choices=ALL_FAMILIES, help="any number")
    parser.add_argument("--limit", type=float, help="seconds, after which no more are made")
    parser.add_argument("--modes", type=int, default=TRIED, help="executions tried, of two kinds")
    parser.add_argument(
        "--before-barriers", action="store_true", help="lint kernels as dumps; needs TileLang"
    )
    parser.add_argument(
        "--discarding", action="store_true", help="lint kernels that use little of what they read"
    )
    options = parser.parse_args()
    if _changes(options) and STATEMENTS in (options.family or ()):
        parser.error(f"{STATEMENTS} are not linted")
    return options


def _changes(options: argparse.Namespace) -> bool:
    """Whether the kernels are changed and then linted, and not held against plans."""
    return bool(options.before_barriers or options.discarding)


def _batch(given: tuple[Work, range]) -> tuple[Counter[str], list[Failed]]:
    work, seeds = given
    stats: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        family = work.families[
            seed // 2 % len(work.families)
        ]  # even and odd seeds choose differently
        stats[f"{family}: kernels"] += 1
        try:
            _check(work, family, source_of(seed), seed, stats)
        except Exception as error:
            way = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            stats[f"failed: {way}"] += 1
            failed.append((family, seed, way))
    return stats, failed


def _check(work: Work, family: str, pick: Pick, seed: int, stats: Counter[str]) -> None:
    if family == STATEMENTS:
        compare(pick, seed, stats)
    elif work.before_barriers:
        from tests.soundness.before_barriers import examine_before  # imports TileLang

        examine_before(family, pick, seed, stats, tried=work.modes)
    elif work.discarding:
        examine_discarding(family, pick, seed, stats, tried=work.modes)
    else:
        examine(family, pick, seed, stats, tried=work.modes)


def _smallest(work: Work, family: str, seed: int) -> str:
    """The failure of a seed, with a kernel as small as can be found."""
    try:
        run_seed(seed, lambda pick: _check(work, family, pick, seed, Counter()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it does not fail any more"


if __name__ == "__main__":
    sys.exit(main())
