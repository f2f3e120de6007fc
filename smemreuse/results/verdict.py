"""What the checker says about a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

SOUND, UNSOUND, UNPROVED = "sound", "unsound", "unproved"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule of DESIGN: which, between which buffers, and the execution that shows it."""

    rule: int
    buffers: tuple[str, ...]
    witness: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sound` is proved; `unsound` has a witness; `unproved` lists what could not be shown.

    `violations` hold the proofs of unsoundness or, for `unproved`, the possible violations;
    `uncovered` says what the trace had to leave out; `assumptions` on what the proof rests.
    """

    verdict: str
    violations: tuple[Violation, ...] = ()
    uncovered: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return self.verdict == SOUND

    def doubted(self, reasons: tuple[str, ...]) -> Verdict:
        """The verdict where `reasons` could not be covered: sound no longer, unsound still."""
        if not reasons:
            return self
        verdict = UNPROVED if self.sound else self.verdict
        return replace(self, verdict=verdict, uncovered=(*self.uncovered, *reasons))
