"""What a session reports while it lowers, and who listens.

A session decides and rewrites; it keeps nothing. An observer overrides the events that it wants:
`SessionLog` keeps what users ask a session for, a run's recorder writes it to a folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from smemreuse.compilers.functions import DeviceFunction, MergeRequest, PlannedFunction
from smemreuse.compilers.outcomes import FunctionOutcome, Outcome
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.results.fitting import Fitting, Speedup
from smemreuse.results.mending import Mending
from smemreuse.results.trimming import Trimming


class SessionObserver:
    """The events of a session, in the order in which a function meets them."""

    def on_received(self, function: DeviceFunction, request: MergeRequest) -> None:
        """The merge receives a function that launches kernels."""

    def on_merged(self, functions: Sequence[PlannedFunction]) -> None:
        """The merge of a module has ended, and its barriers are not in yet; may raise."""

    def on_finished(self, outcome: FunctionOutcome) -> None:
        """A function was merged, or there was nothing to merge or to gain."""

    def on_left(self, left: LeftToStock) -> None:
        """The compiler's own pass merges a function instead."""

    def on_mended(self, mendings: Sequence[Mending]) -> None:
        """What came of mending each kernel of a function."""

    def on_fitted(self, fitting: Fitting) -> None:
        """What came of fitting a function into the memory of a block."""

    def on_sped_up(self, speedup: Speedup) -> None:
        """What came of pulling levers for speed in a function."""

    def on_trimmed(self, trimmings: Sequence[Trimming]) -> None:
        """What came of trimming each kernel of a function."""

    def on_not_mended(self, function: str, why: str) -> None:
        """Mending a function failed; it stays as it is."""

    def on_lowered(self, function: str, kernels: Sequence[LoweredKernel]) -> None:
        """The kernels of a function have their barriers; in the order of its launches."""

    def on_compiled(self, before: LoweredKernel, after: LoweredKernel) -> None:
        """A kernel that was lowered has its registers now."""

    def on_reloaded(self, kernel: Any) -> None:
        """A kernel came out of the compiler's cache on disk, and was not lowered."""

    def on_warning(self, text: str) -> None:
        """Something happened that the user would not expect."""


@dataclass(repr=False, eq=False)
class SessionLog(SessionObserver):
    """Keeps what was lowered, and warns.

    `kernels` are all that were lowered, those with nothing to merge among them. `left` are the
    functions that the compiler's own pass has merged instead; their kernels are not in `kernels`.
    `functions` says of each function, in order, what became of it.
    """

    kernels: list[LoweredKernel] = field(default_factory=list)
    left: list[LeftToStock] = field(default_factory=list)
    functions: list[FunctionOutcome] = field(default_factory=list)

    @property
    def plans(self) -> list[AppliedPlan]:
        """The plans that were applied, in the order of the kernels."""
        return [plan for kernel in self.kernels for plan in kernel.plans]

    def on_finished(self, outcome: FunctionOutcome) -> None:
        self.functions.append(outcome)

    def on_left(self, left: LeftToStock) -> None:
        self.left.append(left)
        self.functions.append(FunctionOutcome(left.function, Outcome.LEFT, left.reason))

    def on_lowered(self, function: str, kernels: Sequence[LoweredKernel]) -> None:
        self.kernels.extend(kernels)

    def on_compiled(self, before: LoweredKernel, after: LoweredKernel) -> None:
        # In place: other threads of the session may add theirs meanwhile.
        for place, each in enumerate(self.kernels):
            if each is before:
                self.kernels[place] = after

    def on_warning(self, text: str) -> None:
        warnings.warn(text, RuntimeWarning, stacklevel=4)


_of_process: list[SessionObserver] = []


@contextmanager
def observing(observer: SessionObserver) -> Iterator[None]:
    """Inside, every session of this process whose kernels are compiled reports to `observer`.

    A run inside a run keeps its own records: only the innermost observer hears of its kernels.
    """
    _of_process.append(observer)
    try:
        yield
    finally:
        _of_process.remove(observer)


def observers_of_process() -> Sequence[SessionObserver]:
    """The innermost observer of this process, if there is one."""
    return tuple(_of_process[-1:])
