"""What becomes of a kernel that lacks one of the operations by which it is right.

Each barrier, wait, commit, fence and arrival is taken out, one at a time. The operational model
says whether the result can then differ, `lint` what it finds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.audit import BarrierStage
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    For,
    If,
    Kernel,
    Stmt,
    While,
    walk_statements,
)
from smemreuse.ir.labels import label
from smemreuse.linter import lint
from smemreuse.linter.collected import LANES_TOGETHER, RACED
from smemreuse.results.hazards import LintReport
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.table import evaluated_effect
from tests.soundness.linted import goes_wrong, launches, many_modes
from tests.soundness.model.run import Model


@dataclass(frozen=True)
class Deletion:
    """A kernel without one statement."""

    what: str
    line: int | None
    kernel: Kernel


@dataclass(frozen=True)
class Judged:
    """What the model and `lint` say of it: `differs` is empty if no execution went wrong.

    That the lanes of a warp go on together is an assumption, which `lint` tells. Without it some
    hang.
    """

    deletion: Deletion
    differs: str
    report: LintReport

    @property
    def is_missed(self) -> bool:
        """Called clean, and goes wrong."""
        return bool(self.differs) and self.report.clean and not hangs_by_lanes(self)

    @property
    def is_undecided(self) -> bool:
        """Goes wrong, and nothing is found, but that something was not followed."""
        return bool(self.differs) and not self.report.hazards and not self.report.clean

    @property
    def is_false_alarm(self) -> bool:
        """Called certain, and goes right."""
        return not self.differs and any(one.certain for one in self.report.hazards)


def hangs_by_lanes(judged: Judged) -> bool:
    """Whether it is assumed that lanes go on together, and hangs where they do not."""
    return judged.differs == "it hangs" and LANES_TOGETHER in judged.report.assumptions


def deletions(kernel: Kernel) -> Iterator[Deletion]:
    """The kernel without each of the operations that order its accesses."""
    for stmt in walk_statements(kernel.body):
        effect = evaluated_effect(stmt)
        if effect is not None and _orders(effect):
            without = Kernel(kernel.name, _without(kernel.body, stmt), kernel.attrs, kernel.version)
            yield Deletion(label(stmt), stmt.line, without)


def _orders(effect: Effect) -> bool:
    arrives = effect.mbarrier is not None and effect.signals is not Signal.INITIALIZE
    groups = effect.commits is not None or effect.waits is not None
    return effect.meeting is not None or groups or effect.fence or arrives


def _without(block: Block, gone: Stmt) -> Block:
    return tuple(_within(stmt, gone) for stmt in block if stmt is not gone)


def _within(stmt: Stmt, gone: Stmt) -> Stmt:
    if isinstance(stmt, If):
        return replace(stmt, then=_without(stmt.then, gone), orelse=_without(stmt.orelse, gone))
    if isinstance(stmt, (For, While, Attr, Assert)):
        return replace(stmt, body=_without(stmt.body, gone))
    return stmt


def judged(deletion: Deletion, seed: int = 0, tried: int = 12) -> Judged:
    """What is said of a kernel that has all the barriers that it will ever have.

    Where `lint` is certain the model is asked for longer. Raises `NotModelled`.
    """
    report = lint(deletion.kernel, BarrierStage.PRESENT)
    found = differs(deletion.kernel, seed, tried, report.assumptions)
    if not found and any(one.certain for one in report.hazards):
        found = differs(deletion.kernel, seed + 1, 10 * tried, report.assumptions)
    for _, model in [] if found else launches(deletion.kernel, report.hazards):
        found = found or goes_wrong(model, many_modes(model, seed, 10 * tried))
    return Judged(deletion, found, report)


def differs(kernel: Kernel, seed: int, tried: int, assumed: Collection[str] = ()) -> str:
    """How an execution of a kernel goes wrong, of those that are tried; empty if none does. Where
    it is assumed that races do no harm that decide nothing, values have to differ."""
    inputs = np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, 4096)
    model = Model(kernel, [], inputs)
    modes = many_modes(model, seed, tried)
    if RACED in assumed:
        modes = (replace(one, races=False) for one in modes)
    return goes_wrong(model, modes)
