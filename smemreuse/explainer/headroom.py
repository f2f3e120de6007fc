"""What the bytes of a plan hang on: its peak, the next resident block, the cheapest changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from smemreuse.explainer.changes import Changes, Trials
from smemreuse.explainer.pairs import explainer_of
from smemreuse.explainer.search import Search, least_known
from smemreuse.explainer.tiles import smaller_tiles
from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.headroom import (
    Headroom,
    LiveThere,
    NextBlock,
    SmallerTile,
    SmallerTiles,
    WithinLimit,
)
from smemreuse.results.plan import Plan
from smemreuse.results.residents import SHARED_MEMORY, Residents
from smemreuse.results.timeline import Peak, Span, Step, Timeline, peak_of
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.blocks import block_memory
from smemreuse.targets.residents import residents_of

SIZE_UNKNOWN = "a size is known only at launch"
NOTHING_FITS = "no combination of the changes that smemreuse knows is enough"


def headroom_of(
    kernel: Kernel,
    scope: str,
    arch: Architecture | None = None,
    *,
    plan: Plan | None = None,
    beside: Sequence[Plan] = (),
) -> Headroom:
    """Of `plan`, by default the smallest that is proved; `beside` are those of other scopes, whose
    buffers lie side by side without one.

    `arch` is by default what the kernel's target says. The changes are those of the smallest plan;
    for one made otherwise there are none.
    """
    explainer = explainer_of(kernel, scope)
    plan = plan or plan_kernel(kernel, scope, objective="bytes")
    peak, step, live = _at_the_peak(kernel, scope, plan)
    residents = residents_of(kernel, [plan, *beside], arch)
    changes = Changes(kernel, plan, explainer, arch, beside)
    return Headroom(
        plan.arena_bytes,
        peak,
        step,
        live,
        residents,
        tuple(changes.cheapest(residents)),
        next_block(changes, residents) if residents is not None and peak.buffers else None,
        _beyond(plan, peak, explainer.names),
    )


def _beyond(plan: Plan, peak: Peak, names: Mapping[Buffer, str]) -> tuple[str, ...]:
    """The buffers that have bytes which no single buffer at the peak covers."""
    ends = {one: (at, at + (one.size or 0)) for one, at in plan.offsets.items()}
    live = [ends[one] for one in peak.buffers if one in ends]
    return tuple(
        names[one]
        for one, (begin, end) in ends.items()
        if one not in peak.buffers and not any(a <= begin and end <= b for a, b in live)
    )


def next_block(changes: Changes, now: Residents) -> NextBlock:
    """The smallest combination of changes that gains a resident block, or why none does."""
    stopping = tuple(one for one in now.limits if one != SHARED_MEMORY)
    if stopping or now.bytes_over is None:
        return NextBlock(now.bytes_over, stopped_by=stopping)
    if not changes.is_smallest:
        return NextBlock(now.bytes_over)

    def gains(arena: int, steps: Trials = ()) -> bool:
        return (changes.blocks_at(arena, steps) or 0) > now.blocks

    search = Search(changes, gains, _largest(gains, changes.arena_bytes))
    found = search.smallest()
    if found is None:
        return NextBlock(now.bytes_over, is_searched=True, is_complete=search.is_complete)
    steps, arena = found
    told = tuple(step.told for step in steps)
    return NextBlock(now.bytes_over, told, arena, changes.blocks_at(arena, steps), (), True, True)


def _largest(reaches: Callable[[int], bool], most: int) -> int:
    """The largest number of bytes below `most` that reaches it, as all smaller ones do; 0 if none
    does."""
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if reaches(middle) else (least, middle)
    return least


def within_limit(kernel: Kernel, scope: str, limit: int) -> WithinLimit:
    """What it takes that a block takes at most `limit` bytes, in this scope and all others."""
    plans = {one: plan_kernel(kernel, one, objective="bytes") for one in kernel.shared_scopes()}
    plan, memory = plans[scope], block_memory(kernel, [*plans.values()])
    if memory.total is None:
        return WithinLimit(limit, None, why=SIZE_UNKNOWN)
    found = WithinLimit(limit, memory.total)
    if found.fits:
        return found
    most = plan.arena_bytes - (memory.total - limit)
    largest = max(plan.offsets, key=lambda one: one.size or 0)
    changes = Changes(kernel, plan, explainer_of(kernel, scope), None)
    search = Search(changes, lambda arena, _steps: arena <= most, most)
    reached = search.smallest() if changes.is_smallest and most > 0 else None
    other = memory.total - plan.arena_bytes
    if reached is None:
        _, step, live = _at_the_peak(kernel, scope, plan)
        alone = f"{largest.name} alone takes {largest.size:,} bytes, and {NOTHING_FITS}"
        why = alone if (largest.size or 0) > most else NOTHING_FITS
        least, arenas = least_known(changes) if changes.is_smallest else ((), ())
        return replace(
            found,
            live=live,
            step=step,
            why=why,
            least=tuple(one.told for one in least),
            least_after=tuple(arena + other for arena in arenas),
            apart=tuple(changes.heaviest(least)),
            smaller=_with_tiles(changes, least, most, other),
        )
    steps = reached[0]
    return replace(
        found,
        steps=tuple(step.told for step in steps),
        bytes_after=tuple(size + other for size in _after_each(changes, steps)),
    )


def _after_each(changes: Changes, steps: Trials) -> list[int]:
    """The arena after each change and all before it."""
    most = changes.arena_bytes
    after = [changes.packed(steps[: count + 1], most) for count in range(len(steps))]
    return [most if one is None else one for one in after]


def _with_tiles(changes: Changes, least: Trials, most: int, other: int) -> SmallerTiles | None:
    """The tiles that would have to be smaller; `other` are a block's bytes outside the arena."""
    tiling = smaller_tiles(changes, least, most) if changes.is_smallest and most > 0 else None
    if tiling is None:
        return None
    before = changes.problem_with(tiling.steps).sizes
    return SmallerTiles(
        tuple(
            SmallerTile(changes.name(item), before[item], to) for item, to in tiling.sizes.items()
        ),
        tuple(step.told for step in tiling.steps),
        tuple(size + other for size in _after_each(changes, tiling.steps)),
        tiling.arena + other,
    )


def _at_the_peak(
    kernel: Kernel, scope: str, plan: Plan
) -> tuple[Peak, Step | None, tuple[LiveThere, ...]]:
    """The peak of a plan, its statement if any buffer is live there, and the live buffers."""
    timeline = timeline_of(kernel, scope)
    spans = timeline.spans(plan)
    peak = peak_of(spans)
    step = timeline.steps[peak.position] if peak.buffers else None
    return peak, step, tuple(_live_at(peak, spans, timeline))


def _live_at(peak: Peak, spans: Mapping[Buffer, Span], timeline: Timeline) -> Iterator[LiveThere]:
    """The buffers that are live at a position, the largest first."""
    for buffer in sorted(peak.buffers, key=lambda one: -(one.size or 0)):
        begin, end = spans[buffer]
        first, last = timeline.steps[begin], timeline.steps[end - 1]
        yield LiveThere(timeline.names[buffer], buffer.size or 0, first, last)
