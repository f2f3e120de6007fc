"""Explains what the compilations of a script shared, and why other pairs of buffers do not."""

from __future__ import annotations

from itertools import combinations

from smemreuse.explainer.apart import UNNEEDED
from smemreuse.explainer.pairs import BufferPair, Explainer
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.results.explanation import ArenaSharing, Explanation, Unneeded
from smemreuse.results.run import RunKernel, RunPlan


def run_kernel(
    lowered: LoweredKernel, title: str | None = None, *, linted: bool = True
) -> RunKernel:
    """Explains the plans of one kernel; `title` is by default its name.

    With `linted` the record has the kernel's own hazards too.
    """
    if lowered.name_sources is not None:
        lowered.name_sources()
    plans = []
    for applied in lowered.plans:
        scope = applied.plan.scope
        stock, verdict = lowered.stock_plan(scope), lowered.stock_verdict(scope)
        sharing = sharing_of(applied)
        plans.append(
            RunPlan(applied.plan, applied.verdict, applied.rejected, sharing, stock, verdict)
        )
    return RunKernel(
        title or lowered.kernel.name,
        lowered.kernel,
        lowered.footprint(),
        tuple(plans),
        lowered.lint() if linted and lowered.lint is not None else None,
        lowered.mending,
        lowered.stock.compiler,
        lowered.elaboration,
    )


def sharing_of(applied: AppliedPlan) -> ArenaSharing:
    """Every pair of members of a plan's arena, explained where they do not share."""
    plan = applied.plan
    explainer = Explainer(applied.kernel, plan.scope)
    names = explainer.names
    members = [one for one in plan.buffers if one in plan.offsets or one in plan.symbolic_offsets]
    shared, refused, unneeded = [], [], []
    for pair in sorted(combinations(members, 2), key=_could_save, reverse=True):
        overlap = plan.shared_bytes(*pair)
        if overlap:
            shared.append(((names[pair[0]], names[pair[1]]), overlap))
            continue
        found = explainer.pair(pair)
        if found.may_share:
            unneeded.append(Unneeded(found, _why_unneeded(applied, found)))
        else:
            refused.append(found)
    return ArenaSharing(tuple(shared), tuple(refused), tuple(unneeded))


def _could_save(pair: BufferPair) -> int:
    """Bytes that a pair would take once instead of twice."""
    return min(buffer.size or 0 for buffer in pair)


def _why_unneeded(applied: AppliedPlan, found: Explanation) -> str:
    """Why a pair that may share does not: the objective, the packer, or what else decides."""
    plan = applied.plan
    if applied.rejected:
        return "the tighter plan was not proved"
    if plan.objective == "none":
        return UNNEEDED["none"]
    adds = " that adds a resident block or leaves more to L1" if plan.objective == "speed" else ""
    if plan.policy == "outer" and found.outer:
        return "policy outer keeps them apart"
    if plan.policy != "dataflow":
        return f"policy {plan.policy} found no place{adds}"
    if plan.packer != "best":
        return f"packer {plan.packer} found no place{adds}"
    return UNNEEDED[plan.objective]
