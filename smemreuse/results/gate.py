"""What of a lint makes the exit code 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from smemreuse.results.hazards import Hazard, HazardOrigin


class FailOn(str, Enum):
    """Which hazards fail, each with those before it; the value is the word on the command line.

    `AUTHOR`: those of the kernel's author that are certain. `COMPILER`: those of the compiler, too.
    `POSSIBLE`: those that are possible, too, whoever has put them in.
    """

    AUTHOR = "author"
    COMPILER = "compiler"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Gate:
    """What fails: hazards by `fail_on`; if `strict`, all of them and what could not be followed."""

    strict: bool = False
    fail_on: FailOn = FailOn.AUTHOR

    def stops(self, hazard: Hazard) -> bool:
        """Whether a hazard fails; none does that the project accepts."""
        if hazard.accepted is not None:
            return False
        if self.strict or self.fail_on is FailOn.POSSIBLE:
            return True
        all_origins = self.fail_on is FailOn.COMPILER
        return hazard.certain and (all_origins or hazard.origin is HazardOrigin.AUTHOR)

    def fails(self, hazards: Sequence[Hazard], unknown: Sequence[str]) -> bool:
        """Whether a kernel fails with these hazards, and with what could not be followed."""
        return any(map(self.stops, hazards)) or (self.strict and bool(unknown))
