"""The checker's verdict on a plan as it would be applied, barriers included (rule 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from smemreuse.analysis.barriers import SYNCHRONIZES_LATER, barriers_needed, with_barriers
from smemreuse.checker import check_plan
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.results.sequence import Plan
from smemreuse.results.verdict import Verdict


def judge(kernel: Kernel, plan: Plan) -> Verdict:
    """The verdict on a plan for a kernel that it is yet to be applied to."""
    return judge_offsets(kernel, plan.scope, plan.offsets, plan.arena_bytes, plan.alignments)


def judge_offsets(
    kernel: Kernel,
    scope: str,
    offsets: Mapping[Buffer, int],
    arena: int,
    alignments: Mapping[Buffer, int],
) -> Verdict:
    """As `judge`, of offsets and an arena in bytes.

    TileLang's `ThreadSync` comes behind the merge; in Apache TVM it has run before, and what the
    plan needs comes with it, as the pass and `smemreuse apply` put it in.
    """
    if kernel.dialect in SYNCHRONIZES_LATER:
        return check_plan(kernel, scope, offsets, arena, alignments)
    needed = barriers_needed(kernel, offsets)
    merged = replace(kernel, body=with_barriers(kernel.body, needed))
    verdict = check_plan(merged, scope, offsets, arena, alignments, assume_barriers=False)
    if not needed:
        return verdict
    plural = "s" if len(needed) > 1 else ""
    note = f"{len(needed)} barrier{plural} put in with the plan (rule 6)"
    return replace(verdict, assumptions=(*verdict.assumptions, note))


def judge_with_barriers(
    kernels: Sequence[Kernel], plans: Sequence[Sequence[Plan]]
) -> list[Verdict]:
    """One verdict for each plan of each kernel, in their order, on IR that has its barriers."""
    return [
        check_plan(
            kernel,
            plan.scope,
            plan.offsets,
            plan.arena_bytes,
            plan.alignments,
            assume_barriers=False,
        )
        for kernel, launch in zip(kernels, plans, strict=True)
        for plan in launch
    ]
