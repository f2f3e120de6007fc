"""The checker's verdict on a plan as it would be applied, barriers included (rule 6).

A verdict depends on the kernel, where its buffers lie, how they must be aligned, and what barriers
are there or come. On the kernel as it was read each is reached once and kept with its facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from smemreuse.analysis.barriers import barriers_needed, with_barriers
from smemreuse.checker import check_plan, waits_of, work_of
from smemreuse.checker.budget import Work
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Buffer, Kernel, Stmt
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.versions import version_of

_Bytes = tuple[tuple[Buffer, int], ...]
"""Offsets or alignments of buffers, which then can be a key."""


class Effort(Enum):
    """How far the checker goes on the kernel as it was read."""

    PROOF = "proof"
    """The verdict is final."""

    OPTIMISTIC = "optimistic check"
    """The compiler is taken to insert a barrier wherever it may: for plans that are judged once
    more on the IR that has its barriers."""

    BOUNDED = "bounded check"
    """As optimistic, and for the first statements and cases alone, where most of what is wrong
    shows. What it does not refute is `stopped_early`."""


def judge(kernel: Kernel, plan: Plan, effort: Effort = Effort.PROOF) -> Verdict:
    """The verdict on a plan for a kernel that it is yet to be applied to."""
    places = plan.scope, plan.offsets, plan.arena_bytes, plan.alignments
    return judge_offsets(kernel, *places, effort)


def judge_offsets(
    kernel: Kernel,
    scope: str,
    offsets: Mapping[Buffer, int],
    arena: int,
    alignments: Mapping[Buffer, int],
    effort: Effort = Effort.PROOF,
    most: int | None = None,
) -> Verdict:
    """The verdict of `judge` for a layout given as offsets and arena size in bytes. `most`: units
    of work for it, where they are fewer than for any other.

    Where the compiler synchronizes after the merge, as TileLang does, its barriers are assumed.
    Elsewhere the plan brings the barriers that it needs, as the pass and `smemreuse apply` insert
    them.
    """
    key = (scope, tuple(offsets.items()), arena, tuple(alignments.items()), effort, most)
    return facts_of(kernel).ask(verdict_of_layout, *key)


def barriers_with(kernel: Kernel, offsets: Mapping[Buffer, int]) -> frozenset[Stmt]:
    """The statements before which a plan (bytes) brings a barrier of all threads (rule 6).

    None where a later pass of the compiler sees to it, and where a barrier might keep threads from
    what others wait for, and the checker does not see that (rule 12).
    """
    if version_of(kernel).synchronizes_later:
        return frozenset()
    return facts_of(kernel).ask(barriers_of_layout, tuple(offsets.items()))


def barriers_of_layout(facts: KernelFacts, offsets: _Bytes) -> frozenset[Stmt]:
    """As `barriers_with`, found anew."""
    needed = frozenset(barriers_needed(facts.kernel, dict(offsets)))
    return frozenset() if waits_of(facts.kernel, facts.memory).unseen else needed


def verdict_of_layout(
    facts: KernelFacts,
    scope: str,
    offsets: _Bytes,
    arena: int,
    alignments: _Bytes,
    effort: Effort,
    most: int | None,
) -> Verdict:
    """Computes the verdict of `judge_offsets`, which remembers it."""
    work = work_of(facts.kernel)
    kernel, places, align = facts.kernel, dict(offsets), dict(alignments)
    needed = barriers_with(kernel, places)
    if needed:
        kernel = replace(kernel, body=with_barriers(kernel.body, needed))
    verdict = check_plan(
        kernel,
        scope,
        places,
        arena,
        align,
        assume_barriers=version_of(kernel).synchronizes_later,
        accesses=facts_of(kernel).memory,
        work=work if most is None else Work(most, work),
        bounded=effort is Effort.BOUNDED,
        optimistic=effort is not Effort.PROOF,
    )
    if not needed:
        return verdict
    plural = "s" if len(needed) > 1 else ""
    note = f"{len(needed)} barrier{plural} put in with the plan (rule 6)"
    return replace(verdict, assumptions=(*verdict.assumptions, note))


def judge_as_it_is(kernel: Kernel, plan: Plan) -> Verdict:
    """The verdict on a plan for a kernel that has all the barriers that it will ever have."""
    return check_plan(
        kernel,
        plan.scope,
        plan.offsets,
        plan.arena_bytes,
        plan.alignments,
        assume_barriers=False,
        accesses=facts_of(kernel).memory,
    )


def held_before(kernel: Kernel, plan: Plan, verdict: Verdict) -> Verdict:
    """A verdict that was reached with all barriers in, for a plan of `kernel`, which lacks those
    that are put in for it.

    Where threads may wait, and no trace shows for what, such a barrier may keep others from that
    (rule 12): then the plan has to hold without it as well.
    """
    if (
        not verdict.sound
        or not plan.sharing_pairs()
        or not waits_of(kernel, facts_of(kernel).memory).unseen
    ):
        return verdict
    before = judge(kernel, plan)
    if before.sound:
        return verdict
    why, pairs = (before.first_finding,), before.open_pairs
    return replace(verdict, verdict=UNPROVED, uncovered=why, open_pairs=pairs)


def judge_with_barriers(
    kernels: Sequence[Kernel], plans: Sequence[Sequence[Plan]]
) -> list[Verdict]:
    """One verdict for each plan of each kernel, in their order, on IR that has its barriers."""
    return [
        judge_as_it_is(kernel, plan)
        for kernel, launch in zip(kernels, plans, strict=True)
        for plan in launch
    ]
