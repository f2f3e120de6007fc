"""What advice and tuning came to, as the tables of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.results import markdown, percent


def advice_table(data: Mapping[str, Any]) -> str:
    """A row for each family, and within it for what was held out."""
    heads = ("kernel", "shapes", "first", "its worst", "best of five", "its worst")
    keys = ("top1", "top1_worst", "top5", "top5_worst", "top8")
    rows = [
        (
            name,
            one["shapes"],
            *(percent(one[key]) for key in keys),
            f"{one['rank_correlation']:.2f}",
        )
        for name, one in data["summary"].items()
    ]
    return markdown((*heads, "best of eight", "rank"), rows)


def tuning_table(data: Mapping[str, Any]) -> str:
    """A row for each space and way of tuning it."""
    rows = []
    for run in data["runs"]:
        seconds, best = f"{run['seconds']:.1f}", ", ".join(map(str, run["best"].values()))
        if run["advice_seconds"]:
            seconds += f", advice {run['advice_seconds']:.1f}"
        time_us = f"{run['median_us']:.1f}"
        rows.append((run["space"], run["way"], run["configs"], seconds, best, time_us))
    return markdown(("space", "over", "configurations", "seconds", "finds", "us"), rows)
