"""The tables of docs/findings: what was made to show, what not, and what a sanitizer tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.results import markdown
from scripts.sanitizer import TOOLS
from smemreuse.results.reproduction import (
    AS_IT_IS,
    DELAYED,
    MENDED,
    MENDED_DELAYED,
    Shown,
)

Row = Mapping[str, Any]


def rows_of(studies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Row]]:
    """Each finding of the studies, with its program."""
    for study in studies:
        for program in study["programs"]:
            yield from ((program["program"], one) for one in program.get("findings", ()))


def shown_counts(studies: Sequence[Mapping[str, Any]]) -> str:
    """How many findings there were, and what came of them."""
    found = [one for _, one in rows_of(studies)]
    counts = Counter(Shown(one["shown"]) for one in found)
    shown = sum(count for kind, count in counts.items() if kind.is_shown)
    wrong = [one for one in found if _is_wrong(one, MENDED) or _is_wrong(one, MENDED_DELAYED)]
    mended = sum(MENDED in one["outcomes"] for one in found)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in Shown if counts[kind])
    where = f"an {studies[0]['device'].removeprefix('NVIDIA ')}, {studies[-1]['date']}"
    share = f"{100 * shown / len(found):.0f} %"
    return (
        f"Of {len(found)} certain findings {shown} were shown ({share}), on {where}: {told}.\n"
        f"Of {mended} that were fixed, {len(wrong)} were wrong with the fix.\n"
    )


def _is_wrong(one: Row, variant: str) -> bool:
    """Whether a variant hung, or differs from a reference that is the same twice."""
    gave, must = one["outcomes"].get(variant), one["outcomes"].get(one["reference"])
    if gave is None:
        return False
    steady = must is None or not must["unsteady"]
    return bool(gave["hangs"] or (steady and gave["differing"]))


def shown_table(studies: Sequence[Mapping[str, Any]]) -> str:
    """What each finding did."""
    rows = [
        (
            *(program, f"{one['kind']}{': ' if one['mechanism'] else ''}{one['mechanism']}"),
            *(one["shown"], *(_cell(one, each) for each in (AS_IT_IS, DELAYED, MENDED))),
            _cell(one, MENDED_DELAYED),
        )
        for program, one in rows_of(studies)
    ]
    heads = ("program", "finding", "", AS_IT_IS, DELAYED, MENDED, MENDED_DELAYED)
    return markdown(heads, rows)


def _cell(one: Row, variant: str) -> str:
    gave = one["outcomes"].get(variant)
    if gave is None:
        return ""
    if gave["error"]:
        return "failed"
    return "hangs" if gave["hangs"] else f"{gave['differing']} of {gave['launches']}"


def sanitized_table(data: Mapping[str, Any]) -> str:
    """What each tool tells of each file: errors, or why it tells nothing; empty where none."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for run in data["runs"]:
        of_variant = cells.setdefault((run["finding"], run["variant"]), {})
        told = run["why"] if run["errors"] is None else f"{run['errors']:,}" * bool(run["errors"])
        of_variant[run["tool"]] = f"{told}, hangs".strip(", ") if run["hangs"] else told
    rows = [
        (f"[`{name}`]({name}.md)", variant, *(found.get(tool, "") for tool in TOOLS))
        for (name, variant), found in cells.items()
    ]
    return markdown(("finding", "", *TOOLS), rows)
