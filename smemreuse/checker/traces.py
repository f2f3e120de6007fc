"""The traces of one check: one for each kind of thread block, and each case of what data decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.checker.blocks import kinds_of_blocks
from smemreuse.checker.cases import Cases
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Finding
from smemreuse.checker.loop_runs import LoopRun
from smemreuse.checker.setting import Setting
from smemreuse.checker.trace import Trace
from smemreuse.checker.values import Decision
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

ONLY_GLANCED = "there is more to follow than was looked at"


@dataclass
class Outcome:
    """What traces have found, and which writes leave their buffers."""

    findings: dict[tuple[Rule, frozenset[str]], Finding] = field(default_factory=dict)
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


class Traces:
    """Traces a kernel under a plan; `glancing`, only so far as most of what is wrong is seen."""

    def __init__(self, setting: Setting, *, glancing: bool = False):
        self.outcome = Outcome()
        self._setting = setting
        self._left = GLANCE if glancing else None

    def run(self, body: Block) -> None:
        """For every thread block. Raises `Uncovered`, with what has been found until then.

        Where there are many kinds of blocks, one of which the index is not known may do for them
        all: what its index decides goes both ways then, or is a case. If something is wrong with
        the first few, the plan is not sound whatever the others do.
        """
        has_tried = False
        for number, block in enumerate(kinds_of_blocks(body)):
            if self._left is not None and not self.outcome.is_clear:
                return
            seems_many = number >= FEW_KINDS and block.kinds_if_alike(number) > MANY_KINDS
            if seems_many and not has_tried:
                has_tried = True
                if not self.outcome.is_clear or self._any_block(body):
                    return
            if number == MAX_KINDS:
                raise Uncovered(f"more than {MAX_KINDS} kinds of thread blocks")
            decisions, runs = self._cases(body, block.index, self.outcome)
            block.settle(decisions, self._setting.work, runs)

    def _any_block(self, body: Block) -> bool:
        """Whether nothing is wrong with a thread block of which the index is not known."""
        outcome = Outcome()
        try:
            self._cases(body, {}, outcome)
        except Uncovered:
            return False
        return outcome.is_clear

    def _cases(
        self, body: Block, index: Mapping[Var, int], outcome: Outcome
    ) -> tuple[list[Decision], list[LoopRun]]:
        """What the block index has decided in all cases of one thread block."""
        decisions: list[Decision] = []
        runs: list[LoopRun] = []
        for case in Cases():
            if self._left == 0:
                raise Uncovered(ONLY_GLANCED)
            self._left = None if self._left is None else self._left - 1
            trace = Trace(self._setting, index, case)
            try:
                trace.run(body)
            finally:
                outcome.add(trace)
            if case.given and trace.loops_of_block.runs:
                self._setting.compares_loops = False
                self._left = None if self._left is None else GLANCE
                return self._cases(body, index, outcome)
            decisions += trace.values.decisions
            runs += trace.loops_of_block.runs
            if trace.findings.found:
                break  # it is not sound, whatever the other cases show
        return decisions, runs
