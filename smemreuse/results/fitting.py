"""What was changed in a function so that its kernels fit, and what came of each change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LeverKind(str, Enum):
    """A way to lower the peak of a kernel's shared memory; the value is the word for it in JSON."""

    STAGES = "stages"
    LATER_LOADS = "later-loads"
    DIRECT_STORE = "direct-store"
    RELOAD = "reload"
    SLICES = "slices"

    def __str__(self) -> str:
        return self.value


GAINS_NOT_TOLD = frozenset({LeverKind.LATER_LOADS, LeverKind.RELOAD, LeverKind.SLICES})
"""Levers of which the model has said gains that were losses when measured (docs/results.md)."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One change: `sentence` says what is done, and what it costs in words."""

    kind: LeverKind
    sentence: str


@dataclass(frozen=True, slots=True)
class FittingStep:
    """A lever, and the bytes that each block of the largest kernel takes once it is pulled, too."""

    lever: Lever
    bytes: int


@dataclass(frozen=True, slots=True)
class RefusedLever:
    """A lever that is not pulled, since it is not proved to change no result, and why."""

    lever: Lever
    why: str


@dataclass(frozen=True, slots=True)
class Fitting:
    """What came of fitting one function into `limit` bytes for each block.

    `before` are the bytes of its largest kernel as it was written, merged by smemreuse. `slowdown`
    is the model's estimate of the time over that of the function as it was written (1.2: a fifth
    more), on a card that would take both; None where it gives none. `tried` is the number of
    combinations lowered. `refused` are the levers that are not proved to change no result, and
    `why` says what is in the way where it does not fit.
    """

    function: str
    limit: int
    before: int
    steps: tuple[FittingStep, ...] = ()
    slowdown: float | None = None
    tried: int = 0
    refused: tuple[RefusedLever, ...] = ()
    why: str = ""

    @property
    def after(self) -> int:
        """The bytes of the largest kernel in the end."""
        return self.steps[-1].bytes if self.steps else self.before

    @property
    def fits(self) -> bool:
        return self.after <= self.limit

    @property
    def sentence(self) -> str:
        """What was done, in one line."""
        begin = f"{self.function}: {self.before:,} bytes for each block"
        if not self.steps:
            return f"{begin}, fits in {self.limit:,}" if self.fits else f"{begin}: {self.why}"
        done = "; ".join(f"{one.lever.sentence} ({one.bytes:,})" for one in self.steps)
        return f"{begin}, {self.limit:,} wanted: {done}{self._cost}"

    @property
    def _cost(self) -> str:
        """What it should cost, where the model is to be believed."""
        kinds = {one.lever.kind for one in self.steps}
        if self.slowdown is None or (self.slowdown < 1 and kinds & GAINS_NOT_TOLD):
            return ""
        return f"; {self.slowdown:.2f} of the time, estimated"
