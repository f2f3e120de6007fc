"""What levers were pulled in a function so that its kernels fit, or run faster, and what came of
each."""

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

GAINS_BELIEVED = frozenset({LeverKind.STAGES})
"""Levers of which it has said gains of which one of 18 was a loss when measured, of 2 %."""

LEAST_GAIN = 1.06
"""The least gain for which levers are pulled. A gain of these was less than said by a factor of up
to 1.07: of one of 1.06 at most 1 % is lost."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One change: `sentence` says what is done, and what it costs in words."""

    kind: LeverKind
    sentence: str


@dataclass(frozen=True, slots=True)
class LeverStep:
    """A lever, and the bytes that each block of the largest kernel takes once it is pulled, too."""

    lever: Lever
    bytes: int


@dataclass(frozen=True, slots=True)
class RefusedLever:
    """A lever that is not pulled, since it is not proved to change no result, and why."""

    lever: Lever
    why: str


@dataclass(frozen=True, slots=True)
class LeverOutcome:
    """What came of the levers of one function.

    `before` are the bytes of a block of its largest kernel as it was written, merged by smemreuse.
    `tried` is the number of combinations lowered. `refused` are the levers that are not proved to
    change no result, and `why` says what is in the way where nothing was pulled.
    """

    function: str
    before: int = 0
    steps: tuple[LeverStep, ...] = ()
    tried: int = 0
    refused: tuple[RefusedLever, ...] = ()
    why: str = ""

    @property
    def after(self) -> int:
        """The bytes of the largest kernel in the end."""
        return self.steps[-1].bytes if self.steps else self.before

    @property
    def done(self) -> str:
        """What was pulled, with the bytes after each lever."""
        return "; ".join(f"{one.lever.sentence} ({one.bytes:,})" for one in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting(LeverOutcome):
    """What came of fitting one function into `limit` bytes for each block.

    `slowdown` is the model's estimate of the time over that of the function as it was written (1.2:
    a fifth more), on a card that would take both; None where it gives none.
    """

    limit: int
    slowdown: float | None = None

    @property
    def fits(self) -> bool:
        return self.after <= self.limit

    @property
    def sentence(self) -> str:
        """What was done, in one line."""
        begin = f"{self.function}: {self.before:,} bytes for each block"
        if not self.steps:
            return f"{begin}, fits in {self.limit:,}" if self.fits else f"{begin}: {self.why}"
        return f"{begin}, {self.limit:,} wanted: {self.done}{self._cost}"

    @property
    def _cost(self) -> str:
        """What it should cost, where the model is to be believed."""
        kinds = {one.lever.kind for one in self.steps}
        if self.slowdown is None or (self.slowdown < 1 and kinds & GAINS_NOT_TOLD):
            return ""
        return f"; {self.slowdown:.2f} of the time, estimated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedup(LeverOutcome):
    """What came of pulling levers in one function for speed.

    `blocks` are how many of its largest kernel an SM holds, as it was written and in the end; these
    and its bytes are 0 where it was not lowered, since it has no lever. `gain` is the model's
    estimate of the time as it was written over the time in the end; None where nothing was pulled.
    """

    blocks: tuple[int, int] = (0, 0)
    gain: float | None = None

    @property
    def sentence(self) -> str:
        """What was done and what it should gain, or why nothing was, in one line."""
        if not self.steps:
            return f"{self.function}: no lever is pulled: {self.why}"
        held = "{1} on an SM instead of {0}".format(*self.blocks)
        if self.blocks[0] == self.blocks[1]:
            held = f"{self.blocks[1]} on an SM as before, and more L1"
        return (
            f"{self.function}: {self.before:,} bytes for each block: {self.done}; {held}, "
            f"{self.gain:.2f} times as fast, estimated"
        )
