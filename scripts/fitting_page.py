"""Tables of what fits into the memory of a block, and by what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scripts.fits_of_dumps import WAYS as WAYS_OF_DUMPS
from scripts.measure_fits import BY_DEFAULT, BY_LEVERS, BY_MERGING, NOT, UNKNOWN, way_of
from scripts.results import markdown

KINDS = {
    "slices": "by levers: products in slices",
    "reload": "by levers: tiles loaded again",
    "other": "by levers: fewer stages, later loads, direct stores",
}
"""The levers of a function, the one that is pulled last first."""


def fits_table(data: Mapping[str, Any]) -> str:
    """How many functions fit by what."""
    ways: Counter[str] = Counter()
    for one in data["functions"]:
        way = way_of(one, data["limit"])
        ways[_by_what(one) if way == BY_LEVERS else way] += 1
    names = (BY_DEFAULT, BY_MERGING, *reversed(KINDS.values()), NOT, UNKNOWN)
    rows = [(name, f"{ways[name]:,}") for name in names if ways[name]]
    added = data["added_seconds"]
    head = (
        f"{data['date']}, {data['machine']}; {data['limit']:,} bytes, code for {data['arch']}. "
        f"Levers add {added['median']} s of processor time to a lowering at the median, at most "
        f"{added['worst']} s.\n\n"
    )
    return head + markdown(("fits", "functions"), rows)


def _by_what(function: Mapping[str, Any]) -> str:
    kinds = {step["kind"] for step in function["steps"]}
    return KINDS[next((kind for kind in KINDS if kind in kinds), "other")]


def dumps_table(data: Mapping[str, Any]) -> str:
    """What would make kernels of dumps fit."""
    heads = ("dumps", "kernels", "fit by default", "fit merged by smemreuse")
    ways = (f"would fit by {WAYS_OF_DUMPS[0]}", f"by {WAYS_OF_DUMPS[1]}", WAYS_OF_DUMPS[2])
    table = markdown((*heads, *ways), map(_dumps_row, data["groups"]))
    return f"{data['date']}; {data['limit']:,} bytes.\n\n{table}"


def _dumps_row(group: Mapping[str, Any]) -> tuple[Any, ...]:
    kinds = ", ".join(f"{kind} {count}" for kind, count in group["kinds"].items())
    by_changes, *others = (len(group[way]) for way in WAYS_OF_DUMPS)
    first = f"{by_changes} ({kinds})" if kinds else by_changes
    return group["name"], group["kernels"], group["default_fits"], group["fits"], first, *others
