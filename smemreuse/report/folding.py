"""Sentences that fit the width of a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

_HANG = 2
"""Characters by which the rest of a sentence is set in below its beginning."""


def hanging(out: Console, line: Text, width: int) -> Text:
    """A line as it is if it fits, else folded, with what follows set in below its beginning."""
    if line.cell_len <= width or "\n" in line.plain:
        return line
    indent = min(_leading(line) + _HANG, width // 2)
    first = line.wrap(out, width, overflow="fold")[0]
    rest = line[len(first.plain) :]
    parts = rest[_leading(rest) :].wrap(out, max(width - indent, 1), overflow="fold")
    lines = [first, *(Text(" " * indent).append_text(one) for one in parts)]
    for one in lines:
        one.rstrip()
    folded = Text("\n").join(lines)
    folded.end = line.end
    return folded


def _leading(line: Text) -> int:
    """How many spaces a line begins with."""
    return len(line.plain) - len(line.plain.lstrip(" "))
