"""Says which entries of `[[accept]]` accept nothing any more."""

from __future__ import annotations

from collections.abc import Iterable

from smemreuse.commands.verb import say
from smemreuse.errors import printable
from smemreuse.results.accepted import Acceptances


def say_stale(acceptances: Acceptances, kernels: Iterable[tuple[str, str]]) -> None:
    """A line on standard error for each entry that has accepted nothing of what was looked at, and
    one for all those that are about other kernels alone; `kernels` are by file and name."""
    elsewhere = []
    for entry, concerned in acceptances.stale(kernels):
        accepted, reason = entry.accepted, printable(entry.accepted.reason)
        if concerned:
            named = entry.kernel or entry.file
            mend = "remove it" if named else "remove it if no other kernel has what it is for"
            say(f"{accepted.source}: accepts no finding any more; {mend} ({reason})")
        else:
            elsewhere.append(accepted.source)
    if elsewhere:
        say(f"entries for kernels that were not given accept nothing here: {'; '.join(elsewhere)}")
