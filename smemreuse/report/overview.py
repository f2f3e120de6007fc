"""All that a report shows of one kernel, as plain JSON-ready data.

Whatever draws it, a page or a terminal, needs no analysis and no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.ir.labels import entry_label, label
from smemreuse.ir.source import place_words, source_of
from smemreuse.report.data import (
    Data,
    Subject,
    arena_data,
    buffers_data,
    gap_text,
    heading,
    placement_data,
    verdict_data,
)
from smemreuse.report.provenance import notes
from smemreuse.report.residents import PlanBlocks, beside, room_data
from smemreuse.report.timeline import timeline_block, violation_timeline
from smemreuse.results.explanation import Explanation
from smemreuse.results.overview import Overview
from smemreuse.results.plan import Plan
from smemreuse.results.serialized import picked
from smemreuse.results.timeline import Band, Peak, SyncMark, Timeline, peak_of
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import Architecture, architecture_for, threads_of


def overview_entry(
    subject: Subject,
    found: Overview,
    arch: Architecture | None = None,
    *,
    compiled: int | None = None,
) -> Data:
    """One kernel and scope: its program order, its buffers, plans by name, and every pair.

    Positions count the entries of policy inner's linear sequence, for every plan; sizes, offsets
    and arenas are bytes; `blocks` are resident on one SM as far as shared memory, threads and
    barriers go, `resident` as far as registers go, too: `compiled` of each thread where ptxas gave
    them.
    `source` is the dump's text, empty for a kernel that has none; `before` names the plan that
    there would be without us, where it is one of `policies`.
    `left` are the bytes to the limit of a block, `one_more` is what one more block needs.
    `blocks`, `resident`, `fits` and the bytes beside the arena are None where a size, or for blocks
    the number of threads, is symbolic.
    """
    arch, assumed = architecture_for(subject.kernel, arch)
    timeline, unshared = found.timeline, found.side_by_side
    some_plan, _ = next(iter(found.plans.values()))
    return {
        **heading(subject),
        "source": subject.source,
        "before": found.before,
        "arch": {"name": arch.name, "assumed": assumed, **picked(arch, "per_block per_sm")},
        "threads": threads_of(subject.kernel),
        "beside_the_arena": beside(subject.kernel, unshared),
        "steps": [
            {
                "text": entry_label(step.stmt, step.is_end),
                "depth": step.depth,
                "is_end": step.is_end,
                **_line(step.stmt),
                "touches": {
                    timeline.names[buffer]: access.value for buffer, access in step.touches.items()
                },
            }
            for step in timeline.steps
        ],
        "bands": [_drawn(band, "kind begin end depth") for band in timeline.bands],
        "marks": [_drawn(mark, "kind position") for mark in timeline.marks],
        "buffers": buffers_data(some_plan),
        "side_by_side": {
            "bytes": unshared.arena_bytes,
            **arena_data(unshared),
            **_residents(subject, unshared, arch, compiled),
        },
        "default": _default(subject, found, arch, compiled),
        "policies": {
            name: {
                **_plan(plan, verdict, timeline, found.remarks.get(name)),
                **_residents(subject, plan, arch, compiled),
            }
            for name, (plan, verdict) in found.plans.items()
        },
        "pairs": [_pair(pair) for pair in found.pairs],
    }


def _default(
    subject: Subject, found: Overview, arch: Architecture, compiled: int | None
) -> Data | None:
    """What the compiler would make without smemreuse, where no plan of the page is that."""
    if found.default is None:
        return None
    name, plan = found.default
    residents = _residents(subject, plan, arch, compiled)
    return {"name": name, "bytes": plan.arena_bytes, **arena_data(plan), **residents}


def _residents(subject: Subject, plan: Plan, arch: Architecture, compiled: int | None) -> Data:
    """Whether a kernel under one plan fits, and its blocks per SM."""
    found = PlanBlocks.of(subject.kernel, plan, arch, compiled=compiled)
    return {
        "blocks": found.by_memory,
        "resident": found.resident,
        "registers": None if found.registers is None else found.registers.words,
        "fits": found.fits,
        **room_data(found.residents, arch),
    }


def _drawn(one: Band | SyncMark, names: str) -> Data:
    return {**picked(one, names), "text": label(one.stmt), **_line(one.stmt)}


def _line(stmt: Stmt) -> Data:
    """The line of the dump, and the words that stand after the statement's text: that line, and
    that of the user's Python, as far as they are known."""
    return {"line": stmt.line, "place": place_words(stmt.line, source_of(stmt))}


def _plan(plan: Plan, verdict: Verdict, timeline: Timeline, remark: str | None) -> Data:
    spans = timeline.spans(plan)
    names = timeline.names
    symbolic = plan.symbolic_offsets.items()
    return {
        **placement_data(plan),
        "gap": gap_text(plan),
        **verdict_data(verdict),
        "drawn": [timeline_block(violation_timeline(one)) for one in verdict.violations],
        "notes": [*([remark] if remark else []), *notes(plan.provenance)],
        "rectangles": [
            {
                "name": names[buffer],
                "begin": begin,
                "end": end,
                "offset": plan.offsets[buffer],
                "bytes": buffer.size or 0,
            }
            for buffer, (begin, end) in spans.items()
            if buffer in plan.offsets
        ],
        "symbolic": [
            {"name": names[buffer], "offset": format_expr(offset)} for buffer, offset in symbolic
        ],
        "peak": _peak(peak_of(spans), names),
        "shared": [
            {"buffers": [names[one], names[two]], "bytes": count}
            for one, two, count in plan.sharing_pairs()
        ],
    }


def _peak(peak: Peak, names: Mapping[Buffer, str]) -> Data:
    return {**picked(peak, "position bytes"), "buffers": [names[one] for one in peak.buffers]}


def _pair(found: Explanation) -> Data:
    """One pair; of those that were not judged only what keeps them apart without a proof."""
    names = "buffers=names may_share words=sharing.words forbidden_by reasons settled outer judged"
    pair = {
        **picked(found, names),
        **picked(found, "verdict=verdict.verdict"),
        "witnesses": _witnesses(found),
    }
    if not found.judged:
        words = "kept apart" if found.causes else "not checked: `explain` with both names does"
        short = found.forbidden_by if found.causes else ""
        pair.update(words=words, forbidden_by=short, witnesses=[])
    return pair


def _witnesses(found: Explanation) -> Sequence[str]:
    """The checker's reasons against sharing, certain ones first."""
    violations = [
        f"rule {violation.rule}: {violation.witness}" for violation in found.verdict.violations
    ]
    return [*violations, *(f"not covered: {reason}" for reason in found.verdict.uncovered)]
