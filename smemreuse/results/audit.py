"""What became of checking the plan that a file has, or that was given for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from smemreuse.results.verdict import Verdict


class Source(str, Enum):
    """Where the checked layout comes from; the value is the word for it, in JSON too."""

    PLAN_FILE = "plan file"
    MERGED = "merged in the file"
    NOTHING_MERGED = "nothing merged"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Audit:
    """What was checked of one kernel and scope, and the verdict.

    `offsets` are by buffer name, they and `arena` in bytes.
    """

    source: Source
    offsets: Mapping[str, int]
    arena: int
    verdict: Verdict
