"""What a baseline of `lint` knows of a kernel, and what of a later report is none of that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

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
        kernel = self.name.kernel or report.kernel  # it may have been renamed since
        return frozenset(
            place
            for place, hazard in ordered
            if self._takes(hazard.fingerprint(kernel), hazard.certain)
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
