"""The output of `lint`: text, JSON and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data
from smemreuse.report.titles import counted
from smemreuse.results.findings import Finding, Level, Location
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, LintStatus, Site
from smemreuse.results.mending import Mending

MAX_LISTED = 5
"""Hazards of a kernel that are listed where it is one of many; JSON has all."""

_STYLES = {LintStatus.CLEAN: "green", LintStatus.HAZARDS: "bold red"}


@dataclass(frozen=True)
class Linted:
    """The report on one kernel of a file; `silenced` are how many hazards a baseline knows, and
    `mending` what came of mending it, if that was asked."""

    file: str
    report: LintReport
    silenced: int = 0
    mending: Mending | None = None

    def without(self, known: frozenset[str]) -> Linted:
        """The report without the hazards that have these fingerprints."""
        kept = tuple(
            one for one in self.report.hazards if one.fingerprint(self.report.kernel) not in known
        )
        silenced = len(self.report.hazards) - len(kept)
        return replace(self, report=replace(self.report, hazards=kept), silenced=silenced)


def stage_words(report: LintReport) -> str:
    """Whether the kernel was taken to have its barriers and fences, or to get them later."""
    if report.barriers_follow:
        return "before barriers are inserted: what a later pass inserts is not missed"
    return "with all its barriers"


def status_text(status: LintStatus) -> Text:
    """The status, coloured on a terminal."""
    return Text(str(status), style=_STYLES.get(status, "yellow"))


# Text -------------------------------------------------------------------------------------------


def lint_lines(linted: Linted) -> Iterator[Text]:
    """The status of a kernel, its hazards with their mends, and what is open."""
    report = linted.report
    where = f"{printable(linted.file)}: {report.kernel}, {stage_words(report)}"
    yield status_text(report.status).append(f": {where}", style="default")
    for hazard in report.hazards:
        sure = "certain" if hazard.certain else "possible"
        line = f"line {hazard.site.line}: " if hazard.site.line else ""
        yield Text(f"  {line}{hazard.kind} ({sure}): {hazard.witness}")
        yield Text(f"    mend: {hazard.mend.sentence}")
    for reason in report.unknown:
        yield Text(f"  not followed: {reason}")
    for assumption in report.assumptions:
        yield Text(f"  assuming that {assumption}", style="dim")
    if linted.silenced:
        yield Text(f"  {linted.silenced} known to the baseline", style="dim")


def hazard_lines(name: str, found: LintReport | None) -> Iterator[Text]:
    """The first hazards of one of many kernels, a line for each; none where it was not linted."""
    for hazard in found.hazards[:MAX_LISTED] if found is not None else ():
        sure = "certain" if hazard.certain else "possible"
        yield Text(f"{name}: {hazard.kind} ({sure}): {hazard.witness}")
    if found is not None and len(found.hazards) > MAX_LISTED:
        yield Text(f"{name}: ... and {len(found.hazards) - MAX_LISTED} more hazards")
    for reason in found.unknown[:1] if found is not None else ():
        yield Text(f"{name}: lint does not follow: {reason}")


def linted_line(found: Sequence[Linted]) -> Text:
    """How many kernels of many files have which status, and the hazards of each kind."""
    files = counted(len({one.file for one in found}), "file")
    line = Text(f"{counted(len(found), 'kernel')} in {files}: ", "bold")
    statuses = Counter(one.report.status for one in found)
    for place, status in enumerate(one for one in LintStatus if statuses[one]):
        line.append(", " if place else "").append(f"{statuses[status]:,} ")
        line.append_text(status_text(status))
    kinds = Counter(str(hazard.kind) for one in found for hazard in one.report.hazards)
    by_kind = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    return line.append(f"; {by_kind}" if by_kind else "")


# JSON -------------------------------------------------------------------------------------------


def lint_entry(linted: Linted) -> Data:
    """One kernel of `smemreuse.lint/1`."""
    report = linted.report
    return {
        "file": linted.file,
        "name": report.kernel,
        **report_data(report),
        "silenced": linted.silenced,
    }


def report_data(report: LintReport) -> Data:
    """What was found in a kernel."""
    return {
        "status": report.status.value,
        "clean": report.clean,
        "barriers": "later" if report.barriers_follow else "present",
        "hazards": [hazard_data(hazard, report.kernel) for hazard in report.hazards],
        "unknown": list(report.unknown),
        "assumptions": list(report.assumptions),
    }


def hazard_data(hazard: Hazard, kernel: str) -> Data:
    """One hazard of a kernel."""
    mend = hazard.mend
    return {
        "kind": hazard.kind.value,
        "certain": hazard.certain,
        "fingerprint": hazard.fingerprint(kernel),
        "site": site_data(hazard.site),
        "other": site_data(hazard.other),
        "buffers": list(hazard.buffers),
        "bytes": list(hazard.bytes) if hazard.bytes is not None else None,
        "agents": list(hazard.agents),
        "blocks": dict(hazard.blocks),
        "witness": hazard.witness,
        "mend": {
            "remedy": mend.remedy.value,
            "sentence": mend.sentence,
            "behind": site_data(mend.after),
            "before": site_data(mend.before),
            "threads": list(mend.threads) if mend.threads is not None else None,
            "engine": mend.engine or None,
        },
    }


def site_data(site: Site | None) -> Data | None:
    """A statement, by its text and line."""
    if site is None:
        return None
    return {"statement": site.statement, "line": site.line, "loops": dict(site.loops)}


# Findings ---------------------------------------------------------------------------------------

RULES = {kind.value: kind.sentence for kind in HazardKind}


def hazard_findings(linted: Linted) -> Iterator[Finding]:
    """The hazards of a kernel as findings, at their lines of the dump."""
    kernel = linted.report.kernel
    for hazard in linted.report.hazards:
        yield Finding(
            hazard.kind.value,
            Level.ERROR if hazard.certain else Level.NOTE,
            kernel,
            f"{hazard.witness}. Mend: {hazard.mend.sentence}",
            _place(linted.file, hazard.site),
            hazard.fingerprint(kernel),
            _place(linted.file, hazard.other) if hazard.other is not None else None,
        )


def _place(file: str, site: Site) -> Location:
    return Location(file, site.line, site.statement)
