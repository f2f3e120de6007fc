"""What became of each function that a session looked at."""

from __future__ import annotations

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
