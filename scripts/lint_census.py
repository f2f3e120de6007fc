"""What `lint` says of each dump of a folder: counts, and the certain findings by name.

    python scripts/lint_census.py DIR --out docs/results/lint-corpus.json

A dump is named by its file; of a finding only its kind and its buffers are told, no text of the
dump. Certain findings are read by hand, one by one: docs/lint.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from smemreuse.compilers.text.reader import read_dump  # noqa: E402
from smemreuse.linter import lint  # noqa: E402
from smemreuse.results.hazards import Hazard  # noqa: E402


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="where the JSON goes")
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
    text = json.dumps(summary, indent=1) + "\n"
    print(text, end="") if options.out is None else options.out.write_text(text)


if __name__ == "__main__":
    main()
