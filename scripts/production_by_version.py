"""Write what the installed TileLang and our merge make of production kernels of other projects.

    python -m scripts.production_by_version --table kernels.csv --checkout fla=DIR ... \
        --out docs/results/versions/production-0.1.12.json

To be run in an environment of each version; needs no GPU. Each kernel of the tables
(`scripts/production/loading.py`) is made by its own project's factory and lowered for `--arch`,
with our merge in the place of TileLang's, in a process of its own. Told are whether the version
lowers it, the bytes of its merges and of ours, the verdicts with their witnesses, and the hazards
of the kernel itself. The exit code is 1 where our merge is refuted, larger, or was not made.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tilelang

import smemreuse.tilelang
from scripts.applied.pool import forked
from scripts.own_merge import SCOPE, our_plan
from scripts.production.loading import (
    Made,
    MissingFactory,
    asked_for,
    factory_of,
    production_options,
)
from scripts.results import about, write
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.records import Recorder
from smemreuse.compilers.tilelang.lower_only import lowering_only
from smemreuse.errors import LoweredOnlyError
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.results.hazards import LintReport
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict
from smemreuse.targets.blocks import block_memory

Row = dict[str, Any]

OWN = ("default", "aggressive")
MOST_HAZARDS = 3
WORST_FIRST = (UNSOUND, UNPROVED, SOUND)


def lowered(made: Made, checkouts: Mapping[str, Path], arch: str) -> Row:
    """What came of one kernel, in this process."""
    row: Row = {"repository": made.repository, "kernel": made.name}
    tilelang.disable_cache()  # what is only lowered is not to be kept
    if made.repository not in checkouts:
        return row | {"lowered": False, "error": "not fetched"}
    try:
        make = factory_of(made, checkouts[made.repository])
    except MissingFactory as error:
        return row | {"lowered": False, "missing": True, "error": str(error)}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin, failed = time.process_time(), ""
        with lowering_only(Recorder(Path(folder)), arch), _session() as session:
            try:
                make()
            except LoweredOnlyError:
                pass
            except Exception as error:  # the compiler's own, of whatever type
                failed = error_line(error)
        seconds = time.process_time() - begin
    said = [str(one.message)[:400] for one in caught if "smemreuse" in str(one.message)]
    row |= {"lowered": bool(session.kernels or session.left), "seconds": round(seconds, 2)}
    row |= {"merge_seconds": round(session.seconds, 3)}
    row |= {"error": failed} if failed else {}
    row |= {"left": [one.reason for one in session.left]} if session.left else {}
    row |= {"said": said} if said else {}
    return row | {"kernels": [told(one) for one in session.kernels]}


def _session() -> Any:
    return smemreuse.tilelang.merge(objective="bytes")


def told(lowered: LoweredKernel) -> Row:
    """What is told of one kernel: sizes, verdicts, hazards."""
    found = lowered.footprint()
    kernel = lowered.kernel
    row: Row = {"name": found.name, "blocks": [found.blocks_before, found.blocks_after]}
    row["ours"] = _verdicts([one.verdict for one in lowered.plans], found.bytes_after)
    for merge in OWN:
        row[merge] = _own(kernel, merge)
    row["default"] |= {"applied": found.bytes_before}
    row["in_the_lowering"] = _verdicts(
        [lowered.stock_verdict(one.plan.scope) for one in lowered.plans], found.bytes_before
    )
    begin = time.process_time()
    row["lint"] = _linted(lowered.lint() if lowered.lint is not None else None)
    return row | {"lint_seconds": round(time.process_time() - begin, 2)}


def _own(kernel: Kernel, merge: str) -> Row:
    """The version's own merge by our re-enactment, judged on what the merge receives."""
    if len(kernel.allocations(SCOPE)) < 2:
        return {"bytes": block_memory(kernel, []).total}
    plan = our_plan(kernel, merge)
    return _verdicts([judge(kernel, plan)], block_memory(kernel, [plan]).total)


def _verdicts(verdicts: Sequence[Verdict], size: int | None) -> Row:
    """The worst of some verdicts, and what speaks against it."""
    if not verdicts:
        return {"bytes": size}
    worst = min(verdicts, key=lambda one: WORST_FIRST.index(one.verdict))
    row: Row = {"bytes": size, "verdict": str(worst.verdict)}
    return row if worst.sound else row | {"why": worst.first_finding[:400]}


def _linted(report: LintReport | None) -> Row | None:
    if report is None:
        return None
    hazards = sorted(report.hazards, key=lambda one: not one.certain)[:MOST_HAZARDS]
    return {
        "status": str(report.status),
        "hazards": [
            {
                "kind": str(one.kind),
                "certain": one.certain,
                "origin": str(one.origin),
                "buffers": list(one.buffers),
                "witness": one.witness,
            }
            for one in hazards
        ],
        "unknown": list(report.unknown)[:MOST_HAZARDS],
    }


def main() -> int:
    parser = production_options(__doc__, "arch", "jobs", seconds=300)
    parser.add_argument("--first", action="store_true", help="of each factory, its first kernel")
    options = parser.parse_args()
    checkouts, wanted = asked_for(options)
    if options.first:
        wanted = [one for one in wanted if one.number == 1]
    order = {id(one): number for number, one in enumerate(wanted)}
    run = partial(lowered, checkouts=checkouts, arch=options.arch)
    rows: dict[int, Row] = {}
    for made, found, error in forked(wanted, run, options.jobs, options.limit):
        named = {"repository": made.repository, "kernel": made.name}
        rows[order[id(made)]] = row = found or named | {"lowered": False, "broke": error[-600:]}
        print(made.repository, made.name, _cells(row), flush=True)
    data = about("versions") | {"tilelang": tilelang.__version__, "arch": options.arch}
    write(options.out, data | {"rows": [rows[number] for number in sorted(rows)]})
    return int(any("broke" in row or _wrong(row) for row in rows.values()))


def _wrong(row: Row) -> bool:
    """Whether our merge is at fault: it is refuted, larger than the default, or was not made."""
    ours = [one["ours"] | {"before": one["default"]["applied"]} for one in row.get("kernels", ())]
    return bool(row.get("left")) or any(
        one.get("verdict") == "unsound" or (one["bytes"] or 0) > (one["before"] or 0)
        for one in ours
    )


def _cells(row: Row) -> str:
    told = [_line(one) for one in row.get("kernels", ())]
    told += [str(row[key]) for key in ("error", "broke", "left", "said") if key in row]
    return f"{row.get('seconds')} s: " + " | ".join(told)


def _line(kernel: Row) -> str:
    sizes = [kernel["default"]["applied"], kernel["ours"]["bytes"]]
    verdicts = [kernel[one].get("verdict", "") for one in ("default", "ours", "aggressive")]
    return f"{sizes[0]} {verdicts[0]} -> {sizes[1]} {verdicts[1]}; aggressive {verdicts[2]}"


if __name__ == "__main__":
    sys.exit(main())
