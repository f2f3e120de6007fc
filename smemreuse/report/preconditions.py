"""The output on the assumptions on which a sound plan rests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data
from smemreuse.report.titles import counted
from smemreuse.results.hazards import Hazard, HazardKind, LintReport, sure_words
from smemreuse.results.preconditions import UNFOLLOWED_BY_LINT, OpenAssumption, Preconditions
from smemreuse.results.serialized import picked
from smemreuse.results.sites import place_of
from smemreuse.results.verdict import LIMIT_OF_WORK, unfollowed_words

_RUN = "lint was run on the unmerged kernel"
PROVED = f"{_RUN}: no hazard was found"

_BOUNDED = "it stops early beside a layout; run `smemreuse lint FILE`, which goes on longer"

MOST_ASSUMED = 4
"""Buffers with an assumption of their own that are named; more are counted."""


def assumed_where(report: LintReport, assumption: str) -> str:
    """Of which buffers something is assumed, and at which lines; empty where not of single ones."""
    lines: dict[str, dict[str, None]] = {}
    for one in report.assumed_at:
        if one.assumption == assumption:
            lines.setdefault(one.buffer, {}).setdefault(str(one.line or ""))
    named = [
        f"{buffer} (line{'s' * (len(at) > 1)} {', '.join(at)})" if any(at) else buffer
        for buffer, at in lines.items()
    ]
    more = [f"{len(named) - MOST_ASSUMED} more"] * (len(named) > MOST_ASSUMED)
    return f": {', '.join([*named[:MOST_ASSUMED], *more])}" if named else ""


def grounds_lines(
    grounds: Preconditions | None,
    told: Sequence[str] = (),
    *,
    refuted: bool = True,
    file: str = "",
) -> Iterator[Text]:
    """A line that nothing is assumed, or one for each assumption that is not proved, but for those
    that the verdict has `told` already; those that `lint` refutes only where `refuted`. Where
    lines are named it is said that they are those of `file`, if that is given."""
    if grounds is None:
        return
    if grounds.proved:
        yield Text(f"  {_proved_words(grounds.report)}", style="dim")
    by_reason: dict[tuple[bool, str], list[str]] = {}
    for one in sorted(grounds.open, key=lambda each: not each.refuted):
        if one.refuted and not refuted:
            continue
        reason = (one.refuted, _why(one, grounds))
        by_reason.setdefault(reason, []).append(one.assumption.sentence)
    for (is_wrong, why), sentences in by_reason.items():
        found = "refutes" if is_wrong else "does not prove"
        if len(sentences) == 1:
            yield Text(f"  the proof assumes that {sentences[0]}; lint {found} that ({why})")
        else:
            yield Text(f"  the proof assumes the following, which lint {found} ({why}):")
            yield from (Text(f"    {sentence}") for sentence in sentences)
    for assumption in (one for one in grounds.report.assumptions if one not in told):
        where = assumed_where(grounds.report, assumption)
        yield Text(f"  the proof assumes that {assumption}{where}", style="dim")
    report = grounds.report
    if not grounds.proved and grounds.has_certain and not grounds.refuted:
        yield Text(f"  lint also finds: {own_hazard_words(report)}")
    if file and (report.hazards or any(one.line for one in report.assumed_at)):
        yield Text(f"  lines are those of {printable(file)}", style="dim")


def _proved_words(report: LintReport) -> str:
    """That nothing which a proof assumes is open, and which hazards the kernel has otherwise."""
    if not report.hazards:
        return PROVED
    return f"{_RUN}, which has hazards of its own: {own_hazard_words(report)}; sharing adds none"


def own_hazard_words(report: LintReport) -> str:
    """The first hazard of a kernel and how many more it has, as in `a wait can hang at line 87
    (bar): missed-phase (certain by PTX), and 2 more hazards`; empty where it has none."""
    if not report.hazards:
        return ""
    first = min(report.hazards, key=lambda one: not one.certain)
    sure = sure_words(first.origin, certain=first.certain)
    rest = len(report.hazards) - 1
    more = f", and {counted(rest, 'more hazard')}" if rest else ""
    return f"{_IS_WRONG[first.kind]}{_place(first)}: {first.kind} ({sure}){more}"


_IS_WRONG: Mapping[HazardKind, str] = {
    HazardKind.UNINITIALISED_READ: "shared memory is read before it is written",
    HazardKind.RACE: "the kernel has a data race",
    HazardKind.MISSING_WAIT: "a wait for an asynchronous access is missing",
    HazardKind.MISSING_FENCE: "a proxy fence is missing",
    HazardKind.BARRIER_DIVERGENCE: "not all threads reach a barrier",
    HazardKind.BARRIER_DEADLOCK: "threads wait for a phase that never ends",
    HazardKind.MISSED_PHASE: "a wait can hang",
    HazardKind.OUT_OF_BOUNDS: "an access leaves its buffer",
}


def refutation_words(grounds: Preconditions | None) -> str:
    """The hazard that refutes what a proof assumes, as in `a proxy fence is missing between lines
    96 and 111 (As)`, and how many lint finds; empty where none does."""
    refuted = () if grounds is None else grounds.refuted
    if grounds is None or not refuted:
        return ""
    kinds = refuted[0].assumption.kinds
    hazard = next(one for one in grounds.report.hazards if one.certain and one.kind in kinds)
    found = len(grounds.report.hazards)
    among = f", one of the {found:,} hazards that lint finds" if found > 1 else ""
    return f"{_IS_WRONG[hazard.kind]}{_place(hazard)}{among}"


def _place(hazard: Hazard) -> str:
    """Between which statements a hazard is and of which buffers, as far as that is known."""
    place, other = place_of(hazard.site).rstrip(": "), hazard.other
    named = f" ({', '.join(hazard.buffers)})" if hazard.buffers else ""
    if other is not None and other.line and hazard.site.line not in (None, other.line):
        return f" between lines {other.line} and {hazard.site.line}{named}"
    return f" at {place}{named}" if place else named


def _why(one: OpenAssumption, grounds: Preconditions) -> str:
    """The kind of hazard and its line, which `lint` tells in full; or what was not followed."""
    against = [each for each in grounds.report.hazards if each.kind in one.assumption.kinds]
    found = next((each for each in against if each.certain or not one.refuted), None)
    if found is None:
        stopped = grounds.is_bounded and LIMIT_OF_WORK in one.why
        why = one.why.removeprefix(UNFOLLOWED_BY_LINT)
        return (
            _BOUNDED if stopped else f"it cannot follow the whole kernel: {unfollowed_words(why)}"
        )
    more = f", and {len(against) - 1:,} more" if len(against) > 1 else ""
    return f"{'' if found.certain else 'possible '}{found.kind}{_place(found)}{more}"


def grounds_data(grounds: Preconditions | None) -> Data | None:
    """The same as JSON; None where nothing rests on it."""
    if grounds is None:
        return None
    one_open = "assumption sentence=assumption.sentence refuted why"
    return {
        **picked(grounds, "lint=report.status proved"),
        "open": [picked(one, one_open) for one in grounds.open],
        **picked(grounds.report, "assumptions"),
    }
