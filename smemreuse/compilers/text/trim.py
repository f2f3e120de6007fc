"""Trims the kernels of a dump: its text without the barriers and fences that it does not need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.mend import with_edits
from smemreuse.compilers.text.reader import Dump
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from smemreuse.mender import trim
from smemreuse.mender.edited import edited
from smemreuse.pipeline.judging import barriers_with, judge
from smemreuse.results.mending import Removal
from smemreuse.results.plan import Plan
from smemreuse.results.trimming import Trimming
from smemreuse.results.verdict import SOUND

Plans = Callable[[Kernel], tuple[Plan, ...]]
"""The plans that are to be applied to a kernel, each of one storage scope."""

CHANGED = "lint finds {} in the text without them"


@dataclass(frozen=True)
class TrimmedText:
    """The dump without what was taken out, and what came of each kernel, in order."""

    dump: Dump
    trimmings: tuple[Trimming, ...]


def trim_text(dump: Dump, plans: Plans, barriers: BarrierStage = BarrierStage.AUTO) -> TrimmedText:
    """The dump without barriers and proxy fences whose absence is proved harmless; see
    `mender.trim`.

    The plans have to hold without them, and bring no more barriers. The text is read and linted
    again: where that does not prove a kernel clean, it stays as it is, and its trimming says so.
    """
    found = [trim(kernel, barriers, _accepting(kernel, plans)) for kernel in dump.kernels]
    functions = [function for function in dump.functions for _ in function.kernels]
    while True:
        edits = [one.removals for one in found]
        written, doubts = with_edits(dump, [*zip(functions, edits, strict=True)])
        if written is not None:
            doubts = _unclean(written, found)
        if written is not None and not doubts:
            return TrimmedText(written, tuple(found))
        found = [
            one.taken_back(doubts[number]) if number in doubts else one
            for number, one in enumerate(found)
        ]


def _accepting(kernel: Kernel, plans: Plans) -> Callable[[tuple[Removal, ...]], bool]:
    def holds(removals: tuple[Removal, ...]) -> bool:
        changed = replace(kernel, body=edited(kernel.body, removals)[0])
        return all(
            judge(changed, plan).verdict is SOUND
            and len(barriers_with(changed, plan.offsets))
            <= len(barriers_with(kernel, plan.offsets))
            for plan in plans(kernel)
        )

    return holds


def _unclean(dump: Dump, found: list[Trimming]) -> dict[int, str]:
    """Which kernels that were trimmed lint does not prove clean as they are written."""
    doubts = {}
    for number, (kernel, trimming) in enumerate(zip(dump.kernels, found, strict=True)):
        if trimming.removals:
            report = lint(kernel, BarrierStage.PRESENT)
            if not report.clean or report.assumptions:
                doubts[number] = CHANGED.format(report.status)
    return doubts
