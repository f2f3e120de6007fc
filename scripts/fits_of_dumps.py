"""What would make real kernels fit, as `smemreuse fit` says of their dumps; needs no GPU.

    smemreuse fit FOLDER --limit 101376 --format json > production.json
    python -m scripts.fits_of_dumps production=production.json --out docs/results/fits-dumps.json

Each answer has a name, and its dumps are told apart by the folder that they lie in if that is named
after a GPU. Of each kernel that does not fit as smemreuse merges it: its bytes, the kinds of the
changes with which it would, or the smaller tiles, and how many bytes it takes then.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.results import about, options_of, write

Kernel = Mapping[str, Any]

BY_CHANGES, BY_TILES, NOT = WAYS = "changes", "smaller tiles", "nothing known"


def main() -> None:
    parser = options_of(__doc__, "out")
    parser.add_argument("answers", nargs="+", metavar="NAME=FILE")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    limits: set[int] = set()
    for one in options.answers:
        name, _, path = one.partition("=")
        answer = json.loads(Path(path).read_text())
        limits.add(answer["options"]["limit"])
        rows += rows_of(name, answer)
    (limit,) = limits
    write(options.out, {**about("fits-dumps"), "limit": limit, "groups": rows}, depth=4)
    for row in rows:
        print(row["name"], {way: len(row[way]) for way in WAYS})


def rows_of(name: str, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The counts of an answer, for each GPU by itself, and the kernels that do not fit."""
    groups: dict[str, list[Kernel]] = {}
    for one in answer["kernels"]:
        folder = Path(str(one["file"])).parent.name
        group = f"{name}, {folder}" if folder.startswith("sm_") else name
        groups.setdefault(group, []).append(one)
    limit = int(answer["options"]["limit"])
    return [_row(group, found, limit) for group, found in sorted(groups.items())]


def _row(name: str, kernels: Sequence[Kernel], limit: int) -> dict[str, Any]:
    large = [one for one in kernels if not one["fits"]]
    by_default = [one["default_bytes"] for one in kernels if one["default_bytes"] is not None]
    found: dict[str, Any] = {
        "name": name,
        "kernels": len(kernels),
        "default_fits": sum(size <= limit for size in by_default),
        "fits": len(kernels) - len(large),
        "kinds": dict(sorted(Counter(kind for one in large for kind in _kinds(one)).items())),
    }
    for way in WAYS:
        found[way] = [_told(one, way) for one in large if way_of(one) == way]
    return found


def way_of(kernel: Kernel) -> str:
    """By what a kernel that does not fit would."""
    if kernel["steps"]:
        return BY_CHANGES
    return BY_TILES if kernel["smaller"] else NOT


def _kinds(kernel: Kernel) -> set[str]:
    return {step["kind"] for step in kernel["steps"]}


def _told(kernel: Kernel, way: str) -> dict[str, Any]:
    told: dict[str, Any] = {"name": Path(str(kernel["file"])).stem, "bytes": kernel["bytes"]}
    if way == BY_CHANGES:
        return {**told, "kinds": sorted(_kinds(kernel)), "after": kernel["after"]}
    if way == BY_TILES:
        smaller = kernel["smaller"]
        return {**told, "tiles": len(smaller["tiles"]), "after": smaller["bytes"]}
    return {**told, "why": kernel["why"]}


if __name__ == "__main__":
    main()
