"""What a baseline of `lint` knows of a kernel, and what of a later report is none of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath
from typing import NamedTuple

from smemreuse.results.hazards import Hazard, HazardOrigin, LintReport
from smemreuse.results.matching import KernelName, matched
from smemreuse.results.words import without_lines


class Severity(NamedTuple):
    """How severe a hazard is: whether it is certain, and the author's."""

    certain: bool
    authors: bool

    @classmethod
    def of(cls, hazard: Hazard) -> Severity:
        return cls(hazard.certain, hazard.origin is HazardOrigin.AUTHOR)

    def covers(self, other: Severity) -> bool:
        """Whether it is as severe in either way."""
        return self.certain >= other.certain and self.authors >= other.authors


@dataclass(frozen=True)
class KnownKernel:
    """A kernel of a baseline: its hazards by fingerprint and severity, each as often as it is
    there, and what could not be followed. What silences a hazard is taken out."""

    name: KernelName
    hazards: Counter[tuple[str, Severity]]
    unknown: frozenset[str] = frozenset()

    def silenced(self, report: LintReport) -> frozenset[int]:
        """The places of the hazards that are known.

        Each of the baseline silences one, and none that is more severe: one that was only possible
        does not silence one that is certain, nor one of the compiler's one of the author's.
        """
        severities = [Severity.of(hazard) for hazard in report.hazards]
        # The most severe first: what is as severe in the baseline is left for these.
        places = sorted(range(len(severities)), key=lambda place: severities[place], reverse=True)
        kernel = self.name.kernel or report.kernel  # it may have been renamed since
        return frozenset(
            place
            for place in places
            if self._takes(report.hazards[place].fingerprint(kernel), severities[place])
        )

    def _takes(self, fingerprint: str, severity: Severity) -> bool:
        """Whether the baseline has one left that is as severe; the least severe one is taken."""
        for certain, authors in product((False, True), repeat=2):
            then = Severity(certain, authors)
            if then.covers(severity) and self.hazards[fingerprint, then]:
                self.hazards[fingerprint, then] -= 1
                return True
        return False

    def expected(self, report: LintReport) -> frozenset[str]:
        """What could not be followed before either, but for the lines that it names."""
        return frozenset(one for one in report.unknown if without_lines(one) in self.unknown)


def known_to(
    before: Sequence[KnownKernel],
    found: Sequence[KernelName],
    asked: Callable[[str], bool] = lambda file: True,
) -> list[KnownKernel]:
    """For each kernel what the baseline knows of it.

    Those that are new share what it knows of kernels that are gone: of several of one name it is
    not told which is which, once their files have other names. What is in a file that was not
    `asked` for, and is there, is not gone; but for the only file of a baseline, which whatever file
    is held against.
    """
    alone = len({one.name.file for one in before}) == 1
    names = [one.name for one in before]
    places = matched(found, names, lambda one: asked(one.file))
    usable = [alone or asked(one.file) for one in names]
    known = [
        None if place is None or not (usable[place] or _of_one_name(one, names[place])) else place
        for one, place in zip(found, places, strict=True)
    ]
    gone = [one for place, one in enumerate(before) if usable[place] and place not in known]
    rest = KnownKernel(KernelName("", ""), sum((one.hazards for one in gone), Counter()))
    return [rest if place is None else before[place] for place in known]


def _of_one_name(one: KernelName, other: KernelName) -> bool:
    return PurePath(one.file).name == PurePath(other.file).name
