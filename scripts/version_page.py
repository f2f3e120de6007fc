"""Tables of what TileLang's versions make of the fixtures: `scripts/version_table.py` of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.results import RESULTS, markdown

Run = Mapping[str, Any]

VERDICTS = ("sound", "unsound", "unproved")
MERGES = ("default", "aggressive")


def version_runs(subject: str = "tilelang") -> list[Run]:
    """One for each version, the oldest first; of other projects' kernels those of "production"."""
    paths = (RESULTS / "versions").glob(f"{subject}-*.json")
    found = [json.loads(path.read_text()) for path in paths]
    return sorted(found, key=_number)


def version_counts(runs: Sequence[Run]) -> str:
    """For each version how many fixtures it lowers, and what is said of its merges."""
    heads = ("TileLang", "lowered", "merge", "placed as we say", "proved", "refuted", "unproved")
    rows = []
    for run in runs:
        lowered = sum(row["lowered"] for row in run["rows"])
        for merge in MERGES:
            told = [row["merges"][merge] for row in run["rows"] if merge in row.get("merges", {})]
            count = Counter(one["verdict"] for one in told)
            same = f"{sum(one['same'] for one in told)} of {len(told)}"
            whole = f"{lowered} of {len(run['rows'])}"
            rows.append((run["tilelang"], whole, merge, same, *(count[one] for one in VERDICTS)))
    return markdown(heads, rows)


def version_differences(runs: Sequence[Run]) -> str:
    """The fixtures whose aggressive merge is refuted in some versions and not in others."""
    rows = []
    for kernel, lowering in _lowerings(runs):
        cells = [_told(run, kernel, lowering, "aggressive") for run in runs]
        refuted = {one["verdict"] == "unsound" for one in cells if one is not None}
        if len(refuted) == 2:
            rows.append((f"`{kernel}`", lowering, *map(_cell, cells)))
    return markdown(("kernel", "lowering", *(run["tilelang"] for run in runs)), rows)


def version_refuted(runs: Sequence[Run]) -> str:
    """The default merges that are refuted, with the witness in the newest version that has it."""
    rows = []
    for kernel, lowering in _lowerings(runs):
        told = {run["tilelang"]: _told(run, kernel, lowering, "default") for run in runs}
        wrong = {key: one for key, one in told.items() if one and one["verdict"] == "unsound"}
        if wrong:
            witness = list(wrong.values())[-1]["witness"].replace("|", "\\|")
            rows.append((f"`{kernel}`", lowering, ", ".join(wrong), witness))
    return markdown(("kernel", "lowering", "versions", "witness"), rows)


def version_launches(old: Run, newest: Run) -> str:
    """What the kernels that were launched with an older version gave, there and in the newest."""
    found = {
        (run["tilelang"], one["fixture"], one["config"], one["merge"]): one
        for run in (old, newest)
        for one in run["runs"]
        if one["lowering"] == "plain" and one["launches"]
    }
    kernels = dict.fromkeys((key[1], key[2]) for key in found if key[0] == old["tilelang"])
    merges = ("TileLang default", "TileLang aggressive", "smemreuse dataflow")
    heads = [f"{run['tilelang']}, {merge}" for run in (old, newest) for merge in merges]
    rows = []
    for fixture, config in kernels:
        keys = [(run["tilelang"], fixture, config, one) for run in (old, newest) for one in merges]
        rows.append((f"`{fixture}`, {config}", *(_launched(found.get(key)) for key in keys)))
    return markdown(("kernel", *heads), rows)


def _launched(run: Run | None) -> str:
    """The bytes of a kernel, and in how many launches it was wrong."""
    if run is None:
        return ""
    wrong, launches = run["wrong_launches"], run["launches"]
    return f"{run['shared_bytes']:,}" + (f", **wrong in {wrong} of {launches}**" if wrong else "")


def _number(run: Run) -> tuple[int, ...]:
    return tuple(map(int, run["tilelang"].split(".")))


def _lowerings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    return sorted({(row["kernel"], row["lowering"]) for run in runs for row in run["rows"]})


def _told(run: Run, kernel: str, lowering: str, merge: str) -> Run | None:
    """What is told of one merge; None where the version does not lower the fixture."""
    for row in run["rows"]:
        if (row["kernel"], row["lowering"]) == (kernel, lowering):
            found: Run | None = row.get("merges", {}).get(merge)
            return found
    return None


def _cell(told: Run | None) -> str:
    if told is None:
        return "not lowered"
    words = {"sound": "", "unsound": ", **wrong**", "unproved": ", unproved"}
    return f"{told['bytes']:,}{words[told['verdict']]}"
