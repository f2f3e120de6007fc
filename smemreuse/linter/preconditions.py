"""What a sound plan of a kernel rests on: what lint proves of the kernel itself, and what not."""

from __future__ import annotations

from smemreuse.audit import BarrierStage
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.linter.linter import lint
from smemreuse.results.preconditions import Grounds


def grounds_of(kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO) -> Grounds:
    """What lint finds of a kernel, found out once; beyond its budget it is unknown, and told so."""
    return facts_of(kernel).ask(_grounds, barriers)


def _grounds(facts: KernelFacts, barriers: BarrierStage) -> Grounds:
    return Grounds(lint(facts.kernel, barriers))
