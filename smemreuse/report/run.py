"""What a script's compilations shared, what they gained by it, and what was refused and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smemreuse.explain.explainer import Explainer, Explanation
from smemreuse.ir.kernel import Buffer
from smemreuse.pipeline.lowered import AppliedPlan, KernelFootprint, LoweredKernel
from smemreuse.report.columns import NUMBER, TEXT, WORD, FittingTable
from smemreuse.report.data import Data, Subject, placement_data, plan_entry, subjects
from smemreuse.report.verdicts import first_finding, refusal, verdict_data, verdict_text
from smemreuse.report.view import judged_plans, kernel_view
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin
from smemreuse.results.verdict import UNSOUND, Verdict

MAX_REFUSED = 5
"""Refused pairs of a plan that are listed for people; JSON has all."""


@dataclass(frozen=True)
class Sharing:
    """The pairs of an arena's buffers: which overlap, in how many bytes, and why others do not.

    `refused` are pairs that must not share, or were not proved to, those first where sharing would
    have saved most. `unneeded` might share; the objective has no use for it, or no place.
    """

    shared: tuple[tuple[tuple[str, str], int], ...]
    refused: tuple[Explanation, ...]
    unneeded: tuple[Explanation, ...]


@dataclass(frozen=True)
class RunPlan:
    """An applied plan and its sharing, and the plan that TileLang would have applied instead."""

    applied: AppliedPlan
    sharing: Sharing
    stock: Plan
    stock_verdict: Verdict


@dataclass(frozen=True)
class RunKernel:
    """One kernel of a run, with all that is told of it: an item of `plans` for each plan.

    `title` is its name, made distinct where several kernels of the run have it.
    """

    title: str
    lowered: LoweredKernel
    footprint: KernelFootprint
    plans: tuple[RunPlan, ...]


def run_kernel(lowered: LoweredKernel, title: str | None = None) -> RunKernel:
    """Explains the plans of one kernel; `title` is by default its name."""
    plans = []
    for applied in lowered.plans:
        scope = applied.plan.scope
        stock, verdict = lowered.stock_plan(scope), lowered.stock_verdict(scope)
        plans.append(RunPlan(applied, sharing_of(applied), stock, verdict))
    return RunKernel(title or lowered.kernel.name, lowered, lowered.footprint(), tuple(plans))


def sharing_of(applied: AppliedPlan) -> Sharing:
    """Every pair of members of a plan's arena, explained where they do not share."""
    plan = applied.plan
    explainer = Explainer(applied.kernel, plan.scope)
    names = explainer.names
    members = [one for one in plan.buffers if one in plan.offsets or one in plan.symbolic_offsets]
    pairs = sorted(combinations(members, 2), key=_could_save, reverse=True)
    shared, apart = [], []
    for one, two in pairs:
        overlap = plan.shared_bytes(one, two)
        if overlap:
            shared.append(((names[one], names[two]), overlap))
        else:
            apart.append(explainer.pair((one, two)))
    refused = tuple(each for each in apart if not each.may_share)
    return Sharing(tuple(shared), refused, tuple(each for each in apart if each.may_share))


def _could_save(pair: tuple[Buffer, Buffer]) -> int:
    """Bytes that a pair would take once instead of twice."""
    return min(buffer.size or 0 for buffer in pair)


def run_views(script: str, kernel: RunKernel, packer: str, objective: str) -> Iterator[Data]:
    """A kernel's shared scopes for the report page: beside the policies, what was applied.

    Where a scope was merged, there is TileLang's own plan before the policies and the plan that
    went into the kernel behind them. That alone was made for `objective`: among plans for the
    fewest bytes the policies can be compared.
    """
    by_scope = {each.applied.plan.scope: each for each in kernel.plans}
    for subject in subjects(script, [kernel.lowered.kernel]):
        if not subject.has_buffers:
            continue
        plans = judged_plans(subject, packer, "bytes")
        merged = by_scope.get(subject.scope)
        if merged is not None:
            stock = (merged.stock, merged.stock_verdict)
            applied = (merged.applied.plan, merged.applied.verdict)
            plans = {"TileLang's own": stock, **plans, "applied": applied}
        note = f"applied for objective `{objective}`; the others are planned for `bytes`"
        yield {**kernel_view(subject, plans, remarks={"applied": note}), "name": kernel.title}


def run_entry(script: str, kernel: RunKernel) -> Data:
    """One kernel of `smemreuse.run/1`."""
    return {
        **asdict(kernel.footprint),
        "plans": [_plan_data(script, each) for each in kernel.plans],
    }


def _plan_data(script: str, found: RunPlan) -> Data:
    applied, sharing, plan = found.applied, found.sharing, found.applied.plan
    return {
        **plan_entry(Subject(script, applied.kernel, plan.scope), plan),
        **verdict_data(applied.verdict),
        "before": _layout_data(found.stock, found.stock_verdict),
        "shared": [{"buffers": list(names), "bytes": size} for names, size in sharing.shared],
        "not_shared": [_pair_data(each) for each in (*sharing.refused, *sharing.unneeded)],
        "rejected": [_layout_data(*rejected) for rejected in applied.rejected],
    }


def _layout_data(plan: Plan, verdict: Verdict) -> Data:
    """A plan that was not applied: what it was made with, where it puts what, and its verdict."""
    options = {"policy": plan.policy, "packer": plan.packer, "objective": plan.objective}
    return {**options, **placement_data(plan), **verdict_data(verdict)}


def _pair_data(found: Explanation) -> Data:
    return {
        "buffers": list(found.names),
        "may_share": found.may_share,
        "reasons": _reasons(found),
        "verdict": found.verdict.verdict,
    }


def _reasons(found: Explanation) -> list[str]:
    """What forbids a pair to share; the checker may forbid what no static rule does."""
    if found.reasons or found.may_share:
        return list(found.reasons)
    return [first_finding(found.verdict)]


def run_table(out: Console, kernels: Sequence[RunKernel], objective: str) -> Table:
    """A row for each kernel: bytes and blocks per SM before and after, verdict, shared pairs."""
    merges = f"TileLang's own merge, and smemreuse's for objective `{objective}`"
    table = FittingTable(
        out,
        f"Shared memory of each block, in bytes: {merges}",
        ("kernel", TEXT),
        ("arch", WORD),
        ("before", NUMBER),
        ("after", NUMBER),
        ("limit", NUMBER),
        ("blocks per SM", NUMBER),
        ("verdict", WORD),
        ("sharing bytes", TEXT),
    )
    for kernel in kernels:
        took = kernel.footprint
        pairs = (names for each in kernel.plans for names, _ in each.sharing.shared)
        verdicts = Text("\n").join(verdict_text(each.applied.verdict) for each in kernel.plans)
        blocks = f"{_number(took.blocks_before)} -> {_number(took.blocks_after)}"
        sizes = map(_number, (took.bytes_before, took.bytes_after, took.limit))
        table.add_row(
            *map(Text, (kernel.title, took.arch or "-", *sizes, blocks)),
            verdicts or Text("-"),
            Text(", ".join(f"{one}+{two}" for one, two in pairs) or "-"),
        )
    return table


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def run_lines(kernel: RunKernel) -> Iterator[Text]:
    """What was refused in one kernel and why, a line for each; nothing where nothing was."""
    name = kernel.title
    if kernel.footprint.fits is False:
        yield Text(f"{name}: does not fit on {kernel.footprint.arch}")
    for each in kernel.plans:
        applied, sharing = each.applied, each.sharing
        where = f"{name} ({applied.plan.scope})"
        if each.stock_verdict.verdict == UNSOUND:
            why = first_finding(each.stock_verdict)
            yield Text(f"{where}: TileLang's own merge is unsound: {why}")
        for plan, verdict in applied.rejected:
            size = f"{plan.policy}'s plan of {plan.arena_bytes:,} bytes"
            yield Text(f"{where}: {size} was {refusal(verdict)}")
        for found in sharing.refused[:MAX_REFUSED]:
            one, two = found.names
            yield Text(f"{where}: {one} and {two} do not share: {_reasons(found)[0]}")
        if len(sharing.refused) > MAX_REFUSED:
            yield Text(f"{where}: ... and {len(sharing.refused) - MAX_REFUSED} more pairs refused")
        for line in _unneeded(applied, sharing.unneeded):
            yield Text(f"{where}: {line}")


def _unneeded(applied: AppliedPlan, found: Sequence[Explanation]) -> Iterator[str]:
    """Why pairs do not share that could: those with a cause in common on one line."""
    by_cause: dict[str, list[str]] = {}
    for one in found:
        by_cause.setdefault(_why_unneeded(applied, one), []).append("+".join(one.names))
    for cause, pairs in by_cause.items():
        more = f" and {len(pairs) - MAX_REFUSED} more" if len(pairs) > MAX_REFUSED else ""
        yield f"{', '.join(pairs[:MAX_REFUSED])}{more} could share; {cause}"


def _why_unneeded(applied: AppliedPlan, found: Explanation) -> str:
    """The objective is to blame only for what was planned with nothing else in the way."""
    plan = applied.plan
    if applied.rejected:
        return "the tighter plan was not proved"
    if plan.objective == "none":
        return "nothing is reused: it is switched off"
    adds = " that adds a resident block" if plan.objective == "occupancy" else ""
    if plan.policy == "outer" and found.outer:
        return "policy outer keeps them apart"
    if plan.policy != "dataflow":
        return f"policy {plan.policy} found no place{adds}"
    if plan.packer != "best":
        return f"packer {plan.packer} found no place{adds}"
    if (
        plan.objective == "occupancy"
        and found.settled
        and plan.provenance.origin is not Origin.TRACED
    ):
        return (
            "the kernel's concurrent arms would have to wait for each other, which objective "
            "`bytes` accepts, and `occupancy` only where the kernel does not fit otherwise"
        )
    return {
        "occupancy": "sharing them adds no resident block",
        "bytes": "the arena is no smaller with them",
    }[plan.objective]
