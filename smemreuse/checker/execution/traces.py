"""The traces of one check: one for each kind of thread block, and each case of what data decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.checker.errors import BoundReached, Uncovered
from smemreuse.checker.execution.blocks import kinds_of_blocks
from smemreuse.checker.execution.cases import Cases
from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.loops.loop_runs import LoopRun
from smemreuse.checker.machine.findings import PairFinding
from smemreuse.checker.values.evaluation import Decision
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block, Buffer
from smemreuse.results.rules import Rule

FEW_KINDS = 4
"""Kinds of thread blocks that are tried before it is guessed how many there are."""

MANY_KINDS = 16
"""Kinds of thread blocks; of more it is tried to tell none apart."""

MAX_KINDS = 128

GLANCE = 2
"""Traces of which a glance consists: one in which all that data decide holds, one in which none of
it does. What is wrong shows there most of the time."""

LONG = 2_000
"""Statements of a trace after which a glance has seen enough."""

ONLY_GLANCED = "there is more to follow than was looked at"


@dataclass
class TraceOutcome:
    """What traces have found, and which writes leave their buffers."""

    findings: dict[tuple[Rule, frozenset[str]], PairFinding] = field(default_factory=dict)
    left: dict[Buffer, str] = field(default_factory=dict)

    def add(self, trace: Trace) -> None:
        """The findings of a trace; a certain one comes before those that are not."""
        self.left = {**trace.findings.left, **self.left}
        for key, finding in trace.findings.found.items():
            if key not in self.findings or finding.certain:
                self.findings[key] = finding

    @property
    def is_clear(self) -> bool:
        """Whether there is nothing wrong."""
        return not self.findings and not self.left


class BlockTraces(ABC):
    """Traces a kernel for every kind of thread block, in every case of what data decide."""

    def __init__(self, setting: Setting):
        self._setting = setting

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
                if not self._is_clear or self._any_block(body):
                    return
            if number == MAX_KINDS:
                raise Uncovered(f"more than {MAX_KINDS} kinds of thread blocks")
            decisions, runs = self._cases(body, block.index)
            if self._is_enough:
                return
            if self._has_seen_enough and (decisions or runs):
                raise BoundReached(ONLY_GLANCED)
            block.settle(decisions, self._setting.work, runs)

    def _cases(self, body: Block, index: Mapping[Var, int]) -> tuple[list[Decision], list[LoopRun]]:
        """What the block index has decided in all cases of one thread block."""
        decisions: list[Decision] = []
        runs: list[LoopRun] = []
        for case in Cases(short_first=self._is_glance):
            trace = Trace(self._setting, index, case)
            goes_on = self._trace(trace, body, index)
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
        """Whether nothing wrong has been found."""

    @property
    def _is_enough(self) -> bool:
        """Whether no further kind of blocks is asked about."""
        return False

    @property
    def _is_glance(self) -> bool:
        """Whether it is only looked for what is wrong, where that is soon found."""
        return False

    @property
    def _has_seen_enough(self) -> bool:
        """Whether a glance asks for no other kinds of blocks."""
        return False

    def _begin_anew(self) -> None:
        """The cases of a block are traced once more, from the first one on, and loops not compared
        with those of other blocks: data decide in them."""
        self._setting.compares_loops = False

    @abstractmethod
    def _any_block(self, body: Block) -> bool:
        """Whether nothing is wrong with a thread block of which the index is not known."""

    @abstractmethod
    def _trace(self, trace: Trace, body: Block, index: Mapping[Var, int]) -> bool:
        """Runs a trace and takes in what it finds; whether further cases are asked about."""


class Traces(BlockTraces):
    """Traces a kernel under a plan; `glancing`, only so far as most of what is wrong is seen."""

    def __init__(self, setting: Setting, *, glancing: bool = False):
        super().__init__(setting)
        self.outcome = TraceOutcome()
        self._left = GLANCE if glancing else None
        if glancing:
            setting.budget = min(setting.budget, LONG)

    @property
    def _is_clear(self) -> bool:
        return self.outcome.is_clear

    @property
    def _is_enough(self) -> bool:
        return self._is_glance and not self._is_clear

    @property
    def _is_glance(self) -> bool:
        return self._left is not None

    @property
    def _has_seen_enough(self) -> bool:
        return self._left == 0

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._left = None if self._left is None else GLANCE

    def _any_block(self, body: Block) -> bool:
        before, self.outcome = self.outcome, TraceOutcome()
        try:
            self._cases(body, {})
            return self._is_clear
        except Uncovered:
            return False
        finally:
            self.outcome = before

    def _trace(self, trace: Trace, body: Block, index: Mapping[Var, int]) -> bool:
        if self._left == 0:
            raise BoundReached(ONLY_GLANCED)
        self._left = None if self._left is None else self._left - 1
        try:
            trace.run(body)
        except Uncovered:
            if self._is_glance and trace.steps > LONG:
                raise BoundReached(ONLY_GLANCED) from None
            raise
        finally:
            self.outcome.add(trace)
        return not trace.findings.found  # it is not sound, whatever the other cases show
