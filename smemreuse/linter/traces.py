"""The traces of a kernel of itself: all kinds of thread blocks, all cases of what data decide."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.checker.blocks import kinds_of_blocks
from smemreuse.checker.cases import Cases
from smemreuse.checker.errors import Stuck, Uncovered
from smemreuse.checker.setting import Setting
from smemreuse.checker.trace import Trace
from smemreuse.checker.traces import FEW_KINDS, MANY_KINDS, MAX_KINDS
from smemreuse.checker.values import Decision
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block
from smemreuse.linter.collected import Known
from smemreuse.linter.hazards import Hazards


def trace_all(setting: Setting, known: Known, body: Block) -> None:
    """Traces a kernel for every thread block; what is found is in `known`. Raises `Uncovered`.

    Where there are many kinds of blocks, one of which the index is not known may do for them all.
    """
    has_tried = False
    for number, block in enumerate(kinds_of_blocks(body)):
        seems_many = number >= FEW_KINDS and block.kinds_if_alike(number) > MANY_KINDS
        if seems_many and not has_tried:
            has_tried = True
            if known.hazards or _any_block(setting, known, body):
                return
        if number == MAX_KINDS:
            raise Uncovered(f"more than {MAX_KINDS} kinds of thread blocks")
        block.settle(_cases(setting, body, block.index), setting.work)


def _any_block(setting: Setting, known: Known, body: Block) -> bool:
    """Whether nothing is wrong with a thread block of which the index is not known."""
    before = dict(known.hazards)
    try:
        _cases(setting, body, {})
    except Uncovered:
        known.hazards = before
        return False
    is_clear = len(known.hazards) == len(before)
    known.hazards = before
    return is_clear


def _cases(setting: Setting, body: Block, index: Mapping[Var, int]) -> list[Decision]:
    decisions: list[Decision] = []
    for case in Cases():
        trace = Trace(setting, index, case)
        assert isinstance(trace.findings, Hazards)
        trace.findings.block = index
        try:
            trace.run(body)
        except Stuck:
            trace.findings.stuck()
            raise
        trace.findings.ends()
        trace.findings.still_read(trace.state.engines)
        decisions += trace.values.decisions
    return decisions
