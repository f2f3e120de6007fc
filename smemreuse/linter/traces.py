"""Traces of a kernel without a plan: all kinds of thread blocks, all cases of what data decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.checker.errors import Infeasible, Stuck, Uncovered
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.execution.traces import BlockTraces
from smemreuse.checker.values.cases import Case
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block
from smemreuse.linter.collected import NO_NEGATIVE_LENGTH, LintContext
from smemreuse.linter.contents import ContentHazards
from smemreuse.linter.ordering import OrderHazards
from smemreuse.linter.phases import PhaseHazards


class KernelHazards(ContentHazards, OrderHazards, PhaseHazards):
    """All that one trace finds."""


class HazardTraces(BlockTraces):
    """Traces one kernel; the hazards go to the lint context `known`."""

    def __init__(self, setting: Setting, known: LintContext):
        super().__init__(setting)
        self._known = known

    @property
    def _is_clear(self) -> bool:
        return not self._known.hazards

    def _restart(self) -> None:
        """What has been found stays."""

    def _settled(self, blocks: Mapping[Var, np.ndarray]) -> None:
        self._known.settle(blocks)

    def launch(self, body: Block) -> None:
        """For one thread block alone, of the launch whose inputs are given."""
        numbers = self._setting.given.numbers
        launched = self._setting.program_slice.launched
        self._cases(body, {var: index for var, index in numbers.items() if var in launched})

    def _any_block(self, body: Block) -> bool:
        """Whether a trace with unknown block indices finds no new hazard; its findings
        are dropped.
        """
        before = dict(self._known.hazards)
        try:
            self._cases(body, {})
            return len(self._known.hazards) == len(before)
        except Uncovered:
            return False
        finally:
            self._known.hazards = before

    def _trace(self, body: Block, index: Mapping[Var, int], case: Case) -> tuple[Trace, bool]:
        """Runs one trace and reports the hazards at its end, or the deadlock in which it
        is stuck.
        """
        hazards = KernelHazards(self._known, self._setting.layout, index)
        hazards.observers = (hazards,)
        trace = Trace(self._setting, hazards, index, case)
        before = dict(self._known.hazards), dict(self._known.assumed)
        try:
            trace.run(body)
        except Infeasible:
            self._known.hazards, self._known.assumed = before
            return trace, True
        except Stuck:
            hazards.stuck(trace.waiting.values())
            if not trace.values.unknowns.supposes_negative:
                raise
        else:
            hazards.ends(trace.state.pairings)
            hazards.phases_left_open(trace.state.barriers.slots)
            hazards.in_flight_at_the_end(trace.state)
        if trace.values.unknowns.supposes_negative and self._known.hazards != before[0]:
            self._known.hazards, self._known.assumed = before
            self._known.assume(NO_NEGATIVE_LENGTH)
        return trace, True  # further cases may have other hazards
