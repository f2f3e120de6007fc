"""What `lint` tells: as text, as JSON, as SARIF and as annotations of GitHub's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.text import Text

from smemreuse.report.data import Data
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, LintStatus, Site
from smemreuse.results.mending import Mending

_STYLES = {LintStatus.CLEAN: "green", LintStatus.HAZARDS: "bold red"}

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

TOOL = "smemreuse lint"


@dataclass(frozen=True)
class Linted:
    """The report on one kernel of a file; `silenced` are how many hazards a baseline knows, and
    `mending` what came of mending it, if that was asked."""

    file: str
    report: LintReport
    silenced: int = 0
    mending: Mending | None = None

    def without(self, known: frozenset[str]) -> Linted:
        """Without the hazards of these fingerprints."""
        kept = tuple(
            one for one in self.report.hazards if one.fingerprint(self.report.kernel) not in known
        )
        silenced = len(self.report.hazards) - len(kept)
        return replace(self, report=replace(self.report, hazards=kept), silenced=silenced)


def stage_words(report: LintReport) -> str:
    """What was taken for granted of barriers and fences."""
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
    where = f"{linted.file}: {report.kernel}, {stage_words(report)}"
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
            "behind": site_data(mend.behind),
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


# SARIF ------------------------------------------------------------------------------------------


def sarif(found: Sequence[Linted], version: str) -> Data:
    """A log of SARIF 2.1.0: a result for each hazard, at its line of the dump."""
    rules = [{"id": kind.value, "shortDescription": {"text": kind.sentence}} for kind in HazardKind]
    results = [_result(linted, hazard) for linted in found for hazard in linted.report.hazards]
    driver = {"name": TOOL, "version": version, "rules": rules}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(linted: Linted, hazard: Hazard) -> Data:
    text = f"{linted.report.kernel}: {hazard.witness}. Mend: {hazard.mend.sentence}"
    result: Data = {
        "ruleId": hazard.kind.value,
        "level": "error" if hazard.certain else "note",
        "message": {"text": text},
        "locations": [_location(linted.file, hazard.site)],
        "partialFingerprints": {"hazard/v1": hazard.fingerprint(linted.report.kernel)},
    }
    if hazard.other is not None:
        result["relatedLocations"] = [_location(linted.file, hazard.other)]
    return result


def _location(file: str, site: Site) -> Data:
    place: Data = {"artifactLocation": {"uri": Path(file).as_posix()}}
    if site.line:
        place["region"] = {"startLine": site.line}
    return {"physicalLocation": place, "message": {"text": site.statement}}


# GitHub -----------------------------------------------------------------------------------------


def github_lines(found: Sequence[Linted]) -> Iterator[str]:
    """Workflow commands, each an annotation of a line."""
    for linted in found:
        for hazard in linted.report.hazards:
            level = "error" if hazard.certain else "warning"
            line = f",line={hazard.site.line}" if hazard.site.line else ""
            title = _property(f"{hazard.kind} in {linted.report.kernel}")
            text = _message(f"{hazard.witness}. Mend: {hazard.mend.sentence}")
            yield f"::{level} file={_property(linted.file)}{line},title={title}::{text}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
