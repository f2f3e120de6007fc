"""The listing beside a map: the kernel's lines of the dump, or its steps where there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]

DUMP, STEPS = "dump", "steps"

_DEFINITION = re.compile(r"\s*(@|def |class )")


@dataclass(frozen=True)
class Listing:
    """Lines, the first of which has the number `first`, and the line of each step.

    `kind` is `DUMP`, where numbers are those of the file, or `STEPS`, where they are positions.
    The end of a loop or branch is at the last line inside.
    """

    kind: str
    first: int
    lines: Sequence[str]
    at: Sequence[int | None]


def listing_of(kernel: Entry) -> Listing:
    """The listing of what `overview_entry` makes; of a file with several kernels, only its own."""
    numbers = [step["line"] for step in kernel["steps"] if step["line"]]
    lines = (kernel.get("source") or "").splitlines()
    if not numbers or max(numbers) > len(lines):
        return _of_steps(kernel["steps"])
    begin, end = _function(lines, min(numbers) - 1, max(numbers) - 1)
    at = [_line_of(step, lines) for step in kernel["steps"]]
    return Listing(DUMP, begin + 1, lines[begin:end], at)


def _of_steps(steps: Sequence[Entry]) -> Listing:
    lines = ["    " * step["depth"] + step["text"] for step in steps]
    return Listing(STEPS, 0, lines, range(len(steps)))


def _function(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The function around lines `first` to `last`, with its decorators, as indices; half-open."""
    begin = first
    while begin and not lines[begin].lstrip().startswith("def "):
        begin -= 1
    depth = _indent(lines[begin])
    while begin and lines[begin - 1].lstrip().startswith("@"):
        begin -= 1
    end = last + 1
    while end < len(lines) and not (_DEFINITION.match(lines[end]) and _indent(lines[end]) <= depth):
        end += 1
    while end > last + 1 and not lines[end - 1].strip():
        end -= 1
    return begin, end


def _line_of(step: Entry, lines: Sequence[str]) -> int | None:
    line: int | None = step["line"]
    return line if line is None or not step["is_end"] else _last_inside(lines, line - 1) + 1


def _last_inside(lines: Sequence[str], header: int) -> int:
    """The last line of the block below a header, or, of a statement without one, of its own."""
    depth = _indent(lines[header])
    following = (index for index in range(header + 1, len(lines)) if lines[index].strip())
    last, least = header, depth + 1
    for index in following:
        found = _indent(lines[index])
        if index == header + 1 and found <= depth:
            least = depth  # `tx = T.launch_thread(..)` is over where the block that it stands in is
        if found < least:
            break
        last = index
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
