"""The plan of the dataflow rules alone, before the checker has said a word."""

from __future__ import annotations

from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.starts import Start, plan_from
from smemreuse.results.plan import Plan


def plan_of_the_rules(kernel: Kernel, scope: str) -> Plan:
    """It holds by itself: the search takes it, inside a compiler, without a proof on the dump."""
    return facts_of(kernel).ask(plan_from, scope, Start.DATAFLOW, "best", frozenset())
