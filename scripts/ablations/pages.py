"""The table of what changes without each mechanism, for docs/results.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scripts.results import markdown

KINDS = {"plan": "plans of dumps", "lint": "`lint` of dumps", "lower": "lowerings"}
NAMED = 3
"""Kernels that are named where a mechanism changes something."""


def ablation_table(data: Mapping[str, Any]) -> str:
    """One row for each mechanism: lines of code, what changes where it acts, and the CPU time."""
    there = [kind for kind in KINDS if kind in data["kinds"]]
    totals = ", ".join(f"{data['kinds'][kind]['count']:,} {KINDS[kind]}" for kind in there)
    seconds = ", ".join(f"{data['kinds'][kind]['cpu']:,.0f} s" for kind in there)
    heads = ("without", "lines", *(KINDS[kind] for kind in there), "processor seconds", "such as")
    where = f"{data['machine']['cpus']} cores, Python {data['machine']['python']}"
    rows = []
    for row in data["rows"]:
        kinds = [row["kinds"][kind] for kind in there]
        cells = [_changed(kind) for kind in kinds]
        before, after = (sum(kind["cpu"][at] for kind in kinds) for at in (0, 1))
        changes = sorted((one for kind in kinds for one in kind["changed"]), key=_is_of_offsets)
        names = [name.rpartition("/")[2] for name, *_ in changes]
        shown = ", ".join(f"`{name}`" for name in list(dict.fromkeys(names))[:NAMED])
        texts = (row["name"], f"{row['lines']:,}", *cells, f"{before:,.0f} to {after:,.0f}", shown)
        rows.append(texts)
    total = f"{data['date']}, {where}: {totals}; all mechanisms on: {seconds}.\n\n"
    return total + markdown(heads, rows)


def _changed(kind: Mapping[str, Any]) -> str:
    """How many files change of those on which a mechanism acts, and of these in offsets alone."""
    if not kind["acted"]:
        return ""
    count = len(kind["changed"])
    offsets = sum(map(_is_of_offsets, kind["changed"]))
    text = f"**{count}** of {kind['acted']}" if count else f"0 of {kind['acted']}"
    return f"{text}, {offsets} in offsets alone" if offsets else text


def _is_of_offsets(change: Sequence[Any]) -> bool:
    """Whether bytes, verdicts and findings are as before."""
    return bool(change[1] == "offsets")
