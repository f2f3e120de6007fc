"""The output on mends: lines for people, and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.data import Data, site_data
from smemreuse.report.hazards import hazard_data
from smemreuse.results.mending import Mended, Mending
from smemreuse.results.serialized import picked
from smemreuse.results.sites import Site


def unchanged_line(mendings: Sequence[Mending | None], output: str) -> Text | None:
    """That the file that was written is a copy, where all its kernels are clean as they are."""
    clean = [one is not None and one.is_clean for one in mendings]
    if not (clean and all(clean)):
        return None
    return Text(f"clean: nothing to fix; {printable(output)} is an unchanged copy", "green")


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
