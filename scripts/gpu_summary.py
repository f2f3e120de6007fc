"""Sums up what GPU drivers wrote to a folder: which launches were wrong, or had other bits.

    python -m scripts.gpu_summary FOLDER

`run*.json`, parts of one measurement, become `runs.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.harness import write


def main() -> int:
    folder = Path(sys.argv[1])
    parts = [path for path in sorted(folder.glob("run*.json")) if path.name != "runs.json"]
    if parts:
        found = [json.loads(path.read_text()) for path in parts]
        write(folder / "runs.json", found[0], runs=[run for one in found for run in one["runs"]])
        for path in parts:
            path.unlink()
    for path in sorted(folder.glob("*.json")):
        for line in summary(json.loads(path.read_text())):
            print(f"{path.stem}: {line}")
    return 0


def summary(data: Mapping[str, Any]) -> Iterator[str]:
    """One line for each merge, or each variant of a kernel that must be right or is mended."""
    by_merge: dict[str, list[Any]] = {}
    for run in data.get("runs", ()):
        by_merge.setdefault(run["merge"], []).append(run)
    for merge, runs in by_merge.items():
        wrong = [f"{run['fixture']} {run['config']}" for run in runs if run["wrong_launches"]]
        other = sum(run["bitwise_equal"] is False for run in runs)
        failed = sum(bool(run["compile_error"] or run["launch_error"]) for run in runs)
        counts = f"{len(runs)} kernels, {failed} not launched, {other} with other bits"
        yield f"{merge}: {counts}, wrong {wrong}"
    for one in data.get("hazards", ()):
        right = [each for each in one["variants"] if each["must_be_right"]]
        wrong = sum(each["wrong_launches"] for each in one["variants"] if not each["must_be_right"])
        unexpected = one.get("error") or sum(each["wrong_launches"] for each in right)
        yield f"{one['name']}: wrong where it must be right {unexpected}, elsewhere {wrong}"
    for one in (*data.get("kernels", ()), *data.get("witnesses", ())):
        told = [each.get("wrong_launches", each.get("error", "hangs")) for each in one["variants"]]
        yield f"{one['name']}: wrong launches {told}"
    for one in data.get("chunk_scan", ()):
        told = [[each["variant"], each.get("wrong_launches", "hangs")] for each in one["variants"]]
        yield f"chunk scan {one['tile']}: {told}"
    for one in data.get("functions", ()):
        told = [[each["merge"], each["differing_launches"]] for each in one["variants"]]
        yield f"{one['name']}: {one.get('error', '')} differing {told}"


if __name__ == "__main__":
    sys.exit(main())
