"""Tables of what TileLang's versions, and we, make of other projects' kernels.

They come from what `scripts/production_by_version.py` wrote in an environment of each version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.results import markdown

Run = Mapping[str, Any]
Row = Mapping[str, Any]
Cells = tuple[Any, ...]

STATUSES = ("clean", "hazards", "possible hazards", "unknown")
LONGEST = 260


def production_counts(runs: Sequence[Run]) -> str:
    """For each repository and version: what is lowered and proved, bytes, what is refuted."""
    heads = (
        *("repository", "TileLang", "lowered", "ours proved", "default", "ours", "larger"),
        *("default refuted", "aggressive refuted", "lint: clean, hazards, possible, unknown"),
    )
    rows = []
    for repository in _repositories(runs):
        for run in runs:
            own = [row for row in _present(run) if row["repository"] == repository]
            if own:
                rows.append((repository, run["tilelang"], *_counts(own)))
    return markdown(heads, rows)


def _counts(rows: Sequence[Row]) -> Cells:
    kernels = [one for row in rows for one in row.get("kernels", ())]
    plans = [one for one in kernels if "verdict" in one["ours"]]
    proved = sum(one["ours"]["verdict"] == "sound" for one in plans)
    before, after = (sum(_bytes(one)[at] for one in kernels) for at in (0, 1))
    larger = sum(_bytes(one)[1] > _bytes(one)[0] for one in kernels)
    refuted = [
        sum(one[merge].get("verdict") == "unsound" for one in kernels)
        for merge in ("default", "aggressive")
    ]
    lint = Counter(one["lint"]["status"] for one in kernels if one["lint"])
    return (
        f"{sum(row['lowered'] for row in rows)} of {len(rows)}",
        f"{proved} of {len(plans)}",
        *(f"{before:,}", f"{after:,}", larger, *refuted),
        ", ".join(str(lint[one]) for one in STATUSES),
    )


def _bytes(kernel: Row) -> tuple[int, int]:
    """What a block takes under the version's default merge, and under ours."""
    return kernel["default"]["applied"] or 0, kernel["ours"]["bytes"] or 0


def production_refuted(runs: Sequence[Run]) -> str:
    """The versions' own merges that are refuted, with the witness in the newest that has it."""
    told: dict[Cells, dict[str, str]] = {}
    for run, row, kernel in _kernels(runs):
        for merge in ("default", "aggressive"):
            if kernel[merge].get("verdict") == "unsound":
                key = (row["repository"], f"`{row['kernel']}`", merge)
                told.setdefault(key, {})[run["tilelang"]] = kernel[merge]["why"]
    rows = [(*key, ", ".join(found), _cut(list(found.values())[-1])) for key, found in told.items()]
    return markdown(("repository", "kernel", "merge", "versions", "witness"), rows)


def production_hazards(runs: Sequence[Run]) -> str:
    """The certain hazards of the kernels themselves: the first one of each factory and kind."""
    told: dict[Cells, tuple[dict[str, None], dict[str, None], str]] = {}
    for run, row, kernel in _kernels(runs):
        for one in (kernel["lint"] or {}).get("hazards", ()):
            if one["certain"]:
                factory, number = row["kernel"].split()
                key = (row["repository"], f"`{factory}`", one["kind"], one["origin"])
                found = told.setdefault(key, ({}, {}, _cut(one["witness"])))
                found[0][number] = found[1][run["tilelang"]] = None
    rows = [
        (*key, ", ".join(numbers), ", ".join(versions), witness)
        for key, (numbers, versions, witness) in told.items()
    ]
    heads = ("repository", "factory", "hazard", "of the", "number", "versions", "witness")
    return markdown(heads, rows)


def production_not_lowered(runs: Sequence[Run]) -> str:
    """What a version does not lower, by the line of its error."""
    told: dict[Cells, dict[str, None]] = {}
    for run in runs:
        for row in _present(run):
            if not row["lowered"]:
                key = (row["repository"], run["tilelang"], _cut(_error(row), 160))
                told.setdefault(key, {})[f"`{row['kernel']}`"] = None
    rows = [(*key[:2], ", ".join(names), key[2]) for key, names in told.items()]
    return markdown(("repository", "TileLang", "kernels", "error"), rows)


def production_kernels(runs: Sequence[Run]) -> str:
    """Each kernel in each version: bytes of the default and, where they differ, of ours."""
    names = {(row["repository"], row["kernel"]): None for run in runs for row in _present(run)}
    cells = {
        (run["tilelang"], row["repository"], row["kernel"]): _cell(row)
        for run in runs
        for row in _present(run)
    }
    versions = [run["tilelang"] for run in runs]
    rows = [
        (name[0], f"`{name[1]}`", *(cells.get((version, *name), "") for version in versions))
        for name in names
    ]
    return markdown(("repository", "kernel", *versions), rows)


def _cell(row: Row) -> str:
    if not row["lowered"]:
        return "not lowered"
    return "; ".join(map(_told, row["kernels"]))


def _told(kernel: Row) -> str:
    before, after = _bytes(kernel)
    text = f"{before:,}" if before == after else f"{before:,} → {after:,}"
    if kernel["ours"].get("verdict", "sound") != "sound":
        text += " unproved"
    wrong = [one for one in ("default", "aggressive") if kernel[one].get("verdict") == "unsound"]
    return text + (f", {' and '.join(wrong)} **refuted**" if wrong else "")


def _present(run: Run) -> list[Row]:
    return [row for row in run["rows"] if not row.get("missing")]


def _repositories(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(row["repository"] for run in runs for row in _present(run)))


def _kernels(runs: Sequence[Run]) -> Iterator[tuple[Run, Row, Row]]:
    for run in runs:
        for row in _present(run):
            for kernel in row.get("kernels", ()):
                yield run, row, kernel


def _error(row: Row) -> str:
    return str(row.get("error") or row.get("broke") or "no kernel").strip().splitlines()[-1]


def _cut(text: str, longest: int = LONGEST) -> str:
    """A text for a cell of a table."""
    one = " ".join(text.split()).replace("|", "\\|")
    return one if len(one) <= longest else f"{one[: longest - 3]}..."
