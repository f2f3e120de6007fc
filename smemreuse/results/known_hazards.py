"""What a baseline of `lint` knows of a kernel, and what of a later report is none of that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from smemreuse.results.hazards import LintReport
from smemreuse.results.matching import KernelName, matched

_LINE = re.compile(r" \(line \d+\)")


@dataclass(frozen=True)
class KnownKernel:
    """A kernel of a baseline: its hazards by fingerprint and certainty, each as often as it is
    there, and what could not be followed. What silences a hazard is taken out."""

    name: KernelName
    hazards: Counter[tuple[str, bool]]
    unknown: frozenset[str] = frozenset()

    def silenced(self, report: LintReport) -> frozenset[int]:
        """The places of the hazards that are known.

        Each of the baseline silences one. One that was only possible there does not silence one
        that is certain.
        """
        places = enumerate(report.hazards)
        # The certain ones first: a certain one of the baseline is left for these.
        ordered = sorted(places, key=lambda each: not each[1].certain)
        return frozenset(
            place
            for place, hazard in ordered
            if self._takes(hazard.fingerprint(report.kernel), hazard.certain)
        )

    def _takes(self, fingerprint: str, certain: bool) -> bool:
        for was_certain in (True,) if certain else (False, True):
            if self.hazards[fingerprint, was_certain]:
                self.hazards[fingerprint, was_certain] -= 1
                return True
        return False

    def expected(self, report: LintReport) -> frozenset[str]:
        """What could not be followed before either, but for the lines that it names."""
        return frozenset(one for one in report.unknown if without_lines(one) in self.unknown)


def without_lines(text: str) -> str:
    """A sentence without the lines that it names, which change with every edit."""
    return _LINE.sub("", text)


def known_to(before: Sequence[KnownKernel], found: Sequence[KernelName]) -> list[KnownKernel]:
    """For each kernel what the baseline knows of it.

    Those that are new share what it knows of kernels that are gone: of several of one name it is
    not told which is which, once their files have other names.
    """
    places = matched(found, [one.name for one in before])
    gone = [one for place, one in enumerate(before) if place not in places]
    rest = KnownKernel(KernelName("", ""), sum((one.hazards for one in gone), Counter()))
    return [rest if place is None else before[place] for place in places]
