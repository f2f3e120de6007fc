"""The output on mends: lines for people, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data, site_data
from smemreuse.report.hazards import UNFOLLOWED, hazard_data
from smemreuse.results.hazards import Hazard, LintStatus
from smemreuse.results.mending import Mended, Mending
from smemreuse.results.serialized import picked
from smemreuse.results.sites import Site
from smemreuse.results.verdict import unfollowed_words


def mending_lines(mending: Mending) -> Iterator[str]:
    """What was put in, what could not be mended, and what lint finds then."""
    name, before = mending.kernel, list[Hazard]()
    for one in mending.mends:
        yield f"{name}: {one.brief_repetition if one.hazard in before else one.brief_sentence}"
        before.append(one.hazard)
    for left in mending.unmended:
        site = left.hazard.site
        yield f"{name}: not fixed: {left.hazard.kind} at {site.shortened(str(site))}: {left.why}"
    for reason in mending.after.unknown:
        yield f"{name}: not followed: {unfollowed_words(reason)}"
    yield f"{name}: {_outcome(mending)}"


def unchanged_line(mendings: Sequence[Mending | None], output: str) -> Text | None:
    """That the file that was written is a copy, where all its kernels are clean as they are."""
    clean = [one is not None and is_clean(one) for one in mendings]
    if not (clean and all(clean)):
        return None
    return Text(f"clean: nothing to fix; {printable(output)} is an unchanged copy", "green")


def is_clean(mending: Mending) -> bool:
    """Whether there was nothing to mend."""
    return not mending.edits and mending.before.status is LintStatus.CLEAN


def _outcome(mending: Mending) -> str:
    if mending.mends and mending.after.status is not LintStatus.CLEAN:
        fixed, left = len(mending.mends), len(mending.unmended)
        return f"{fixed:,} fixed, {left:,} left: lint finds it {_FOUND[mending.after.status]}"
    if mending.mends:
        return "fixed: lint finds it clean"
    if mending.before.status is LintStatus.CLEAN:
        return "clean: nothing to fix, and nothing changed"
    return f"nothing inserted: lint finds it {_FOUND[mending.after.status]}"


_FOUND = {
    LintStatus.CLEAN: "clean",
    LintStatus.HAZARDS: "with certain hazards",
    LintStatus.POSSIBLE: "with possible hazards",
    LintStatus.UNKNOWN: UNFOLLOWED,
}


def mending_data(mending: Mending) -> Data:
    """The mends of one kernel as JSON."""
    return {
        **picked(mending, "status_before=before.status status=after.status"),
        "mends": [_mended(one, mending.kernel) for one in mending.mends],
        "unmended": [
            {"hazard": hazard_data(one.hazard, mending.kernel), "why": one.why}
            for one in mending.unmended
        ],
        "unknown": list(mending.after.unknown),
    }


def _mended(one: Mended, kernel: str) -> Data:
    edit = one.edit
    return {
        "remedy": one.remedy.value,
        "put_in": list(edit.texts),
        "side": edit.side,
        "at": site_data(Site.of(edit.anchor)),
        "mends": hazard_data(one.hazard, kernel),
        "sentence": one.sentence,
    }
