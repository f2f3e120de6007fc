"""What a verdict on a plan takes for granted of the kernel itself, and what of that is proved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from smemreuse.results.hazards import HazardKind, LintReport, LintStatus
from smemreuse.results.verdict import Verdict


class Assumption(str, Enum):
    """What the proof of a plan assumes of the kernel without it; the value is the word in JSON.

    `sentence` says it in one. `kinds` are the hazards that speak against it.
    """

    sentence: str
    kinds: frozenset[HazardKind]

    ORDERED = (
        "no-races",
        "the unmerged kernel has no data race and waits for each asynchronous access",
        (HazardKind.RACE, HazardKind.MISSING_WAIT),
    )
    WRITTEN = (
        "written-before-read",
        "the unmerged kernel writes each byte of shared memory before it reads it",
        (HazardKind.UNINITIALISED_READ,),
    )
    FENCED = (
        "fenced",
        "the unmerged kernel has every proxy fence that it needs",
        (HazardKind.MISSING_FENCE,),
    )
    INSIDE = (
        "in-bounds",
        "each access of the unmerged kernel stays within its buffer",
        (HazardKind.OUT_OF_BOUNDS,),
    )
    MEETING = (
        "barriers-reached",
        "all threads reach the barriers of the unmerged kernel",
        (HazardKind.BARRIER_DIVERGENCE, HazardKind.BARRIER_DEADLOCK),
    )

    def __new__(
        cls, word: str, sentence: str = "", kinds: tuple[HazardKind, ...] = ()
    ) -> Assumption:
        # The defaults are for type checkers, to which `Assumption("fenced")` is a call of this.
        assumption = str.__new__(cls, word)
        assumption._value_ = word
        assumption.sentence = sentence
        assumption.kinds = frozenset(kinds)
        return assumption

    def __str__(self) -> str:
        return str(self.value)


UNFOLLOWED_BY_LINT = "not followed: "
"""How the reason for an assumption begins that lint cannot decide."""


@dataclass(frozen=True)
class OpenAssumption:
    """An assumption that is not proved, and why; `refuted` by a hazard that is certain."""

    assumption: Assumption
    why: str
    refuted: bool = False


@dataclass(frozen=True)
class Preconditions:
    """What lint found of a kernel for which a plan is sound.

    `is_bounded` tells that less work was allowed than `lint` has by itself.
    """

    report: LintReport
    is_bounded: bool = False

    @property
    def open(self) -> tuple[OpenAssumption, ...]:
        """The assumptions that are not proved: all where something was not followed, else those
        that a hazard speaks against."""
        found = []
        for assumption in Assumption:
            against = [one for one in self.report.hazards if one.kind in assumption.kinds]
            certain = [one for one in against if one.certain]
            if against:
                hazard = (certain or against)[0]
                found.append(
                    OpenAssumption(assumption, f"{hazard.kind}: {hazard.witness}", bool(certain))
                )
            elif self.report.unknown:
                found.append(
                    OpenAssumption(assumption, UNFOLLOWED_BY_LINT + self.report.unknown[0])
                )
        return tuple(found)

    @property
    def refuted(self) -> tuple[OpenAssumption, ...]:
        """Those of the open ones that a certain hazard speaks against."""
        return tuple(one for one in self.open if one.refuted)

    @property
    def is_hazardous(self) -> bool:
        """Whether there is any hazard, whatever rests on it, or something was not followed."""
        return self.report.status is not LintStatus.CLEAN

    @property
    def has_certain(self) -> bool:
        return self.report.status is LintStatus.HAZARDS

    @property
    def proved(self) -> bool:
        """Whether a sound plan is so without any assumption on the kernel.

        A warp that misses a phase speaks against none: late, it does nothing that the kernel would
        not do without the plan (rule 13).
        """
        return not self.open and not self.report.assumptions


def condition_words(verdict: Verdict, grounds: Preconditions | None) -> str:
    """What has to come yet for a sound plan to be so, to put after its verdict; or nothing."""
    found = verdict.condition
    if not (verdict.sound and grounds is not None and grounds.refuted):
        return found
    return f"{found}{' and' if found else ', if'} the kernel's own hazards are fixed"
