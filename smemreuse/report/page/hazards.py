"""What the page shows of a kernel's own hazards."""

from __future__ import annotations

from collections import Counter

from smemreuse.report.data import Data
from smemreuse.report.hazards import UNFOLLOWED, Linted, stage_words, status_text
from smemreuse.report.timeline import timeline_block, timeline_of
from smemreuse.results.accepted import Identity
from smemreuse.results.evidence import seen_words
from smemreuse.results.hazards import Hazard, LintReport, LintStatus, brief_sentence

_GRAVITY = (LintStatus.CLEAN, LintStatus.UNKNOWN, LintStatus.POSSIBLE, LintStatus.HAZARDS)
"""Statuses from the best to the worst: the order in which the overview sorts them."""


def with_hazards(entry: Data, file: str, report: LintReport | None) -> Data:
    """The entry of a kernel with what lint found in it; as it is where that was not asked."""
    return entry if report is None else {**entry, "lint": _hazards_entry(Linted(file, report))}


def _hazards_entry(linted: Linted) -> Data:
    """A summary, and each hazard with what cures it; accepted ones come last, with the reason."""
    report = linted.report
    found = sorted(linted.told, key=_order)
    return {
        "status": report.status.value,
        "gravity": _GRAVITY.index(report.status),
        "summary": _summary(linted),
        "stage": stage_words(report),
        "hazards": [_hazard(*one) for one in found],
        "unknown": list(report.unknown),
        "assumptions": list(report.assumptions),
    }


def _order(one: tuple[Hazard, Identity]) -> tuple[bool, bool, int]:
    hazard, _ = one
    return hazard.accepted is not None, not hazard.certain, hazard.site.line or 0


def _summary(linted: Linted) -> str:
    """`2 certain, 1 possible`, or the status where there are none."""
    sure = Counter("certain" if one.certain else "possible" for one in linted.hazards)
    counts = {**{word: sure[word] for word in ("certain", "possible")}, "accepted": linted.accepted}
    told = [f"{count:,} {word}" for word, count in counts.items() if count]
    if linted.unknown and linted.report.status is not LintStatus.UNKNOWN:
        told.append(UNFOLLOWED)
    return ", ".join(told) or status_text(linted.report.status).plain


def _hazard(hazard: Hazard, identity: Identity) -> Data:
    accepted = hazard.accepted
    return {
        "line": hazard.site.line,
        "certain": hazard.certain,
        "text": brief_sentence(hazard),
        "fix": hazard.mend.sentence,
        "drawn": timeline_block(timeline_of(hazard)),
        "seen": seen_words(hazard) if hazard.certain else "",
        "finding": identity.short,
        "accepted": None if accepted is None else f"{accepted.reason} ({accepted.source})",
    }
