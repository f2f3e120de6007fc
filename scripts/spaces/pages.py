"""What `score_advice` found, as the table of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def advice_table(data: Mapping[str, Any]) -> str:
    """A row for each family, and within it for what was held out."""
    lines = [
        "| kernel | shapes | first | its worst | best of five | its worst | best of eight | rank |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in data["summary"].items():
        cells = (
            name,
            found["shapes"],
            *(_percent(found[key]) for key in ("top1", "top1_worst", "top5", "top5_worst")),
            _percent(found["top8"]),
            f"{found['rank_correlation']:.2f}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def tuning_table(data: Mapping[str, Any]) -> str:
    """A row for each space and way of tuning it."""
    lines = [
        "| space | over | configurations | seconds | finds | us |",
        "|---|---|---|---|---|---|",
    ]
    for run in data["runs"]:
        seconds, best = f"{run['seconds']:.1f}", ", ".join(map(str, run["best"].values()))
        if run["advice_seconds"]:
            seconds += f", advice {run['advice_seconds']:.1f}"
        cells = (run["space"], run["way"], run["configs"], seconds, best, f"{run['median_us']:.1f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"
