"""What became of checking the plan that a file has, or that was given for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from smemreuse.results.accepted import PLAN, Acceptances, Accepted, Identity
from smemreuse.results.findings import FindingKind, fingerprint_of
from smemreuse.results.preconditions import Preconditions
from smemreuse.results.regressions import BaselineChange, BaselineEntry, Regression
from smemreuse.results.verdict import UNSOUND, Verdict
from smemreuse.results.words import without_lines

_OF_VERDICTS = (FindingKind.WORSE, FindingKind.NEW)
"""What may be worse than in a baseline for nothing but a verdict, and what it is for."""


class PlanSource(str, Enum):
    """Where the checked layout comes from; the value is the word for it, in JSON too."""

    PLAN_FILE = "plan file"
    MERGED = "merged in the file"
    NOTHING_MERGED = "nothing merged"
    NOT_PLANNED = "not in the plan file"

    def __str__(self) -> str:
        return self.value

    @property
    def is_plan(self) -> bool:
        """Whether there is a plan at all."""
        return self in (PlanSource.PLAN_FILE, PlanSource.MERGED)


@dataclass(frozen=True)
class Audit:
    """What was checked of one kernel and scope, and the verdict.

    `offsets` are by buffer name, they and `arena` in bytes.
    """

    source: PlanSource
    offsets: Mapping[str, int]
    arena: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """The audit of one kernel and scope of a file, without the kernel.

    `has_buffers` says whether the scope has any buffer. `line` is where the first buffer of the
    violations is allocated, or of the scope if there is none. `grounds` are the preconditions of a
    sound plan. `change` compares the plan with a baseline, None without one. `accepted` says why
    the project accepts that the plan is not sound, if it does.
    """

    file: str
    kernel: str
    scope: str
    has_buffers: bool
    line: int | None
    audit: Audit
    grounds: Preconditions | None
    change: BaselineChange | None = None
    accepted: Accepted | None = None

    @property
    def identity(self) -> Identity | None:
        """What tells that a plan is unsound or unproved, and for what, from any other finding; None
        where it is sound, or there is none."""
        found = self.audit.verdict
        if found.sound or self.audit.source is PlanSource.NOTHING_MERGED:
            return None
        kind = FindingKind.UNSOUND_PLAN if found.verdict is UNSOUND else FindingKind.UNPROVED_PLAN
        faults = sorted({violated(one.rule.value, one.buffers) for one in found.violations})
        open_ = sorted({*map(without_lines, found.uncovered)})
        print_ = fingerprint_of(self.kernel, self.scope, kind.value, *faults, *open_)
        buffers = dict.fromkeys(name for one in found.violations for name in one.buffers)
        return Identity(self.file, self.kernel, kind.value, tuple(buffers), f"{PLAN}{print_}")

    @property
    def is_hazardous(self) -> bool:
        """Whether a sound plan's kernel has a hazard, or was not followed to the end by `lint`."""
        return self.grounds is not None and self.grounds.is_hazardous

    @property
    def has_certain(self) -> bool:
        """Whether such a hazard is certain."""
        return self.grounds is not None and self.grounds.has_certain

    def held_against(self, acceptances: Acceptances) -> Checked:
        """The same, where it says so if the project accepts what is found."""
        identity = self.identity
        return self if identity is None else replace(self, accepted=acceptances.of(identity))

    @property
    def worse(self) -> tuple[Regression, ...]:
        """What is worse than in a baseline, but for what is accepted."""
        worse = () if self.change is None else self.change.worse
        return tuple(one for one in worse if self.accepted is None or one.kind not in _OF_VERDICTS)

    @property
    def baseline_entry(self) -> BaselineEntry:
        """What a later run is compared with."""
        found = self.audit.verdict
        faults = frozenset(violated(one.rule.value, one.buffers) for one in found.violations)
        arena = self.audit.arena
        return BaselineEntry(
            *(self.file, self.kernel, self.scope, arena, found.verdict, faults),
            planned=self.audit.source.is_plan or not self.has_buffers,
            assumed=self._assumed,
        )

    @property
    def _assumed(self) -> frozenset[str] | None:
        """What a sound plan assumes of the kernel itself; None where there is none."""
        if self.grounds is None:
            return None
        opened = [(str(one.assumption), one.refuted) for one in self.grounds.open]
        return assumed(opened, self.grounds.report.assumptions)


def assumed(opened: Iterable[tuple[str, bool]], others: Iterable[str]) -> frozenset[str]:
    """What is assumed of a kernel itself, as baselines have it: the words of what is `opened`, each
    with whether it is refuted, and sentences without lines."""
    words = [f"{word}, {how}" for word, bad in opened for how in ("open", "refuted")[: 1 + bad]]
    return frozenset({*words, *map(without_lines, others)})


def violated(rule: int, buffers: Sequence[str]) -> str:
    """What is broken between which buffers, as baselines have it: without lines."""
    return f"rule {rule}, {' and '.join(buffers)}"
