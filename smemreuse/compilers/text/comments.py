"""The comments of a dump that are read: which line of the user's Python a statement is from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smemreuse.ir.kernel import Block, walk_statements
from smemreuse.ir.source import SourceLine, name_source

MARK = "  # from "
_PLACE = re.compile(r"(.+):(\d{1,7})")


def commented_sources(lines: Sequence[str]) -> dict[int, SourceLine]:
    """The lines of Python that the lines of a dump say they are from, by their numbers."""
    found = {}
    for number, line in enumerate(lines, start=1):
        _, mark, told = line.rpartition(MARK)
        place = _PLACE.fullmatch(told) if mark else None
        if place is not None and told.isprintable():
            found[number] = SourceLine(place[1], int(place[2]))
    return found


def name_sources(body: Block, sources: dict[int, SourceLine]) -> None:
    """Writes into the statements of a dump where they say they are from."""
    for stmt in walk_statements(body) if sources else ():
        if stmt.line in sources:
            name_source(stmt, sources[stmt.line])
