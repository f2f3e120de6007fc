"""All that a report shows of one kernel, as plain JSON-ready data.

Whatever draws it, a page or a terminal, needs no analysis and no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from smemreuse.explain.explainer import Explainer, Explanation
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Buffer
from smemreuse.ir.labels import entry_label, label
from smemreuse.pipeline.choice import compare_policies
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.data import (
    Data,
    Subject,
    arena_data,
    buffers_data,
    gap_text,
    heading,
    placement_data,
)
from smemreuse.report.provenance import notes
from smemreuse.report.timeline import Band, Mark, Range, Timeline
from smemreuse.report.verdicts import verdict_data
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import (
    ARCHITECTURES,
    DEFAULT_ARCH,
    Architecture,
    target_architecture,
    threads_of,
)
from smemreuse.targets.blocks import block_memory

Judged = tuple[Plan, Verdict]


def judged_plans(
    subject: Subject, packer: str, objective: str, arch: Architecture | None = None
) -> dict[str, Judged]:
    """The plan of each policy, by its name, and the checker's verdict on it."""
    found = compare_policies(subject.kernel, subject.scope, packer, objective, arch)
    return {policy: (each.plan, each.verdict) for policy, each in found.items()}


def side_by_side(subject: Subject) -> Plan:
    """The plan that shares nothing, of the buffers that are used."""
    return plan_kernel(subject.kernel, subject.scope, policy="outer", objective="none")


def kernel_view(
    subject: Subject,
    plans: Mapping[str, Judged],
    arch: Architecture | None = None,
    remarks: Mapping[str, str] | None = None,
) -> Data:
    """One kernel and scope: its program order, its buffers, plans by name, and every pair.

    Positions count the entries of policy inner's linear sequence, for every plan; sizes, offsets
    and arenas are bytes; `blocks` are resident on one SM as far as shared memory and threads go.
    `blocks`, `fits` and the bytes beside the arena are None where a size, or for blocks the number
    of threads, is symbolic. `remarks` come before the notes of the plan that they are for.
    """
    known = arch or target_architecture(subject.kernel)
    arch = known or ARCHITECTURES[DEFAULT_ARCH]
    timeline = Timeline(subject.kernel, subject.scope)
    some_plan, _ = next(iter(plans.values()))
    apart = side_by_side(subject)
    return {
        **heading(subject),
        "arch": {
            "name": arch.name,
            "assumed": known is None,
            "per_block": arch.per_block,
            "per_sm": arch.per_sm,
        },
        "threads": threads_of(subject.kernel),
        "beside_the_arena": _beside(subject, apart),
        "steps": [
            {
                "text": entry_label(step.stmt, step.is_end),
                "depth": step.depth,
                "line": step.stmt.line,
                "touches": {
                    timeline.names[buffer]: access.value for buffer, access in step.touches.items()
                },
            }
            for step in timeline.steps
        ],
        "bands": [_band(band) for band in timeline.bands],
        "marks": [_mark(mark) for mark in timeline.marks],
        "buffers": buffers_data(subject, some_plan),
        "side_by_side": {
            "bytes": apart.arena_bytes,
            **arena_data(apart),
            **_residents(subject, apart, arch),
        },
        "policies": {
            name: {
                **_plan(plan, verdict, timeline, (remarks or {}).get(name)),
                **_residents(subject, plan, arch),
            }
            for name, (plan, verdict) in plans.items()
        },
        "pairs": [_pair(found) for found in Explainer(subject.kernel, subject.scope).pairs()],
    }


def _residents(subject: Subject, plan: Plan, arch: Architecture) -> Data:
    """Whether a kernel under one plan fits, and its blocks per SM."""
    memory = block_memory(subject.kernel, [plan])
    blocks = memory.blocks(arch, threads_of(subject.kernel))
    return {"blocks": blocks, "fits": memory.fits(arch)}


def _beside(subject: Subject, plan: Plan) -> int | None:
    """Bytes that a block takes on top of the arena of a plan, padding included."""
    return block_memory(subject.kernel, [replace(plan, arena_bytes=0, arena_expr=None)]).total


def _band(band: Band) -> Data:
    return {
        "kind": band.kind,
        "begin": band.begin,
        "end": band.end,
        "depth": band.depth,
        "text": label(band.stmt),
        "line": band.stmt.line,
    }


def _mark(mark: Mark) -> Data:
    return {
        "kind": mark.kind,
        "position": mark.position,
        "text": label(mark.stmt),
        "line": mark.stmt.line,
    }


def _plan(plan: Plan, verdict: Verdict, timeline: Timeline, remark: str | None) -> Data:
    ranges = timeline.ranges(plan)
    names = timeline.names
    symbolic = plan.symbolic_offsets.items()
    return {
        **placement_data(plan),
        "gap": gap_text(plan),
        **verdict_data(verdict),
        "notes": [*([remark] if remark else []), *notes(plan.provenance)],
        "rectangles": [
            {
                "name": names[buffer],
                "begin": begin,
                "end": end,
                "offset": plan.offsets[buffer],
                "bytes": buffer.size or 0,
            }
            for buffer, (begin, end) in ranges.items()
            if buffer in plan.offsets
        ],
        "symbolic": [
            {"name": names[buffer], "offset": format_expr(offset)} for buffer, offset in symbolic
        ],
        "peak": _peak(ranges, names),
        "shared": [
            {"buffers": [names[one], names[two]], "bytes": count}
            for one, two, count in plan.sharing_pairs()
        ],
    }


def _peak(ranges: Mapping[Buffer, Range], names: Mapping[Buffer, str]) -> Data:
    """The first positions at which the most bytes are live, and what is live there."""
    begins = sorted({begin for begin, _ in ranges.values()})
    best: Data = {"position": 0, "bytes": 0, "buffers": []}
    most = 0
    for position in begins:
        live = [one for one, (begin, end) in ranges.items() if begin <= position < end]
        total = sum(buffer.size or 0 for buffer in live)
        if total > most:
            most = total
            best = {
                "position": position,
                "bytes": total,
                "buffers": [names[buffer] for buffer in live],
            }
    return best


def _pair(found: Explanation) -> Data:
    return {
        "buffers": list(found.names),
        "may_share": found.may_share,
        "words": found.words,
        "forbidden_by": found.forbidden_by,
        "reasons": list(found.reasons),
        "settled": list(found.settled),
        "outer": found.outer,
        "verdict": found.verdict.verdict,
        "witnesses": _witnesses(found),
    }


def _witnesses(found: Explanation) -> Sequence[str]:
    """What the byte trace says against sharing, first the proofs."""
    violations = [
        f"rule {violation.rule}: {violation.witness}" for violation in found.verdict.violations
    ]
    return [*violations, *(f"not covered: {reason}" for reason in found.verdict.uncovered)]
