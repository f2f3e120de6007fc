"""Findings that a project accepts, each with a reason, and what of its entries is stale."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from smemreuse.results.findings import FindingKind
from smemreuse.results.words import occurrences

SHORT = 8
"""Hexadecimal digits of a fingerprint that people are shown."""

PLAN = "plan-"
"""What the short form of a finding about a plan begins with."""

PLAN_KINDS = (FindingKind.UNSOUND_PLAN, FindingKind.UNPROVED_PLAN)
"""What `check` finds that may be accepted; what is worse than in a baseline may not."""

FINDING = re.compile(rf"(?P<print>(?:{PLAN})?[0-9a-f]{{{SHORT},16}})(?P<number>-[0-9]+of[0-9]+)?")
"""The short form of a finding, or its whole fingerprint, with its number if it has one."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Why a finding is accepted, and where that is written."""

    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Identity:
    """What a finding is told from others by. `fingerprint` names no lines; `number` is `-1of2`
    where a kernel has several of one fingerprint, and else empty."""

    file: str
    kernel: str
    kind: str
    buffers: tuple[str, ...]
    fingerprint: str
    number: str = ""

    @property
    def short(self) -> str:
        """What people are shown, and write into `finding`."""
        prefix = PLAN if self.fingerprint.startswith(PLAN) else ""
        return f"{self.fingerprint[: len(prefix) + SHORT]}{self.number}"


def numbers_of(fingerprints: Sequence[str]) -> list[str]:
    """What tells those of one fingerprint apart. It says how many there are: once one of them is
    gone, no other takes its place unseen."""
    return [f"-{at}of{many}" if many > 1 else "" for at, many in occurrences(fingerprints)]


_NUMBER = re.compile(r"-(\d+)of(\d+)$")


def numbering_words(findings: Iterable[str]) -> str:
    """What `-1of2` at the end of a finding's name means, by the first that has it; else empty."""
    for number in filter(None, map(_NUMBER.search, findings)):
        at, many = number.groups()
        return (
            f"{number[0]}: {at} of {many} findings of that kernel that differ by their lines alone"
        )
    return ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One entry: a finding is accepted that all of what is not empty fits.

    `kernel` and `file` are patterns as in a shell, of a file's path or of its last parts; `kind` is
    the word for what is found, `buffer` the name of one of its buffers.
    """

    accepted: Accepted
    finding: str = ""
    kernel: str = ""
    file: str = ""
    kind: str = ""
    buffer: str = ""

    @property
    def is_of_plans(self) -> bool:
        """Whether it is of what `check` finds; that is said, so that no pattern hides a plan."""
        return self.finding.startswith(PLAN) or self.kind in PLAN_KINDS

    def concerns(self, file: str, kernel: str) -> bool:
        """Whether a kernel is one of those that it is about."""
        return self._fits_kernel(kernel) and self._fits_file(file)

    def covers(self, one: Identity) -> bool:
        """Whether it accepts a finding."""
        return (
            self.concerns(one.file, one.kernel)
            and self.is_of_plans is (one.kind in PLAN_KINDS)
            and self.kind in ("", one.kind)
            and (not self.buffer or self.buffer in one.buffers)
            and self._fits_print(one)
        )

    def _fits_kernel(self, kernel: str) -> bool:
        return not self.kernel or fnmatchcase(kernel, self.kernel)

    def _fits_file(self, file: str) -> bool:
        path = PurePath(file).as_posix()
        return not self.file or fnmatchcase(path, self.file) or fnmatchcase(path, f"*/{self.file}")

    def _fits_print(self, one: Identity) -> bool:
        found = FINDING.fullmatch(self.finding)
        if found is None:
            return not self.finding
        return one.fingerprint.startswith(found["print"]) and one.number == (found["number"] or "")


@dataclass
class Acceptances:
    """The entries of a project, and which of them have accepted anything yet."""

    entries: Sequence[Acceptance]

    def __post_init__(self) -> None:
        self._used: set[int] = set()

    def of(self, one: Identity) -> Accepted | None:
        """Why a finding is accepted, by the first entry that covers it; all that do are of use."""
        found = [at for at, entry in enumerate(self.entries) if entry.covers(one)]
        self._used.update(found)
        return self.entries[found[0]].accepted if found else None

    def stale(self, kernels: Iterable[tuple[str, str]]) -> Iterator[tuple[Acceptance, bool]]:
        """The entries that have accepted nothing, each with whether one of these kernels, by file
        and name, is one that it is about."""
        looked_at = [*kernels]
        for at, entry in enumerate(self.entries):
            if at not in self._used:
                yield entry, any(entry.concerns(*one) for one in looked_at)
