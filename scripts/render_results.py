"""Write the GPU results into README.md, between its markers, from docs/results/h200.json.

python scripts/render_results.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "h200.json"
BEGIN, END = "<!-- results -->\n", "<!-- /results -->\n"

Run = Mapping[str, Any]


def render(data: Mapping[str, Any]) -> str:
    """The results as a Markdown table: a row for each kernel, a column for each merge."""
    runs: Sequence[Run] = data["runs"]
    merges = list(dict.fromkeys(run["merge"] for run in runs))
    rows: dict[tuple[str, str, str], dict[str, Run]] = {}
    for run in runs:
        key = (run["fixture"], run["config"], run["lowering"])
        rows.setdefault(key, {})[run["merge"]] = run
    lines = [
        f"{data['device']}, {data['date']}, TileLang {data['tilelang']}, CUDA {data['cuda']}; "
        f"code for {data['arch']}. Bytes of shared memory and median time of a launch.",
        "",
        "| kernel | lowering | " + " | ".join(merges) + " |",
        "|---|---|" + "---|" * len(merges),
    ]
    for (fixture, config, lowering), cells in rows.items():
        shown = " | ".join(_cell(cells[merge]) for merge in merges)
        lines.append(f"| `{fixture}` {config} | {lowering} | {shown} |")
    return "\n".join(lines) + "\n"


def _cell(run: Run) -> str:
    size = f"{run['shared_bytes']:,} B"
    if run["launch_error"]:
        return f"{size}, does not launch"
    verdict = "" if run["correct"] else ", **wrong result**"
    differs = ", bits differ" if run["correct"] and run["bitwise_equal"] is False else ""
    return f"{size}, {run['median_ms']:.3f} ms{verdict}{differs}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    options = parser.parse_args()
    readme = ROOT / "README.md"
    before = readme.read_text()
    head, rest = before.split(BEGIN)
    _, tail = rest.split(END)
    after = head + BEGIN + render(json.loads(RESULTS.read_text())) + END + tail
    if options.check:
        return int(before != after)
    readme.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
