"""How many registers of a thread will be spilled, before ptxas has said it."""

from __future__ import annotations

from smemreuse.advisor.instructions import multiplication
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.ir.launch import least_blocks
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import effect_of, evaluated_call
from smemreuse.targets.architectures import WARP, most_registers
from smemreuse.targets.registers import handed_over, live_registers


def spilled_registers(kernel: Kernel, threads: int) -> int:
    """Registers of each of a block's so many threads that are spilled.

    Where TileLang hands registers from the threads that load to those that compute, these have
    more than they were launched with.
    """
    most = most_registers(threads, least_blocks(kernel.body))
    most = max(most, handed_over(kernel, threads) or 0)
    return spilled(kernel, live_registers(kernel) - most)


def spilled(kernel: Kernel, missing: int) -> int:
    """Registers that are spilled if `missing` of them do not fit.

    A wgmma keeps its whole accumulator in registers. So whole accumulators are spilled, and one
    more to swap with.
    """
    if missing <= 0:
        return 0
    unit = max(1, facts_of(kernel).ask(_accumulator))
    return (-(-missing // unit) + (unit > 1)) * unit


def _accumulator(facts: KernelFacts) -> int:
    """Registers of the largest accumulator that one wgmma writes; 0 without one."""
    largest = 0
    for stmt in walk_statements(facts.kernel.body):
        call = evaluated_call(stmt)
        effect = effect_of(call) if call is not None else None
        if call is None or effect is None or effect.engine is not Engine.WGMMA:
            continue
        product = multiplication(call, effect.product) if effect.product else None
        if product is not None:
            largest = max(largest, product.m * product.n // (4 * WARP))
    return largest
