"""Write what the installed TileLang's own merges make of each fixture, and what is true of them.

    python -m scripts.version_table --out docs/results/versions/tilelang-0.1.12.json [-k KEYWORD]

To be run in an environment of each version; needs no GPU. Each fixture is lowered as its dump is,
and its module taken as the merge is handed it. Told are the bytes of each of the version's merges,
whether our re-enactment puts every buffer where the pass does, and the checker's verdict with its
witness; and our own plan of the fewest bytes that is proved.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

os.environ.setdefault("TILELANG_CACHE_DIR", tempfile.mkdtemp(prefix="version-table-"))

import tilelang

from fixtures.kernels import FIXTURES
from scripts.own_merge import (
    SCOPE,
    Layout,
    before_merge,
    kernels_in,
    layouts,
    merges,
    our_layout,
    our_plan,
)
from scripts.regenerate_fixtures import VARIANTS
from scripts.results import about, first_line, options_of, write
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan

Row = dict[str, Any]


def rows(keywords: Sequence[str]) -> Iterator[Row]:
    """One for each lowering of a fixture: of its only kernel."""
    for name, fixture in FIXTURES.items():
        if keywords and not any(one in name for one in keywords):
            continue
        for variant in fixture.variants or VARIANTS:
            arch, config = VARIANTS[variant]
            row: Row = {"kernel": name, "lowering": variant}
            try:
                mod = before_merge(fixture.make(**fixture.configs["small"]), arch, config)
            except Exception as error:  # the compiler's own, of whatever type
                yield row | {"lowered": False, "error": first_line(error)}
                continue
            found = {one: layouts(mod, arch, one) for one in merges()}
            yield row | {"lowered": True} | told(mod.script(), found)


def told(text: str, found: Mapping[str, Mapping[str, Layout]]) -> Row:
    """What is told of a dump's largest kernel and of the pass's layouts of its kernels."""
    kernels = [one for one in kernels_in(text) if one.allocations(SCOPE)]
    if not kernels:
        return {"merges": {}, "ours": None}
    kernel = max(kernels, key=lambda one: len(one.allocations(SCOPE)))
    own = {
        merge: _told_of(kernel, our_plan(kernel, merge))
        | {"same": our_layout(kernel, merge) == tuple(by_kernel[kernel.name])}
        | {"bytes": by_kernel[kernel.name][0]}
        for merge, by_kernel in found.items()
        if kernel.name in by_kernel
    }
    return {"merges": own, "ours": _told_of(kernel, plan_kernel(kernel, SCOPE, objective="bytes"))}


def _told_of(kernel: Kernel, plan: Plan) -> Row:
    verdict = judge(kernel, plan)
    witness = str(verdict.violations[0]) if verdict.violations else None
    told = {"bytes": plan.arena_bytes, "verdict": str(verdict.verdict)}
    return told | ({} if verdict.sound else {"witness": witness})


def main() -> int:
    options = options_of(__doc__, "out", "keywords").parse_args()
    found = list(rows(options.keywords))
    write(options.out, about("versions") | {"tilelang": tilelang.__version__, "rows": found})
    for row in found:
        own = row.get("merges", {})
        cells = [f"{name}: {one['bytes']} {one['verdict']}" for name, one in own.items()]
        print(row["kernel"], row["lowering"], row.get("error") or "; ".join(cells))
    wrong = [one for row in found for one in row.get("merges", {}).values() if not one["same"]]
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
