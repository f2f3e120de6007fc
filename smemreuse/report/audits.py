"""What `check` tells."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from smemreuse.report.data import Data, Subject, verdict_data
from smemreuse.report.grounds import grounds_data, grounds_lines
from smemreuse.report.tables import no_buffers
from smemreuse.report.verdicts import findings, verdict_text
from smemreuse.results.audit import Audit, Source
from smemreuse.results.grounds import Grounds

NOTHING_TO_AUDIT = (
    "nothing merged in this scope, so there is nothing to audit: give --plan, or the dump from "
    "behind the merge"
)


def check_entry(subject: Subject, audit: Audit, grounds: Grounds | None = None) -> Data:
    """One kernel of `smemreuse.check/1`; `grounds` are of a sound plan."""
    return {
        "file": subject.file,
        "name": subject.kernel.name,
        "scope": subject.scope,
        "plan": audit.source.value,
        "arena_bytes": audit.arena,
        "offsets": dict(audit.offsets),
        **verdict_data(audit.verdict),
        "rests_on": grounds_data(grounds),
    }


def check_lines(subject: Subject, audit: Audit, grounds: Grounds | None = None) -> Iterator[Text]:
    """The verdict, what it is on, and what was found."""
    if not subject.has_buffers:
        yield no_buffers(subject)
        return
    what = f"{audit.source}, {len(audit.offsets)} buffers in {audit.arena:,} bytes"
    if audit.source is Source.NOTHING_MERGED:
        what = NOTHING_TO_AUDIT
    where = f"{subject.file}: {subject.kernel.name} ({subject.scope})"
    yield verdict_text(audit.verdict).append(f": {where}, {what}", style="default")
    yield from findings(audit.verdict)
    yield from grounds_lines(grounds)
