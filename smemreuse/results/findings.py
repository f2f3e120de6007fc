"""Findings of kernels for SARIF and GitHub annotations: each has a file, a line and a rule name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from smemreuse.results.words import Worded


class Level(str, Enum):
    """How grave a finding is; the values are those of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class FindingKind(Worded):
    """What is found of plans; the value is the word for it, `sentence` says it in one."""

    UNSOUND_PLAN = "unsound-plan", "A plan is unsound: an execution breaks it"
    UNPROVED_PLAN = (
        "unproved-plan",
        "A plan is not proved, and no execution is known that breaks it",
    )
    DOES_NOT_FIT = "does-not-fit", "A block asks for more shared memory than it can have"
    UNSOUND_OUTER = "unsound-outer", "The plan that compilers make by default is unsound"
    LARGER = "larger-footprint", "A kernel takes more bytes than in the baseline"
    WORSE = "worse-verdict", "A verdict is worse than in the baseline"
    MISSING = "missing-kernel", "A kernel of the baseline is not there any more"
    NOTHING = "nothing-to-audit", "No shared memory is merged, so there is no layout to check"
    FEWER = "fewer-blocks", "An SM holds fewer blocks of a kernel than in the baseline"
    ASSUMED = "new-assumption", "A proof assumes what it did not in the baseline"
    NEW = "new-violation", "A plan breaks what it did not break in the baseline"


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, if it is known, and what stands there."""

    file: str
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `rule` is a word that stands for its kind; `fingerprint` tells it from others,
    whatever the lines are; `related` are the second place where it takes two, and the lines of the
    user's Python; `accepted` is the reason for which the project accepts it, else empty."""

    rule: str
    level: Level
    kernel: str
    message: str
    place: Location
    fingerprint: str
    related: tuple[Location, ...] = ()
    accepted: str = ""


def plan_finding(
    kind: FindingKind, level: Level, kernel: str, scope: str, message: str, place: Location
) -> Finding:
    """A finding of a plan for one kernel and scope, of which there is one of each kind."""
    print_ = fingerprint_of(kernel, scope, kind.value)
    return Finding(kind.value, level, kernel, message, place, print_)


def fingerprint_of(*identity: str) -> str:
    """What tells a finding from others by these words."""
    text = "\0".join(identity).encode(errors="surrogatepass")  # a name of a baseline is any text
    return hashlib.blake2b(text, digest_size=8).hexdigest()
