"""The output of `lint`: text, JSON and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data, site_data
from smemreuse.report.hazard_causes import cause_lines, undecided_words
from smemreuse.report.preconditions import assumed_where
from smemreuse.report.timeline import timeline_of, timeline_text
from smemreuse.report.titles import counted
from smemreuse.results.accepted import Acceptances, Identity
from smemreuse.results.evidence import seen_of, seen_words
from smemreuse.results.findings import Finding, Level, Location, fingerprint_of
from smemreuse.results.gate import Gate
from smemreuse.results.hazard_groups import HazardCause, by_cause
from smemreuse.results.hazards import (
    UNFOLLOWED,
    Hazard,
    HazardKind,
    LintReport,
    LintStatus,
    brief_sentence,
    doubt_of,
    sure_words,
)
from smemreuse.results.known_hazards import KnownKernel
from smemreuse.results.mending import Mending
from smemreuse.results.serialized import as_data, picked
from smemreuse.results.sites import Site, place_of
from smemreuse.results.undecided import Undecided
from smemreuse.results.verdict import unfollowed_words
from smemreuse.results.words import without_lines

MAX_LISTED = 5
"""Causes of hazards of a kernel that are listed where it is one of many; JSON has all."""

STYLES = {LintStatus.CLEAN: "green", LintStatus.HAZARDS: "bold red"}


@dataclass(frozen=True)
class Linted:
    """The report on one kernel of a file, and what a baseline knows of it.

    `silenced` are the places of its hazards that the baseline knows and that are not accepted,
    `expected` what could not be followed there either, `mending` what came of mending it, if that
    was asked. `is_tilelang`: TileLang wrote the dump.
    """

    file: str
    report: LintReport
    silenced: frozenset[int] = frozenset()
    expected: frozenset[str] = frozenset()
    mending: Mending | None = None
    is_tilelang: bool = False

    @property
    def told(self) -> tuple[tuple[Hazard, Identity], ...]:
        """The hazards that are new, and those that are accepted, with what each is known by."""
        found = zip(self.report.hazards, self.report.identities(self.file), strict=True)
        return tuple(one for place, one in enumerate(found) if place not in self.silenced)

    @property
    def open_hazards(self) -> tuple[tuple[Hazard, Identity], ...]:
        """Those that are new and not accepted."""
        return tuple(one for one in self.told if one[0].accepted is None)

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """The hazards that are new, and not accepted."""
        return tuple(hazard for hazard, _ in self.open_hazards)

    @property
    def accepted(self) -> int:
        """How many hazards are accepted."""
        return len(self.told) - len(self.open_hazards)

    def held_against(self, acceptances: Acceptances, then: KnownKernel) -> Linted:
        """The same, with what the project accepts of it, and what a baseline knows of the rest."""
        report = self.report.held_against(acceptances, self.file)
        accepted = {at for at, one in enumerate(report.hazards) if one.accepted is not None}
        silenced = then.silenced(report) - accepted
        return replace(self, report=report, silenced=silenced, expected=then.expected(report))

    @property
    def unknown(self) -> tuple[str, ...]:
        """What could not be followed, and was before."""
        return tuple(one for one in self.report.unknown if one not in self.expected)

    def fails(self, gate: Gate) -> bool:
        """Whether what is new makes the exit code 1."""
        return gate.fails(self.hazards, self.unknown)


def stage_words(report: LintReport) -> str:
    """Which barriers and fences lint has counted."""
    if report.barriers_follow:
        return "linted with the barriers and fences that the compiler will insert"
    return "linted with the barriers that the dump has"


def status_text(status: LintStatus) -> Text:
    """The status in words, coloured on a terminal."""
    words = UNFOLLOWED if status is LintStatus.UNKNOWN else str(status)
    return Text(words, style=STYLES.get(status, "yellow"))


# Text -------------------------------------------------------------------------------------------


def lint_lines(linted: Linted, *, staged: bool = True, each: bool = False) -> Iterator[Text]:
    """The status of a kernel, its hazards with their mends by their cause, or one by one with
    `each`, and what is open; with which barriers lint has counted, if `staged`."""
    report = linted.report
    where = f"{printable(linted.file)}: {report.kernel}"
    if staged:
        where = f"{where}, {stage_words(report)}"
    yield status_text(report.status).append(f": {where}", style="default")
    yield from cause_lines(linted.open_hazards, each=each)
    for reason in report.unknown:
        told = f"{unfollowed_words(reason)}{_unchecked(reason)}"
        yield Text(f"  {UNFOLLOWED}, so there may be more hazards: {told}")
    for assumption in report.assumptions:
        told = f"  the result assumes that {assumption}{assumed_where(report, assumption)}"
        yield Text(told, style="dim")
    if linted.silenced:
        known = counted(len(linted.silenced), "hazard")
        yield Text(f"  {known} in the baseline, not listed", style="dim")
    yield from accepted_lines(linted)


def _unchecked(reason: str) -> str:
    """What is not checked where a trace ends at an operation that is not followed."""
    ends = reason.startswith("`") and reason.endswith("is not followed")
    return ", so what runs after it is unchecked" * ends


def shown_lines(linted: Linted, finding: str, width: int = 100) -> Iterator[Text]:
    """The timelines of the hazards that a finding names: as in brackets, or its fingerprint."""
    for hazard, identity in linted.told:
        if finding not in (identity.short, identity.fingerprint):
            continue
        sure = sure_words(hazard.origin, certain=hazard.certain)
        what = f"{hazard.kind} ({sure}) of {', '.join(hazard.buffers) or 'threads'}"
        where = f"in {linted.report.kernel}, {printable(linted.file)}"
        yield Text(f"{what} {where} [{identity.short}]", style="bold")
        for line in timeline_text(timeline_of(hazard), width):
            yield Text(line)
        yield Text("x: what is missing between the two; =>: what that may lead to", style="dim")
        if hazard.undecided is not None:
            yield Text(f"possible, not certain: {undecided_words([hazard])}")
        yield Text(seen_words(hazard) if hazard.certain else doubt_of(hazard), style="dim")


def accepted_lines(linted: Linted) -> Iterator[Text]:
    """How many hazards are accepted, and a line for each with the reason."""
    found = [one for one in linted.told if one[0].accepted is not None]
    if found:
        yield Text(f"  {len(found):,} accepted:", style="dim")
    for hazard, identity in found:
        assert hazard.accepted is not None
        line = place_of(hazard.site)
        why = f"{printable(hazard.accepted.reason)} ({hazard.accepted.source})"
        yield Text(f"    {line}{hazard.kind} [{identity.short}]: {why}", style="dim")


def hazard_lines(name: str, found: LintReport | None) -> Iterator[Text]:
    """The first hazards of one of many kernels, a line for each cause; none where it was not
    linted."""
    if found is None:
        return
    groups = by_cause((one, None) for one in found.hazards if one.accepted is None)
    for (hazard, _), *rest in groups[:MAX_LISTED]:
        source = f"from {hazard.site.source}: " if hazard.site.source is not None else ""
        more = f" ({len(rest):,} more of this cause)" if rest else ""
        yield Text(f"{name}: {source}{brief_sentence(hazard)}{more}")
    if left := sum(map(len, groups[MAX_LISTED:])):
        yield Text(f"{name}: ... and {counted(left, 'more hazard')}")
    if found.accepted:
        yield Text(f"{name}: {found.accepted:,} accepted")
    for reason in found.unknown[:1]:
        yield Text(f"{name}: lint could not follow: {unfollowed_words(reason)}")


CERTAIN = (
    "certain by PTX: with all inputs, or those that are named, nothing in the PTX ISA prevents it; "
    "whether a GPU does it depends on its timing"
)

WHY_FENCES = (
    'why a proxy fence: PTX ISA, "Async Proxy": bytes that generic and async accesses touch need '
    'one; "Causality Order": barriers and mbarriers order accesses of one proxy alone, reads '
    "before writes, too"
)


def certain_lines(hazards: Sequence[Hazard]) -> Iterator[Text]:
    """What *certain* means of some hazards, and where PTX asks for the fences that are missing."""
    if hazards:
        yield Text(CERTAIN, style="dim")
    if any(one.kind is HazardKind.MISSING_FENCE for one in hazards):
        yield Text(WHY_FENCES, style="dim")


# JSON -------------------------------------------------------------------------------------------


def lint_entry(linted: Linted, gate: Gate) -> Data:
    """One kernel of `smemreuse.lint/1`: its status, the hazards that are new or accepted, and
    whether the new ones make the exit code 1."""
    report = linted.report
    return {
        "file": linted.file,
        "name": report.kernel,
        **report_data(report),
        "hazards": [_told_data(*one) for one in linted.told],
        "silenced": len(linted.silenced),
        "accepted": linted.accepted,
        "fails": linted.fails(gate),
    }


def report_data(report: LintReport) -> Data:
    """What was found in a kernel, each hazard by itself; those of one cause have one `group`."""
    return {
        **picked(report, "status clean"),
        "barriers": "later" if report.barriers_follow else "present",
        "hazards": [*map(_told_data, report.hazards, report.identities())],
        **picked(report, "unknown assumptions assumed_at"),
    }


def _told_data(hazard: Hazard, identity: Identity) -> Data:
    """One hazard among all of its kernel: `finding` is what an entry of `accept` names it by."""
    return {
        **hazard_data(hazard, identity.kernel),
        "finding": identity.short,
        "group": HazardCause.of(hazard).identity(identity.kernel),
        "accepted": as_data(hazard.accepted),
    }


def hazard_data(hazard: Hazard, kernel: str) -> Data:
    """One hazard of a kernel."""
    mend = hazard.mend
    return {
        **picked(hazard, "kind mechanism certain if_long"),
        "if_given": [picked(one, "name first step is_array") for one in hazard.if_given],
        **picked(hazard, "origin"),
        "fingerprint": hazard.fingerprint(kernel),
        "site": site_data(hazard.site),
        "other": site_data(hazard.other),
        **picked(hazard, "buffers bytes agents"),
        "blocks": dict(hazard.blocks),
        "witness": hazard.witness,
        "undecided": _undecided_data(hazard.undecided),
        "mend": {
            **picked(mend, "remedy sentence"),
            "behind": site_data(mend.after),
            "before": site_data(mend.before),
            "threads": as_data(mend.threads),
            "engine": mend.engine or None,
        },
        "seen": [
            picked(one, "card date kernels shown launches wrong hung how result")
            for one in (seen_of(hazard) if hazard.certain else ())
        ],
    }


def _undecided_data(open_: Undecided | None) -> Data | None:
    if open_ is None:
        return None
    return {**picked(open_, "kind sentence"), "site": site_data(open_.site)}


# Findings ---------------------------------------------------------------------------------------

NOT_FOLLOWED = "not-followed"
RULES = {
    **{kind.value: kind.sentence for kind in HazardKind},
    NOT_FOLLOWED: "Part of a kernel could not be analysed",
}


def hazard_findings(linted: Linted, gate: Gate) -> Iterator[Finding]:
    """The hazards of a kernel that are new or accepted, at their lines of the dump, and what was
    not followed if that fails. What makes the exit code 1 is an error, and nothing else is."""
    kernel = linted.report.kernel
    firsts: dict[HazardCause, Hazard] = {}
    for hazard, _ in linted.told:
        lesser = Level.WARNING if hazard.certain else Level.NOTE
        doubt = _doubt_words(hazard, firsts.setdefault(HazardCause.of(hazard), hazard))
        yield Finding(
            hazard.kind.value,
            Level.ERROR if gate.stops(hazard) else lesser,
            kernel,
            f"{hazard.brief_witness}. {doubt}Fix: {hazard.mend.sentence}",
            _place(linted.file, hazard.site),
            hazard.fingerprint(kernel),
            tuple(_related(linted.file, hazard)),
            hazard.accepted.reason if hazard.accepted is not None else "",
        )
    for reason in linted.unknown if gate.fails((), linted.unknown) else ():
        message = f"not followed: {reason}"
        fingerprint = fingerprint_of(kernel, NOT_FOLLOWED, without_lines(reason))
        place = Location(linted.file)
        yield Finding(NOT_FOLLOWED, Level.ERROR, kernel, message, place, fingerprint)


def _doubt_words(hazard: Hazard, first: Hazard) -> str:
    """Why a hazard is only possible, in a sentence; where the `first` of its cause has another
    line, that line."""
    if hazard.undecided is None:
        return ""
    if first.site.line not in (None, hazard.site.line):
        return f"Possible, not certain: for the reason that line {first.site.line} has. "
    return f"Possible, not certain: {undecided_words([hazard])}. "


def _related(file: str, hazard: Hazard) -> Iterator[Location]:
    """The other statement of a hazard, and the line of Python that each of the two comes from."""
    if hazard.other is not None:
        yield _place(file, hazard.other)
    for site in (hazard.site, hazard.other):
        if site is not None and site.source is not None:
            yield Location(site.source.file, site.source.line, site.statement)


def _place(file: str, site: Site) -> Location:
    return Location(file, site.line, site.statement)
