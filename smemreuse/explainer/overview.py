"""Gathers what a report shows of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from smemreuse.explainer.pairs import Explainer
from smemreuse.explainer.plans import judged_plans, side_by_side
from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.results.overview import Overview
from smemreuse.results.plan import Plan
from smemreuse.results.run import RunKernel
from smemreuse.results.verdict import Judged


def overview(
    kernel: Kernel,
    scope: str,
    plans: Mapping[str, Judged],
    remarks: Mapping[str, str] | None = None,
    *,
    most: int | None = None,
) -> Overview:
    """One kernel and scope under `plans`, which must all be of it. Of pairs that share in none of
    them the checker is asked, which takes most of the time: of all, or as in `Explainer.pair`."""
    return Overview(
        plans,
        side_by_side(kernel, scope),
        timeline_of(kernel, scope),
        tuple(Explainer(kernel, scope, plans.values()).pairs(most)),
        remarks or {},
    )


def map_of(kernel: Kernel, plan: Plan) -> Overview:
    """What a map of one plan needs: no pairs, and no other plans."""
    unshared, timeline = side_by_side(kernel, plan.scope), timeline_of(kernel, plan.scope)
    return Overview({plan.policy: (plan, judge(kernel, plan))}, unshared, timeline, ())


def run_overviews(run: RunKernel, packer: str, objective: str) -> Iterator[tuple[str, Overview]]:
    """Each shared scope of a compiled kernel, with an overview of its plans.

    For a merged scope the plans are, in order: the compiler's own, one for each policy, and the one
    that was applied. Only the last is made for `objective`; the policies' plans are made for the
    fewest bytes, so that they can be compared.
    """
    merged = {each.plan.scope: each for each in run.plans}
    for scope in run.kernel.shared_scopes():
        plans = judged_plans(run.kernel, scope, packer, "bytes")
        applied, remarks, before = merged.get(scope), {}, None
        if applied is not None:
            stock = (applied.stock, applied.stock_verdict)
            note = f"applied for objective `{objective}`; the others are planned for `bytes`"
            remarks["applied"] = note
            made = (applied.plan, applied.verdict)
            before = f"{run.compiler}'s own"
            plans = {before: stock, **plans, "applied": made}
        yield scope, replace(overview(run.kernel, scope, plans, remarks), before=before)
