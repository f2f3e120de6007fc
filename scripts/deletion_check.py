"""Take the barriers, waits, commits, fences and arrivals out of kernels, and see what `lint` says.

    python -m scripts.deletion_check --examples 400 --out docs/results/lint-deletions.json

Of the mended fixtures in fixtures/lint and of random kernels that `lint` calls clean, each such
operation is deleted by itself. Where the operational model then finds that the result can differ,
`lint` has to find something. Exit 1 if it does not in more than one of a hundred.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scripts.results import ROOT, about, dumped, options_of, write
from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from smemreuse.results.hazards import HazardKind
from tests.linter.deletions import Judged, deletions, differs, judged
from tests.random_kernels.choices import source_of
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.text import kernel_of
from tests.soundness.model.modes import NotModelled

TRIED = 4
"""Executions of each kind that a kernel is run in, ten times as many where `lint` is certain."""

Told = tuple[str, str]
"""What came of a deletion, and the kernel and operation."""


def main() -> int:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("--examples", type=int, default=400, help="random kernels of each family")
    options = parser.parse_args()
    begin = time.monotonic()
    work: list[str | tuple[str, int]] = [
        str(one) for one in sorted((ROOT / "fixtures" / "lint").glob("*.mended.tir"))
    ]
    work += [(family, seed) for seed in range(options.examples) for family in FAMILIES]
    counts: Counter[str] = Counter()
    missed = []
    with multiprocessing.Pool(options.jobs) as pool:
        for found in pool.imap_unordered(_judge, work):
            for what, where in found:
                counts[what] += 1
                if what in ("silent", "not followed"):
                    missed.append(f"{what}: {where}")
    wrong = counts["told"] + counts["silent"] + counts["not followed"]
    share = counts["told"] / wrong if wrong else 1.0
    summary = {
        **about("lint-deletions"),
        "seconds": round(time.monotonic() - begin, 1),
        "examples": options.examples,
        "deletions that go wrong": wrong,
        "told": round(share, 4),
        "counts": dict(sorted(counts.items())),
        "missed": sorted(missed)[:40],
    }
    print(dumped(summary))
    write(options.out, summary)
    return int(share < 0.99)


def _judge(work: str | tuple[str, int]) -> list[Told]:
    if isinstance(work, str):
        (kernel,) = read_dump(work).kernels
        return list(_told(kernel, 0, Path(work).stem))
    family, seed = work
    return list(_told(kernel_of(FAMILIES[family](source_of(seed))), seed, f"{family} {seed}"))


def _told(kernel: Kernel, seed: int, name: str) -> Iterator[Told]:
    try:
        report = lint(kernel, BarrierStage.PRESENT)
        if not report.clean:
            return
        yield "kernels", name
        if differs(kernel, seed, TRIED, report.assumptions):
            yield "kernels that are clean if lanes go on together", name
        for deletion in deletions(kernel):
            found = judged(deletion, seed, TRIED)
            yield _outcome(found), f"{name} without `{deletion.what}` (line {deletion.line})"
    except NotModelled:
        yield "not modelled", name


def _outcome(found: Judged) -> str:
    if found.is_missed:
        return "silent"
    if found.is_undecided:
        return "not followed"
    if found.is_false_alarm:
        kinds = {one.kind for one in found.report.hazards if one.certain}
        return "certain, and alike" if kinds - {HazardKind.RACE} else "certain race, and alike"
    if found.differs:
        return "told" if found.report.hazards else "hangs out of pace, which is told"
    return f"alike, and {found.report.status}"


if __name__ == "__main__":
    sys.exit(main())
