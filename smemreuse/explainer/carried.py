"""Plans on their way from the process that applied them to one that shows them.

What is carried names no statement: the other process reads the kernel itself, from its dump.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.analysis.linearize import linearize
from smemreuse.errors import PlanError
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.expr import Expr, Var, format_expr
from smemreuse.ir.kernel import Buffer, Kernel, unique_names
from smemreuse.pipeline.judging import judge
from smemreuse.policies.attribution import inner
from smemreuse.results.carried import CarriedBuffer, CarriedPlan, ScopePlans, Taken
from smemreuse.results.overview import Overview
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import LiveRange
from smemreuse.results.verdict import Judged, Verdict
from smemreuse.targets.architectures import architecture_for
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.residents import blocks_of


def carried(kernel: Kernel, plan: Plan, verdict: Verdict) -> CarriedPlan:
    """A kernel's plan, and the verdict on it, without the kernel."""
    buffers = kernel.allocations(plan.scope)
    names = unique_names(buffers)
    spans = timeline_of(kernel, plan.scope).spans(plan)
    return CarriedPlan(
        scope=plan.scope,
        provenance=plan.provenance,
        verdict=verdict,
        buffers=tuple(
            CarriedBuffer(
                names[one], one.size, plan.alignments[one], _offset(plan, one), spans.get(one)
            )
            for one in buffers
        ),
        arena=_taken(kernel, plan),
        lower_bound_bytes=plan.lower_bound_bytes,
        proved=plan.proved,
        side_by_side=_taken(kernel, side_by_side(kernel, plan.scope)),
    )


def carried_unmerged(kernel: Kernel, scope: str) -> CarriedPlan:
    """A scope in which nothing was merged: its buffers side by side."""
    plan = side_by_side(kernel, scope)
    return carried(kernel, plan, judge(kernel, plan))


def _offset(plan: Plan, buffer: Buffer) -> int | str | None:
    symbolic = plan.symbolic_offsets.get(buffer)
    return plan.offsets.get(buffer) if symbolic is None else format_expr(symbolic)


def _taken(kernel: Kernel, plan: Plan) -> Taken:
    arch, _ = architecture_for(kernel, None)
    memory = block_memory(kernel, [plan])
    text = None if plan.arena_expr is None else format_expr(plan.arena_expr)
    blocks = blocks_of(kernel, [plan], arch, by_registers=False)
    return Taken(plan.arena_bytes, text, blocks, memory.fits(arch))


def placed(kernel: Kernel, found: CarriedPlan) -> Judged:
    """A carried plan on its kernel, read anew.

    Raises `PlanError` where that has other buffers, or another sequence.
    """
    entries = linearize(kernel, found.scope, inner).entries
    buffers = kernel.allocations(found.scope)
    if [one.size for one in buffers] != [one.size for one in found.buffers]:
        raise PlanError(f"{kernel.name} has other buffers in its dump than it was lowered with")
    both = [*zip(buffers, found.buffers, strict=True)]
    live = {one: LiveRange(one, *carried.live) for one, carried in both if carried.live is not None}
    if any(one.end > len(entries) for one in live.values()):
        raise PlanError(f"{kernel.name} has other statements in its dump than it was lowered with")
    plan = Plan(
        scope=found.scope,
        provenance=found.provenance,
        buffers=buffers,
        alignments={one: carried.alignment for one, carried in both},
        live=live,
        offsets={one: each.offset for one, each in both if isinstance(each.offset, int)},
        symbolic_offsets={
            one: _parsed(each.offset) for one, each in both if isinstance(each.offset, str)
        },
        arena_bytes=found.arena.bytes,
        arena_expr=None if found.arena.text is None else _parsed(found.arena.text),
        lower_bound_bytes=found.lower_bound_bytes,
        proved=found.proved,
        entries=entries,
    )
    return plan, found.verdict


def carried_overview(kernel: Kernel, found: ScopePlans) -> Overview:
    """What a page shows of a scope: its plans as they were carried, and every pair.

    Raises as `placed`.
    """
    plans = {name: placed(kernel, one) for name, one in found.plans.items()}
    return replace(overview(kernel, found.scope, plans), before=found.before)


def _parsed(text: str) -> Expr:
    """An expression that stands for a text; only its text is used."""
    return Var(text)
