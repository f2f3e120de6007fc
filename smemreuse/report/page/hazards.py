"""What the page shows of a kernel's own hazards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from smemreuse.report.data import Data
from smemreuse.report.hazard_causes import undecided_words
from smemreuse.report.hazards import Linted, stage_words, status_text
from smemreuse.report.timeline import timeline_block, timeline_of
from smemreuse.results.accepted import Identity
from smemreuse.results.evidence import seen_words
from smemreuse.results.hazard_groups import by_cause
from smemreuse.results.hazards import UNFOLLOWED, Hazard, LintReport, LintStatus, brief_sentence

_GRAVITY = (LintStatus.CLEAN, LintStatus.UNKNOWN, LintStatus.POSSIBLE, LintStatus.HAZARDS)
"""Statuses from the best to the worst: the order in which the overview sorts them."""


def with_hazards(entry: Data, file: str, report: LintReport | None) -> Data:
    """The entry of a kernel with what lint found in it; as it is where that was not asked."""
    return entry if report is None else {**entry, "lint": _hazards_entry(Linted(file, report))}


def _hazards_entry(linted: Linted) -> Data:
    """A summary, and the hazards by their cause, each with what cures it; accepted ones come last,
    one by one, with the reason."""
    report = linted.report
    open_ = sorted(linted.open_hazards, key=_order)
    accepted = sorted((one for one in linted.told if one[0].accepted is not None), key=_order)
    return {
        "status": report.status.value,
        "gravity": _GRAVITY.index(report.status),
        "summary": _summary(linted),
        "stage": stage_words(report),
        "hazards": [*map(_group, by_cause(open_)), *(_group([one]) for one in accepted)],
        "unknown": list(report.unknown),
        "assumptions": list(report.assumptions),
    }


def _order(one: tuple[Hazard, Identity]) -> tuple[bool, int]:
    hazard, _ = one
    return not hazard.certain, hazard.site.line or 0


def _summary(linted: Linted) -> str:
    """`2 certain, 1 possible`, or the status where there are none."""
    sure = Counter("certain" if one.certain else "possible" for one in linted.hazards)
    counts = {**{word: sure[word] for word in ("certain", "possible")}, "accepted": linted.accepted}
    told = [f"{count:,} {word}" for word, count in counts.items() if count]
    if linted.unknown and linted.report.status is not LintStatus.UNKNOWN:
        told.append(UNFOLLOWED)
    return ", ".join(told) or status_text(linted.report.status).plain


def _group(found: Sequence[tuple[Hazard, Identity]]) -> Data:
    """The first hazard of a cause, with why it is only possible, and the others of it."""
    first, *rest = found
    is_open = first[0].undecided is not None
    return {
        **_hazard(*first),
        "undecided": undecided_words(one for one, _ in found) if is_open else "",
        "more": [_hazard(*one) for one in rest],
    }


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
