"""What the checker says about a plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from smemreuse.ir.kernel import Buffer
from smemreuse.results.plan import Plan
from smemreuse.results.rules import Rule
from smemreuse.results.serialized import LOCAL
from smemreuse.results.sites import Site


class VerdictKind(str, Enum):
    """What is known of a plan; the value is the word for it, in JSON too."""

    SOUND = "sound"
    UNSOUND = "unsound"
    UNPROVED = "unproved"

    def __str__(self) -> str:
        return self.value


SOUND: Final = VerdictKind.SOUND
UNSOUND: Final = VerdictKind.UNSOUND
UNPROVED: Final = VerdictKind.UNPROVED


LIMIT_OF_WORK: Final = "budget: "
"""How a reason begins that is no more than the checker's limit of work."""


LINT_STOPPED: Final = "lint stopped at its limit of work"
BARRIERS_FOLLOW = (
    "a later pass (TileLang's ThreadSync) puts a barrier between accesses to bytes that buffers "
    "share, inside branches, too (docs/soundness.md, rule 6)"
)


def unfollowed_words(reason: str) -> str:
    """Why lint did not follow all of a kernel, for people."""
    return reason.replace(LIMIT_OF_WORK, f"{LINT_STOPPED}: ", 1)


@dataclass(frozen=True, slots=True)
class WitnessAct:
    """One access of a witness: who makes it, as `thread 3`, what it does, as `reads byte 0 of As`,
    and where. `threads` are runs of indices, half-open."""

    agent: str
    deed: str
    site: Site
    threads: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: which, between which buffers, and the execution that shows it.

    `acts` are the accesses of that execution in their order, where it has any.
    """

    rule: Rule
    buffers: tuple[str, ...]
    witness: str
    acts: tuple[WitnessAct, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"rule {self.rule}, {' and '.join(self.buffers)}: {self.witness}"

    @property
    def titled(self) -> str:
        """The same with what the rule is about, in two or three words."""
        rule = f"rule {self.rule} ({self.rule.conflict})"
        return f"{rule}, {' and '.join(self.buffers)}: {self.witness}"


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """`SOUND` is proved; `UNSOUND` has a witness; `UNPROVED` lists what could not be shown.

    `violations` hold the proofs of unsoundness or, for `UNPROVED`, the possible violations;
    `uncovered` says what the trace had to leave out; `assumptions` on what the proof rests.
    `open_pairs` are the buffers that share bytes without proof: kept apart, they leave the rest of
    the plan as well founded as it is. None are named where the fault is not in the sharing.
    `stopped_early` says that a bounded check had more to follow.
    """

    verdict: VerdictKind
    violations: tuple[Violation, ...] = ()
    uncovered: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    open_pairs: frozenset[frozenset[Buffer]] = field(default=frozenset(), metadata=LOCAL)
    stopped_early: bool = False

    @property
    def sound(self) -> bool:
        return self.verdict is SOUND

    def doubted(self, reasons: tuple[str, ...]) -> Verdict:
        """The verdict where `reasons` could not be covered: sound no longer, unsound still."""
        if not reasons:
            return self
        verdict = UNPROVED if self.sound else self.verdict
        return replace(self, verdict=verdict, uncovered=(*self.uncovered, *reasons))

    @property
    def first_finding(self) -> str:
        """What comes first among the things that keep the verdict from being sound."""
        return self.findings[0] if self.findings else self.verdict.value

    @property
    def findings(self) -> tuple[str, ...]:
        """All that keeps the verdict from being sound."""
        return (*map(str, self.violations), *self.uncovered)

    @property
    def proof(self) -> str:
        """The verdict within a sentence."""
        return f"proved {self.verdict}" if self.sound else f"not proved ({self.verdict})"

    @property
    def condition(self) -> str:
        """What has to come yet for a sound plan to be so, to put after its verdict; or nothing."""
        return (
            ", if ThreadSync follows" if self.sound and BARRIERS_FOLLOW in self.assumptions else ""
        )

    @property
    def refusal(self) -> str:
        """Why a plan was not applied: the word, and the first thing that speaks against it."""
        first = self.violations[0].titled if self.violations else self.first_finding
        return f"not applied, {self.verdict}: {first}"

    def __repr__(self) -> str:
        """One line: the word, the rules broken, and how much was not covered."""
        rules = dict.fromkeys(f"rule {violation.rule}" for violation in self.violations)
        left = [f"{len(self.uncovered)} not covered"] if self.uncovered else []
        return f"Verdict({', '.join([self.verdict.value, *rules, *left])})"


Judged = tuple[Plan, Verdict]
"""A plan, and what the checker says of it."""
