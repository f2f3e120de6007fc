"""The output of a comparison with a baseline: regressions, and other changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data
from smemreuse.report.titles import counted, holding
from smemreuse.results.findings import Finding, FindingKind, Level, Location, plan_finding
from smemreuse.results.regressions import BaselineChange, BaselineEntry, Regression
from smemreuse.results.serialized import as_data, picked


def change_words(change: BaselineChange) -> str:
    """What changed, for people; nothing where nothing did."""
    if change.before is None:
        return "; ".join(["new", *(one.sentence for one in change.worse)])
    was = change.renamed_from
    parts = [] if was is None else [f"matched with {was.kernel} ({was.scope}) of the baseline"]
    parts += [one.sentence for one in change.worse]
    before, now = change.before, change.now
    if now.arena_bytes < before.arena_bytes and not change.worse:
        parts.append(f"{before.arena_bytes:,} -> {now.size}")
    if not change.worse and now.verdict is not before.verdict:
        parts.append(f"{before.verdict} -> {now.verdict}")
    return "; ".join(parts)


def baseline_data(change: BaselineChange | None) -> Data:
    """How a kernel stood, null where it is new, and what is worse; nothing without a baseline."""
    if change is None:
        return {}
    then = change.before
    worse = [as_data(one) for one in change.worse]
    stood = {
        "arena_bytes": None if then is None else then.arena_bytes,
        "verdict": None if then is None else then.verdict.value,
    }
    return {"baseline": {**stood, "regressions": worse}}


def change_findings(
    change: BaselineChange, worse: Sequence[Regression], line: int | None, why: str
) -> Iterator[Finding]:
    """A finding for each thing that is `worse`; `why` is what keeps the plan from being sound."""
    now = change.now
    for one in worse:
        more = "" if now.verdict.value == "sound" or not why else f": {why}"
        place = Location(now.file, line)
        message = f"{one.kind.sentence}: {one.sentence}{more}"
        yield plan_finding(one.kind, Level.ERROR, now.kernel, now.scope, message, place)


def missing_findings(missing: Sequence[BaselineEntry]) -> Iterator[Finding]:
    """A finding for each kernel that is gone, at its file."""
    kind = FindingKind.MISSING
    for one in missing:
        message = f"{kind.sentence}: {missing_words(one)}"
        yield plan_finding(kind, Level.ERROR, one.kernel, one.scope, message, Location(one.file))


def missing_words(one: BaselineEntry) -> str:
    """What a kernel that is gone had, and what to do if that is meant."""
    return f"it had {one.size}; if you removed it on purpose, write the baseline anew"


def missing_data(missing: Sequence[BaselineEntry]) -> list[Data]:
    """The kernels of the baseline that are gone."""
    return [
        picked(one, "file name=kernel scope arena_bytes verdict=verdict.value") for one in missing
    ]


def since_baseline_failures(
    changes: Sequence[BaselineChange], missing: Sequence[BaselineEntry], *, none: bool
) -> list[str]:
    """Why the exit code is 1, a clause for each reason; `none` where there is no kernel at all."""
    worse, gone = sum(bool(one.worse) for one in changes), len(missing)
    clauses = {
        f"{counted(worse, 'kernel')} worse than in the baseline": worse,
        f"{counted(gone, 'kernel')} of the baseline missing": gone,
        "there is no device kernel, and the baseline has some": none,
    }
    return holding(clauses)


def baseline_lines(
    changes: Sequence[BaselineChange | None], missing: Sequence[BaselineEntry]
) -> Iterator[Text]:
    """What became of all kernels since the baseline, and those that are gone; nothing without
    one."""
    held = [one for one in changes if one is not None]
    if held or missing:
        yield changes_line(held, len(missing))
    for one in missing:
        where = f"{printable(one.file)}: {one.kernel} ({one.scope})"
        yield Text(f"  {where} is missing: {missing_words(one)}")


def changes_line(changes: Sequence[BaselineChange], missing: int = 0) -> Text:
    """How many are worse than in the baseline, and how many better, new, the same or missing."""
    worse = sum(bool(one.worse) for one in changes)
    new = sum(one.before is None for one in changes)
    same = sum(not one.is_any for one in changes)
    better = len(changes) - new - same - sum(bool(one.worse and one.before) for one in changes)
    counts = {"worse": worse, "better": better, "new": new, "as before": same, "missing": missing}
    counted = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return Text(
        f"against the baseline: {counted or 'nothing'}",
        style="bold red" if worse or missing else "",
    )
