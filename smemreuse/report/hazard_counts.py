"""What `lint` says of many kernels together: how many have which status, and on what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.report.hazards import STYLES, Linted, stage_words
from smemreuse.report.titles import counted
from smemreuse.report.verdicts import tally
from smemreuse.results.hazards import UNFOLLOWED, LintStatus

_COUNTED = {
    LintStatus.HAZARDS: "with certain hazards",
    LintStatus.POSSIBLE: "with possible hazards",
    LintStatus.UNKNOWN: UNFOLLOWED,
}


def _counted_status(status: LintStatus) -> Text:
    """A status after a number of kernels."""
    return Text(_COUNTED.get(status, str(status)), style=STYLES.get(status, "yellow"))


def common_stage(found: Sequence[Linted]) -> str:
    """Which barriers and fences lint has counted in all kernels; empty where they differ."""
    stages = {stage_words(one.report) for one in found}
    return stages.pop() if len(stages) == 1 else ""


def linted_line(found: Sequence[Linted]) -> Text:
    """How many kernels of many files have which status, and the hazards of each kind."""
    files = counted(len({one.file for one in found}), "file")
    stage = common_stage(found)
    how = f", {stage}" if stage else ""
    line = Text(f"{counted(len(found), 'kernel')} in {files}{how}: ", "bold")
    statuses = Counter(one.report.status for one in found)
    line.append_text(tally(statuses, LintStatus, _counted_status))
    kinds = Counter(str(hazard.kind) for one in found for hazard in one.hazards)
    by_kind = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    accepted = sum(one.accepted for one in found)
    parts = [by_kind, f"{accepted:,} accepted" if accepted else ""]
    return line.append("".join(f"; {one}" for one in parts if one))


def assuming_lines(found: Sequence[Linted]) -> Iterator[Text]:
    """How many kernels are clean on an assumption, where those that are clean are not listed."""
    assuming = sum(one.report.clean and bool(one.report.assumptions) for one in found)
    if assuming:
        kernels = f"{counted(assuming, 'kernel')} {'is' if assuming == 1 else 'are'}"
        told = f"{kernels} clean on an assumption, which lint without --only-findings names"
        yield Text(told, style="dim")


def known_line(found: Sequence[Linted]) -> Text:
    """How many hazards are new since a baseline, and how many kernels have certain ones that it
    knows: that nothing is new makes no kernel clean."""
    new = sum(len(one.hazards) for one in found)
    known = sum(any(one.report.hazards[place].certain for place in one.silenced) for one in found)
    kernels = counted(known, "kernel")
    return Text(f"{new:,} new; {kernels} with certain hazards in the baseline")
