"""The tables of docs/findings: what was made to show, what not, and what a sanitizer tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.results import RESULTS, machine, markdown, read
from scripts.sanitizer import TOOLS
from scripts.unshown_page import unshown_table, with_again, withdrawn
from smemreuse.results.reproduction import (
    AS_IT_IS,
    DELAYED,
    MENDED,
    MENDED_DELAYED,
    Shown,
)

Row = Mapping[str, Any]

STUDIES = "reproduce-h100", "reproduce-field-h100", "reproduce-examples-h100"
PLANS, OVERTAKEN, SANITIZED = "reproduce-plans-h100", "overtaken-h100", "sanitized-h100"
COSTS, ONCE_MORE = "fix-costs-h100", "reproduce-again-h200"
AGAIN = f"{AS_IT_IS}, again"


def parts() -> Iterator[tuple[str, str]]:
    """What was made to show, by the names of the page's markers, as far as it was measured yet."""
    again = read(ONCE_MORE) if _is_there(ONCE_MORE) else None
    first = [read(name) for name in STUDIES if _is_there(name)]
    studies = with_again(first, again)
    yield "findings-counts", shown_counts(studies, again)
    yield "findings-shown", shown_table(studies)
    plans = with_again([read(PLANS)], again) if _is_there(PLANS) else []
    yield "findings-not-shown", unshown_table([*studies, *plans])
    if plans:
        yield "findings-plans", shown_table(plans)
    tables = (
        ("findings-overtaken", OVERTAKEN, overtaken_table),
        ("findings-costs", COSTS, costs_table),
        ("findings-sanitized", SANITIZED, sanitized_table),
    )
    for marker, name, table in tables:
        if _is_there(name):
            data = read(name)
            yield marker, f"{machine(data, 'tilelang')}\n{table(data)}"


def _is_there(name: str) -> bool:
    return (RESULTS / f"{name}.json").exists()


def rows_of(studies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Row]]:
    """Each finding of the studies, with its program."""
    for study in studies:
        for program in study["programs"]:
            yield from ((program["program"], one) for one in program.get("findings", ()))


def shown_counts(
    studies: Sequence[Mapping[str, Any]], again: Mapping[str, Any] | None = None
) -> str:
    """How many findings there were, and what came of them, `again` too."""
    found = [one for _, one in rows_of(studies)]
    counts = Counter(Shown(one["shown"]) for one in found)
    shown = sum(count for kind, count in counts.items() if kind.is_shown)
    wrong = [one for one in found if _is_wrong(one, MENDED) or _is_wrong(one, MENDED_DELAYED)]
    mended = sum(MENDED in one["outcomes"] for one in found)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in Shown if counts[kind])
    where = f"an {studies[0]['device'].removeprefix('NVIDIA ')}, {studies[-1]['date']}"
    share = f"{100 * shown / len(found):.0f} %"
    once, apart = _once(studies), _once(studies, apart=True)
    of_those = sum(once.values())
    later = sum("card" in one for one in found)
    failed = [one["program"] for study in studies for one in study["programs"] if "error" in one]
    return (
        f"Of {len(found)} certain findings {shown} were shown ({share}), on {where}: {told}.\n"
        f"Of {len(once)} in which those of one program, kind and mechanism count once, "
        f"{of_those} were shown ({100 * of_those / len(once):.0f} %), "
        f"{sum(apart.values())} of them apart from others of their kernel.\n"
        f"Of {mended} that were fixed, {len(wrong)} were wrong with the fix.\n"
        + (f"{_once_more(again, later)}\n" if again else "")
        + (f"Not run to the end: {', '.join(failed)}.\n" if failed else "")
    )


def _once_more(again: Mapping[str, Any], later: int) -> str:
    """What trying once more has shown."""
    card = again["device"].removeprefix("NVIDIA ")
    return (
        f"Of these {later} were shown by other attempts, on an {card}, {again['date']}; "
        f"{len(withdrawn())} more are not certain any more."
    )


def _once(
    studies: Sequence[Mapping[str, Any]], *, apart: bool = False
) -> dict[tuple[str, str, str], bool]:
    """For each program, kind and mechanism whether one of its findings was shown; `apart` from
    others, not only as one of several."""
    found: dict[tuple[str, str, str], bool] = {}
    for program, one in rows_of(studies):
        key = program, one["kind"], one["mechanism"]
        shown = Shown(one["shown"])
        alone = shown.is_shown and not (apart and shown is Shown.ONE_OF_SEVERAL)
        found[key] = found.get(key, False) or alone
    return found


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
            *(_shown(one), *(_cell(one, each) for each in (AS_IT_IS, DELAYED, MENDED))),
            _cell(one, MENDED_DELAYED),
        )
        for program, one in rows_of(studies)
    ]
    heads = ("program", "finding", "", AS_IT_IS, DELAYED, MENDED, MENDED_DELAYED)
    return markdown(heads, rows)


def _shown(one: Row) -> str:
    return f"{one['shown']}, {one['card']}" if "card" in one else str(one["shown"])


def _cell(one: Row, variant: str) -> str:
    gave = one["outcomes"].get(variant)
    if gave is None:
        return ""
    if gave["error"]:
        return "failed"
    return "hangs" if gave["hangs"] else f"{gave['differing']} of {gave['launches']}"


def overtaken_table(data: Mapping[str, Any]) -> str:
    """In how many launches a TMA load overtook a read behind so many stores to one bank."""
    rows = [
        (row["kernel"].removesuffix("_kernel"), ", ".join(row["buffers"]), *_overtaken(row))
        for row in data["rows"]
    ]
    return markdown(("kernel", "read", "not delayed", *OVERTAKEN_BEHIND), rows)


OVERTAKEN_BEHIND = tuple(
    f"{stores} {how}" for stores in (4, 16, 64) for how in ("alone", "crowded")
)


def _overtaken(row: Row) -> Iterator[str]:
    for name in ("0", *OVERTAKEN_BEHIND):
        yield str(row["differing"].get(name, ""))


def costs_table(data: Mapping[str, Any]) -> str:
    """What the fixes of each kernel cost, all of them together, and of all kernels the mean."""
    fixed, again = data[MENDED], data[AGAIN]
    timed = [row for row in data["rows"] if "error" not in row]
    rows = [
        (
            *(row["program"], len(row["findings"]), f"{row['ms'][AS_IT_IS]:.4f}"),
            *(f"{row['over'][name]['median']:.3f}" for name in (MENDED, AGAIN)),
        )
        for row in timed
    ]
    failed = [f"{row['program']} ({row['error']})" for row in data["rows"] if "error" in row]
    return (
        f"Of {data['kernels']} kernels the fixed ones take {fixed['geometric_mean']:.3f} of the "
        f"time (geometric mean), {fixed['worst']:.3f} at worst; the same kernels once more "
        f"{again['geometric_mean']:.3f} and {again['worst']:.3f}.\n"
        + (f"Not timed: {', '.join(failed)}.\n" if failed else "")
        + "\n"
        + markdown(("program", "findings", "ms", MENDED, AGAIN), rows)
    )


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
