"""Put minimalloc's published instances to `smemreuse pack --capacity`: does each fit?

    python -m scripts.benchmark_minimalloc FOLDER [--seconds 60] [--out RESULTS.json]

FOLDER holds `benchmarks/challenging/*.csv` of https://github.com/google/minimalloc (Apache-2.0),
named `A.1048576.csv`: the number is the capacity. What comes out is checked here from the table
alone.
"""

from __future__ import annotations

import csv
import io
import os
import resource
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

from scripts.results import ROOT, about, options_of, write


def overlapping(rows: list[dict[str, str]], capacity: int) -> bool:
    """Whether a row leaves the capacity, or two share a byte at one time."""
    boxes = [tuple(int(row[key]) for key in ("lower", "upper", "offset", "size")) for row in rows]
    if any(offset < 0 or offset + size > capacity for _, _, offset, size in boxes):
        return True
    return any(
        max(begin, start) < min(end, stop) and max(low, base) < min(low + size, base + bytes_)
        for (begin, end, low, size), (start, stop, base, bytes_) in combinations(boxes, 2)
    )


def measured(file: Path, seconds: float, jobs: int) -> dict[str, object]:
    """One instance in a process of its own; its CPU seconds are those of all its processes."""
    capacity = int(file.suffixes[0].removeprefix("."))
    command = [sys.executable, "-m", "smemreuse", "pack", str(file), "--capacity", str(capacity)]
    command += ["--seconds", str(seconds), "--jobs", str(jobs)]
    load, before = os.getloadavg()[0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    wall = time.monotonic() - begin
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    with file.open() as table:
        asked = [dict(row) for row in csv.DictReader(table)]
    if [{key: row[key] for key in row if key != "offset"} for row in rows] != asked:
        raise SystemExit(f"{file.name}: the rows are not those of the table: {done.stderr}")
    if done.returncode == 0 and overlapping(rows, capacity):
        raise SystemExit(f"{file.name}: a wrong packing")
    return {
        "instance": file.name,
        "ranges": len(rows),
        "fits": done.returncode == 0,
        "said": done.stderr.strip().splitlines()[-1],
        "wall_s": round(wall, 1),
        "user_cpu_s": round(spent, 1),
        "load_before": round(load, 1),
    }


def main() -> None:
    parser = options_of(__doc__, "out", "jobs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each instance")
    options = parser.parse_args()
    rows = []
    for file in sorted(options.folder.glob("*.*.csv")):
        rows.append(measured(file, options.seconds, options.jobs))
        print(rows[-1], flush=True)
    asked = {"seconds": options.seconds, "jobs": options.jobs}
    solved = sum(bool(row["fits"]) for row in rows)
    write(options.out, {**about("minimalloc"), **asked, "solved": solved, "rows": rows})


if __name__ == "__main__":
    main()
