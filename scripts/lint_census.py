"""What `lint` says of each dump of a folder: counts, and the certain findings by name.

    python -m scripts.lint_census DIR --out docs/results/lint-corpus.json

A dump is named by its file; of a finding only its kind and its buffers are told, no text of the
dump. Certain findings are read by hand, one by one: docs/lint.md.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from pathlib import Path
from typing import Any

from scripts.results import dumped, options_of, write
from smemreuse.compilers.text.reader import read_dump
from smemreuse.linter import lint
from smemreuse.results.hazards import Hazard


def judged(file: Path) -> list[dict[str, Any]]:
    """One entry for each kernel of a dump."""
    found = []
    for kernel in read_dump(file).kernels:
        begin = time.process_time()
        report = lint(kernel)
        found.append(
            {
                "dump": f"{file.parent.name}/{file.stem}",
                "kernel": kernel.name,
                "status": str(report.status),
                "seconds": round(time.process_time() - begin, 2),
                "certain": sorted(_told(one) for one in report.hazards if one.certain),
                "possible": dict(Counter(str(h.kind) for h in report.hazards if not h.certain)),
                "not followed": list(report.unknown),
            }
        )
    return found


def _told(hazard: Hazard) -> str:
    return f"{hazard.kind} of {', '.join(hazard.buffers)}" if hazard.buffers else str(hazard.kind)


def main() -> None:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    files = sorted(options.folder.rglob("*.tir"))
    with multiprocessing.Pool(options.jobs) as pool:
        kernels = [one for found in pool.imap(judged, files) for one in found]
    kinds = Counter(told.split(" of ")[0] for one in kernels for told in one["certain"])
    summary = {
        "schema": "smemreuse.lint-corpus/1",
        "dumps": len(files),
        "kernels": len(kernels),
        "statuses": dict(Counter(one["status"] for one in kernels)),
        "certain": dict(kinds),
        "slowest": max((one["seconds"] for one in kernels), default=0),
        "undecided": [
            {key: one[key] for key in ("dump", "status", "possible", "not followed")}
            for one in kernels
            if one["status"] in ("possible hazards", "unknown")
        ],
        "findings": [
            {key: one[key] for key in ("dump", "certain")} for one in kernels if one["certain"]
        ],
    }
    print(dumped(summary))
    write(options.out, summary)


if __name__ == "__main__":
    main()
