"""What the bytes of a plan hang on: its peak, the next resident block, the cheapest changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smemreuse.explainer.changes import Changes
from smemreuse.explainer.pairs import explainer_of
from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.headroom import Headroom, LiveThere
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Peak, Span, Timeline, peak_of
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.residents import residents_of


def headroom_of(
    kernel: Kernel,
    scope: str,
    arch: Architecture | None = None,
    *,
    plan: Plan | None = None,
) -> Headroom:
    """Of `plan`, by default the smallest that is proved.

    `arch` is by default what the kernel's target says. The changes are those of the smallest plan;
    for one made otherwise there are none.
    """
    explainer = explainer_of(kernel, scope)
    plan = plan or plan_kernel(kernel, scope, objective="bytes")
    timeline = timeline_of(kernel, scope)
    spans = timeline.spans(plan)
    peak = peak_of(spans)
    residents = residents_of(kernel, [plan], arch)
    changes = Changes(kernel, plan, explainer, arch)
    return Headroom(
        plan.arena_bytes,
        peak,
        timeline.steps[peak.position] if peak.buffers else None,
        tuple(_live_at(peak, spans, timeline)),
        residents,
        tuple(changes.cheapest(residents)),
        changes.next_block(residents) if residents is not None and peak.buffers else None,
    )


def _live_at(peak: Peak, spans: Mapping[Buffer, Span], timeline: Timeline) -> Iterator[LiveThere]:
    """The buffers that are live at a position, the largest first."""
    for buffer in sorted(peak.buffers, key=lambda one: -(one.size or 0)):
        begin, end = spans[buffer]
        first, last = timeline.steps[begin], timeline.steps[end - 1]
        yield LiveThere(timeline.names[buffer], buffer.size or 0, first, last)
