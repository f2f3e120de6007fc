"""How many real functions fit into a limit of bytes for each block, and by what; needs no GPU.

    python -m scripts.measure_fits KERNELS --limit 101376 --arch sm_90a --out fits.json [--jobs 16]
    python -m scripts.measure_fits KERNELS --without reload --without slices ...    # an ablation

KERNELS is what `scripts/collect_kernels.py` wrote. Of each function that does not fit as TileLang
merges it by default: what it takes merged by smemreuse, and what levers make of it.
Prints how many fit by what, and writes one line of JSON for each function.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scripts.applied.pool import forked
from scripts.results import about, chosen, options_of, write
from smemreuse.results.fitting import LeverKind

BY_DEFAULT, BY_MERGING, BY_LEVERS, NOT, UNKNOWN = WAYS = (
    *("by the default merge", "by smemreuse's merge", "by levers", "not at all"),
    "not known: not lowered",
)


def main() -> None:
    parser = options_of(__doc__, "arch", "out", "jobs", "keywords")
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--limit", type=int, default=101_376, help="bytes for each block")
    parser.add_argument("--without", action="append", default=[], choices=[*map(str, LeverKind)])
    parser.add_argument("--seconds", type=float, default=300, help="for each function")
    options = parser.parse_args()
    paths = chosen((options.kernels / options.arch).glob("*.json"), options.keywords)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILELANG_CACHE_DIR"] = cache
        from scripts.applied.measure import warmed_up

        warmed_up()
        run = partial(fitted, limit=options.limit, without=frozenset(options.without))
        functions = []
        for path, made, error in forked(paths, run, options.jobs, options.seconds):
            functions.append(made or {"name": path.stem, "error": error.partition("\n")[0]})
            print(path.stem, way_of(functions[-1], options.limit), file=sys.stderr, flush=True)
    functions.sort(key=lambda one: str(one["name"]))
    head = {**about("fits"), "arch": options.arch, "limit": options.limit}
    if options.without:
        head["without"] = options.without
    sums = summed(functions, options.limit)
    write(options.out, {**head, **sums, "functions": functions})
    for way, count in sums["ways"].items():
        print(f"{count:5,} {way}")
    if "added_seconds" in sums:
        print(
            "CPU seconds added: {median} at the median, at most {worst}".format(
                **sums["added_seconds"]
            )
        )


def way_of(function: dict[str, Any], limit: int) -> str:
    """By what a function fits."""
    if "error" in function:
        return UNKNOWN
    if function["default"] <= limit:
        return BY_DEFAULT
    if function["merged"] <= limit:
        return BY_MERGING
    return BY_LEVERS if function["fits"] else NOT


def summed(functions: Sequence[dict[str, Any]], limit: int) -> dict[str, Any]:
    """How many functions fit by what, in how many of those by levers each kind is, and the CPU
    seconds that fitting adds to the lowering of a function that needs levers."""
    ways = Counter(way_of(one, limit) for one in functions)
    kinds = Counter(
        kind
        for one in functions
        if way_of(one, limit) == BY_LEVERS
        for kind in {step["kind"] for step in one["steps"]}
    )
    found = {"ways": {way: ways[way] for way in WAYS}, "levers": dict(sorted(kinds.items()))}
    timed = [one["seconds"] for one in functions if "seconds" in one]
    if not timed:
        return found
    added = [one["fit"] - one["plain"] for one in timed]
    worst, median = max(added), statistics.median(added)
    return {**found, "added_seconds": {"median": round(median, 2), "worst": round(worst, 2)}}


def fitted(path: Path, *, limit: int, without: frozenset[str]) -> dict[str, Any]:
    """What a collected function takes, and what levers make of it if that is too much."""
    import smemreuse.tilelang
    from scripts.applied.measure import Function, seconds
    from smemreuse.compilers.tilelang.estimate import LoweringPlace, LoweringRequest
    from smemreuse.compilers.tilelang.sizing import sized_kernels
    from smemreuse.pipeline.options import checked_options
    from smemreuse.targets.architectures import architecture

    function = Function(path)
    place = LoweringPlace(function.target, architecture(function.arch))
    options = checked_options("dataflow", "best", "bytes")
    request = LoweringRequest(function.func, place, options, pass_configs=function.configs)
    try:
        kernels = sized_kernels(function.func, request)
    except Exception as error:  # TileLang raises of all kinds
        return {"name": function.name, "error": f"{type(error).__name__}: {error}"[:200]}
    row: dict[str, Any] = {
        "name": function.name,
        "default": max((one.before.total or 0 for one in kernels), default=0),
        "merged": max((one.bytes for one in kernels), default=0),
    }
    if row["merged"] <= limit:
        return row
    with smemreuse.tilelang.merge():
        plain = seconds(function.lower)[1]
    with without_levers(without), smemreuse.tilelang.merge(objective="fit", limit=limit) as session:
        taken = seconds(function.lower)[1]
    (found,) = session.fittings
    row |= {"fits": found.fits, "after": found.after, "tried": found.tried}
    lowered = max((one.footprint().bytes_after or 0 for one in session.kernels), default=0)
    if lowered != found.after:
        raise ValueError(f"{function.name} takes {lowered:,} bytes, not {found.after:,} as tried")
    row["steps"] = [
        {"kind": str(one.lever.kind), "sentence": one.lever.sentence, "bytes": one.bytes}
        for one in found.steps
    ]
    if not found.fits:
        row["why"] = found.why
    return row | {"seconds": {"plain": round(plain, 2), "fit": round(taken, 2)}}


def without_levers(kinds: frozenset[str]) -> ExitStack:
    """In this context levers of some kinds are not pulled."""
    from smemreuse.compilers.tilelang.levers import search

    def grouped(levers: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda func: [
            [one for one in each if str(one.lever.kind) not in kinds] for each in levers(func)
        ]

    def single(levers: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda func: [one for one in levers(func) if str(one.lever.kind) not in kinds]

    stack = ExitStack()
    wrappers = {"fewer_stages": grouped, "direct_stores": single, "reload_settings": single}
    for name, wrapper in wrappers.items():
        stack.enter_context(patch.object(search, name, wrapper(getattr(search, name))))
    return stack


if __name__ == "__main__":
    main()
