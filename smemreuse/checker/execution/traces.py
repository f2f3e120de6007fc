"""The traces of one check: one for each kind of thread block, and each case of what data decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.errors import BoundReached, Contended, Infeasible, Stuck, Uncovered
from smemreuse.checker.execution.blocks import kinds_of_blocks
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.loops.loop_runs import LoopRun
from smemreuse.checker.machine.findings import PairFinding, Violations
from smemreuse.checker.values.cases import Case, Cases
from smemreuse.checker.values.evaluation import Decision
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block, Buffer
from smemreuse.results.rules import Rule

FEW_KINDS = 4
"""Kinds of thread blocks that are traced before their total number is estimated."""

MANY_KINDS = 16
"""Kinds of thread blocks; where there are more, one block of unknown index is tried for them
all."""

MAX_KINDS = 128

BOUNDED_TRACES = 2
"""Traces of a bounded check: one in which all conditions on data hold, one in which none does. They
show most violations."""

LONG = 2_000
"""Statements of a trace after which a bounded check stops."""

CHECK_WAS_BOUNDED = "there is more to follow than was looked at"


@dataclass
class TraceOutcome:
    """What traces have found, and which writes leave their buffers."""

    findings: dict[tuple[Rule, frozenset[str]], PairFinding] = field(default_factory=dict)
    left: dict[Buffer, str] = field(default_factory=dict)

    def add(self, violations: Violations) -> None:
        """The findings of a trace; a certain one comes before those that are not."""
        self.left = {**violations.left, **self.left}
        for key, finding in violations.found.items():
            if key not in self.findings or finding.certain:
                self.findings[key] = finding

    @property
    def is_clear(self) -> bool:
        """Whether there is nothing wrong."""
        return not self.findings and not self.left


class BlockTraces(ABC):
    """Traces a kernel for every kind of thread block, and each for every case of data-dependent
    control flow (`cases`)."""

    def __init__(self, setting: Setting):
        self._setting = setting
        self.is_cut_short = False
        """Whether blocks were left out, since something is wrong with others."""

    def run(self, body: Block) -> None:
        """For every thread block. Raises `Uncovered`, with what has been found until then.

        Where there are many kinds of blocks, one of which the index is not known may do for them
        all: what its index decides goes both ways then, or is a case. If something is wrong with
        the first few, it is so whatever the others do.
        """
        has_tried = False
        for number, block in enumerate(kinds_of_blocks(body)):
            if self._is_enough:
                return
            seems_many = number >= FEW_KINDS and block.kinds_if_alike(number) > MANY_KINDS
            if seems_many and not has_tried:
                has_tried = True
                self.is_cut_short = not self._is_clear
                if self.is_cut_short or self._any_block(body):
                    return
            if number == MAX_KINDS:
                raise Uncovered(f"more than {MAX_KINDS} kinds of thread blocks")
            decisions, runs = self._cases(body, block.index)
            if self._is_enough:
                return
            if self._is_exhausted and (decisions or runs):
                raise BoundReached(CHECK_WAS_BOUNDED)
            self._settled(block.settle(decisions, self._setting.work, runs))

    def _cases(self, body: Block, index: Mapping[Var, int]) -> tuple[list[Decision], list[LoopRun]]:
        """Traces all cases of one thread block; returns what the block index decided in them."""
        decisions: list[Decision] = []
        runs: list[LoopRun] = []
        for case in Cases(short_first=self._is_bounded):
            try:
                trace, goes_on = self._trace(body, index, case)
            except Contended as found:
                if not self._setting.contend(found.uses):
                    raise
                self._restart()
                return self._cases(body, index)
            if case.given and trace.loops_of_block.runs:
                self._begin_anew()
                return self._cases(body, index)
            decisions += trace.values.decisions
            runs += trace.loops_of_block.runs
            if not goes_on:
                break
        return decisions, runs

    @property
    @abstractmethod
    def _is_clear(self) -> bool:
        """Whether no violation has been found."""

    @property
    def _is_enough(self) -> bool:
        """Whether to stop without tracing further kinds of blocks."""
        return False

    @property
    def _is_bounded(self) -> bool:
        """Whether this is a bounded check: it looks for violations that show early, and proves
        nothing."""
        return False

    @property
    def _is_exhausted(self) -> bool:
        """Whether a bounded check has used up its traces."""
        return False

    def _begin_anew(self) -> None:
        """Prepares to trace all cases of a block again. Loops are then no longer compared with
        those of other blocks, since data decide in them."""
        self._setting.compares_loops = False
        self._restart()

    @abstractmethod
    def _settled(self, blocks: Mapping[Var, np.ndarray]) -> None:
        """Is told the indices of the thread blocks that the traces since the last time were for."""

    @abstractmethod
    def _restart(self) -> None:
        """All cases of a block are traced again."""

    @abstractmethod
    def _any_block(self, body: Block) -> bool:
        """Whether a thread block of unknown index, which stands for all, shows no violation."""

    @abstractmethod
    def _trace(self, body: Block, index: Mapping[Var, int], case: Case) -> tuple[Trace, bool]:
        """Runs a trace and adds its findings; tells, too, whether to trace further cases."""


class Traces(BlockTraces):
    """Traces a kernel under a plan. A `bounded` check stops early, after most violations show."""

    def __init__(self, setting: Setting, *, bounded: bool = False):
        super().__init__(setting)
        self.outcome = TraceOutcome()
        self._left = BOUNDED_TRACES if bounded else None
        if bounded:
            setting.budget = min(setting.budget, LONG)

    @property
    def _is_clear(self) -> bool:
        return self.outcome.is_clear

    @property
    def _is_enough(self) -> bool:
        return self._is_bounded and not self._is_clear

    @property
    def _is_bounded(self) -> bool:
        return self._left is not None

    @property
    def _is_exhausted(self) -> bool:
        return self._left == 0

    def _settled(self, blocks: Mapping[Var, np.ndarray]) -> None:
        """What is wrong with a plan in any block is wrong with it."""

    def _restart(self) -> None:
        self._left = None if self._left is None else BOUNDED_TRACES

    def _any_block(self, body: Block) -> bool:
        before, self.outcome = self.outcome, TraceOutcome()
        try:
            self._cases(body, {})
            return self._is_clear
        except Uncovered:
            return False
        finally:
            self.outcome = before

    def _trace(self, body: Block, index: Mapping[Var, int], case: Case) -> tuple[Trace, bool]:
        if self._left == 0:
            raise BoundReached(CHECK_WAS_BOUNDED)
        self._left = None if self._left is None else self._left - 1
        violations = Violations(self._setting.layout, body)
        trace = Trace(self._setting, violations, index, case)
        try:
            trace.run(body)
        except Infeasible:
            return trace, True
        except Uncovered as reason:
            self.outcome.add(violations)
            if isinstance(reason, Stuck) and trace.values.unknowns.supposes_negative:
                return trace, not violations.found  # it hangs with or without the plan
            if self._is_bounded and trace.steps > LONG:
                raise BoundReached(CHECK_WAS_BOUNDED) from None
            raise
        self.outcome.add(violations)
        return trace, not violations.found  # the other cases cannot make the plan sound
