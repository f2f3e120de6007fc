"""The output of `check`: JSON, lines and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from enum import Enum

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.ir.kernel import unique_names
from smemreuse.report.data import Data, Subject, verdict_data
from smemreuse.report.preconditions import grounds_data, grounds_lines
from smemreuse.report.regressions import baseline_data, change_findings
from smemreuse.report.tables import no_buffers
from smemreuse.report.titles import counted
from smemreuse.report.verdicts import findings, kind_text, tally, verdict_text
from smemreuse.results.audit import Audit, Checked, PlanSource
from smemreuse.results.findings import Finding, FindingKind, Level, Location, plan_finding
from smemreuse.results.preconditions import Preconditions, condition_words
from smemreuse.results.serialized import as_data, picked
from smemreuse.results.verdict import UNSOUND, VerdictKind

NOT_MERGED = "no buffers are merged here, so there is no layout to check (side by side they are"
MAX_BARE = 5
"""Files without a plan that are named."""


class Failure(Enum):
    """Why `check` fails; the value says it of `{plans}`, `{kernels}` or `{files}`, in numbers."""

    UNSOUND = "{plans} unsound"
    UNPROVED = "{plans} unproved (--allow-unproved lets that pass)"
    WORSE = "{kernels} worse than in the baseline"
    MISSING = "{kernels} of the baseline missing"
    BARE = (
        "nothing checked in {files}: give --plan, or the dump from after "
        "MergeSharedMemoryAllocations and ThreadSync"
    )

    def counted(self, number: int) -> str:
        """The clause for so many."""
        plans, kernels, files = (counted(number, word) for word in ("plan", "kernel", "file"))
        return self.value.format(plans=plans, kernels=kernels, files=files)


def checked(subject: Subject, audit: Audit, grounds: Preconditions | None = None) -> Checked:
    """The record of an audit, without the kernel; `grounds` are preconditions of a sound plan."""
    buffers = subject.kernel.allocations(subject.scope)
    lines = {name: buffer.line for buffer, name in unique_names(buffers).items()}
    at_fault = [name for each in audit.verdict.violations for name in each.buffers]
    found = (lines.get(name) for name in (*at_fault, *lines))
    return Checked(
        subject.file,
        subject.kernel.name,
        subject.scope,
        subject.has_buffers,
        next((line for line in found if line), None),
        replace(audit, verdict=replace(audit.verdict, open_pairs=frozenset())),
        None if grounds is None else replace(grounds, report=grounds.report.without_statements()),
    )


def check_entry(row: Checked) -> Data:
    """One kernel of `smemreuse.check/1`."""
    return {
        **picked(row, "file name=kernel scope plan=audit.source arena_bytes=audit.arena"),
        **picked(row.audit, "offsets"),
        **verdict_data(row.audit.verdict),
        "rests_on": grounds_data(row.grounds),
        "finding": None if row.identity is None else row.identity.short,
        "accepted": as_data(row.accepted),
        **baseline_data(row.change),
    }


def check_lines(row: Checked, *, drawn: bool = False, width: int = 100) -> Iterator[Text]:
    """The output on one audit: the plan that was checked, its verdict, and the reasons, `drawn` as
    timelines of `width` if that is asked."""
    if not row.has_buffers:
        yield no_buffers(row.file, row.kernel)
        return
    audit = row.audit
    where = f"{printable(row.file)}: {row.kernel} ({row.scope})"
    verdict = verdict_text(audit.verdict)
    verdict.append(condition_words(audit.verdict, row.grounds))
    if audit.source is PlanSource.NOT_PLANNED:
        yield verdict.append(f": {where}, {audit.source}", style="default")
    elif audit.source is PlanSource.NOTHING_MERGED:
        yield Text(f"{where}: {NOT_MERGED} ").append(verdict).append(")")
    else:
        what = f"{audit.source}, {len(audit.offsets)} buffers in {audit.arena:,} bytes"
        yield verdict.append(f": {where}, {what}", style="default")
    yield from findings(audit.verdict, drawn=drawn, width=width)
    if row.accepted is not None:
        yield Text(f"  accepted: {printable(row.accepted.reason)} ({row.accepted.source})")
    elif row.identity is not None:
        yield Text(f"  to accept it in smemreuse.toml: [{row.identity.short}]", style="dim")
    yield from grounds_lines(row.grounds, audit.verdict.assumptions, file=row.file)


def audits_line(found: Sequence[Checked]) -> Text:
    """How many plans of many files have which verdict."""
    plans = [one.audit for one in found if one.audit.source.is_plan]
    counts = Counter(audit.verdict.verdict for audit in plans)
    files = counted(len({one.file for one in found}), "file")
    if not plans:
        kernels = counted(len(found), "kernel")
        one = files == "1 file"
        what, are = ("this dump has", "it is") if one else ("these dumps have", "they are")
        return Text(
            f"Nothing checked: {what} no merged layout ({kernels} of {files}): {are} from before "
            "the merge, or nothing is merged",
            "bold",
        )
    line = Text(f"{counted(len(plans), 'plan')} in {files}: ", style="bold")
    line.append_text(tally(counts, VerdictKind, kind_text))
    accepted = sum(one.accepted is not None for one in found)
    line.append(f"; {accepted:,} accepted" if accepted else "")
    nothing = len(found) - len(plans)
    if nothing:
        line.append(f"; nothing merged in {counted(nothing, 'kernel')}")
    return line


def audit_findings(row: Checked) -> Iterator[Finding]:
    """A finding for a plan that is refuted or not proved; with a baseline, for each regression."""
    found = row.audit.verdict
    if row.change is not None:
        yield from change_findings(row.change, row.worse, row.line, found.first_finding)
        return
    if found.sound:
        return
    refuted = found.verdict is UNSOUND
    kind = FindingKind.UNSOUND_PLAN if refuted else FindingKind.UNPROVED_PLAN
    level = Level.ERROR if refuted else Level.WARNING
    message = f"{kind.sentence}: {found.first_finding}"
    place = Location(row.file, row.line)
    finding = plan_finding(kind, level, row.kernel, row.scope, message, place)
    yield replace(finding, accepted=row.accepted.reason if row.accepted is not None else "")


# Files without any plan -------------------------------------------------------------------------


def bare_files(found: Sequence[Checked]) -> Set[str]:
    """The files of which nothing was audited though there are buffers, or no kernel of any file;
    but for those that are in the baseline, which are held against that."""
    planned = {one.file for one in found if one.audit.source.is_plan}
    held = {one.file for one in found if one.change is not None and one.change.before is not None}
    known = planned | held
    return {one.file for one in found if one.has_buffers or not known} - known


def bare_findings(found: Sequence[Checked], bare: Set[str]) -> Iterator[Finding]:
    """A finding for each of these files without a plan, at its first kernel."""
    kind = FindingKind.NOTHING
    for row in _first_of(found, bare):
        place = Location(row.file, row.line)
        yield plan_finding(kind, Level.ERROR, row.kernel, row.scope, kind.sentence, place)


def bare_lines(found: Sequence[Checked], bare: Set[str]) -> Iterator[Text]:
    """These files without a plan, where there are others."""
    files = [printable(row.file) for row in _first_of(found, bare)]
    if not files or bare >= {one.file for one in found}:
        return
    yield Text(f"nothing to check in {counted(len(files), 'file')}:")
    yield from (Text(f"  {name}") for name in files[:MAX_BARE])
    if files[MAX_BARE:]:
        yield Text(f"  and {len(files) - MAX_BARE:,} more")


def _first_of(found: Sequence[Checked], files: Set[str]) -> Iterator[Checked]:
    first: dict[str, Checked] = {}
    for row in found:
        first.setdefault(row.file, row)
    yield from (row for file, row in first.items() if file in files)
