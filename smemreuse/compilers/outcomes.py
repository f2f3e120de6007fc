"""What became of each function that a session looked at, and errors of compilers in one line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Outcome(str, Enum):
    """The value is the word for it."""

    MERGED = "merged"
    NOTHING_TO_GAIN = "nothing to gain: its buffers are better off as arrays of their own"
    NOTHING_TO_MERGE = "nothing to merge: no scope has two buffers"
    NO_KERNEL = "no device kernel"
    LEFT = "left to the compiler's own merge"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class FunctionOutcome:
    """A function by its name, and what became of it; `reason` says why it was left, if it was."""

    function: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.function}: {self.outcome}{why}"


_SAYS_SO = re.compile(r"\b(error|fatal)\b\s*:\s*\S", re.IGNORECASE)
_LONGEST = 300


def error_line(error: BaseException) -> str:
    """The kind of an error and its first line that says anything.

    That is the one that calls itself an error, for nvcc is shown with the whole source before it;
    of a traceback it is the last.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    first = lines[-1 if lines[0].startswith("Traceback") else 0]
    found = next((line for line in lines if _SAYS_SO.search(line)), first)
    return f"{type(error).__name__}: {found}"[:_LONGEST]
