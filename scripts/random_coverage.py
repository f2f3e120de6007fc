"""Coverage of the random kernels: which branches, trip counts and statements an execution takes.

    python -m scripts.random_coverage --examples 200 --out docs/results/random-coverage.json

Prints a row for each family. A kernel without a defined result does not count.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from scripts.results import about, markdown, options_of, write
from tests.random_kernels.choices import source_of
from tests.random_kernels.families import FAMILIES
from tests.soundness.coverage import (
    BY_DATA,
    DIVERGENT,
    FALSE,
    LANES,
    STATEMENTS,
    TRIPS,
    TRUE,
    UNIFORM,
    UNREACHED,
    WARPS,
    Counts,
    measure,
)

ALL_FAMILIES = (STATEMENTS, *FAMILIES)


def main() -> None:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("--examples", type=int, default=200, help="kernels of each family")
    parser.add_argument("--seed", type=int, default=0, help="the first kernel's seed")
    parser.add_argument("--family", action="append", choices=ALL_FAMILIES, help="any number")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.examples)
    families = options.family or ALL_FAMILIES
    with multiprocessing.Pool(options.jobs) as pool:
        counts = pool.map(partial(_of_family, seeds=seeds), families, chunksize=1)
    found = {family: _nested(one) for family, one in zip(families, counts, strict=True)}
    data = {**about("random-coverage"), "seed": options.seed, "families": found}
    print(coverage_table(data))
    write(options.out, data, depth=3)


def _of_family(family: str, seeds: range) -> Counts:
    total: Counts = Counter()
    for seed in seeds:
        total += measure(family, source_of(seed), seed)
    return total


def _nested(counts: Counts) -> dict[str, Any]:
    """Counts by the parts of their keys."""
    found: dict[str, Any] = {}
    for key, count in sorted(counts.items()):
        inner = found
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        inner[key[-1]] = count
    return found


def coverage_table(data: Mapping[str, Any]) -> str:
    """A row for each family: what becomes of branches and loops that data decide, in percent of
    those, and what synchronization they let some threads of a block skip, in percent of kernels."""
    head = f"On {data['machine']}, {data['date']}:\n\n"
    heads = (
        *(
            "family",
            "kernels",
            "executed",
            "branches",
            "not reached",
            "holds",
            "does not",
            "uniform",
        ),
        *("by warp", "within a warp", "loops", "trips 0 / 1 / more", "divergent", "skipped"),
    )
    return head + markdown(heads, ([*_row(*one)] for one in data["families"].items()))


def _row(family: str, counts: Mapping[str, Any]) -> Iterator[str]:
    done = counts["statements"]
    yield from (family, str(counts["well defined"]))
    yield _share(done["executed"], sum(done.values()))
    branches = _of_data(counts.get("branches", {}))
    total = sum(branches.values())
    yield str(total)
    both = (UNIFORM, WARPS, LANES)
    for outcomes in ((UNREACHED,), (TRUE, *both), (FALSE, *both), *((one,) for one in both)):
        yield _share(sum(branches[one] for one in outcomes), total)
    loops = _of_data(counts.get("loops", {}))
    yield str(loops["loops"])
    yield " / ".join(_share(loops[one], loops["loops"]) for one in TRIPS)
    yield _share(loops[DIVERGENT], loops["loops"])
    skipped = counts.get("skipped", {}).get("data", {})
    yield ", ".join(f"{one} {_share(skipped[one], counts['well defined'])}" for one in skipped)


def _of_data(counts: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    """Those that data decide."""
    return sum((Counter(counts.get(one, {})) for one in BY_DATA), Counter())


def _share(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else ""


if __name__ == "__main__":
    main()
