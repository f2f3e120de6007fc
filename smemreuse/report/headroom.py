"""What a plan's bytes hang on, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from smemreuse.ir.labels import brief
from smemreuse.ir.source import place_words, source_of
from smemreuse.report.data import Data, Subject, place_data
from smemreuse.report.residents import residents_data
from smemreuse.results.headroom import Change, Headroom, NextBlock
from smemreuse.results.plan import Plan
from smemreuse.results.residents import REGISTERS, SHARED_MEMORY, THREADS, Residents
from smemreuse.results.serialized import as_data, picked
from smemreuse.results.timeline import Step

MOST_LIVE = 8
"""Buffers at the peak that get a line each."""


def beyond_lines(plan: Plan, smallest: Headroom) -> Iterator[Text]:
    """Says where a plan takes more bytes than the smallest one, which alone has a headroom."""
    if plan.arena_bytes > smallest.arena_bytes:
        made = plan.provenance.objective
        gains = "sharing more bytes gains neither a resident block nor L1"
        why = f": {gains}" if made == "speed" else ""
        yield Text(
            f"  objective {made}{why}; what follows is about the smallest arena, "
            f"{smallest.arena_bytes:,} bytes (objective bytes)"
        )


def headroom_lines(found: Headroom) -> Iterator[Text]:
    """The peak and who is live there, what stops the next block, the cheapest changes."""
    if found.step is None:
        return
    peak = found.peak
    yield Text(
        f"peak: {peak.bytes:,} bytes live at position {peak.position}, {place(found.step)}:",
        style="bold",
    )
    width = max(len(one.name) for one in found.live[:MOST_LIVE])
    for one in found.live[:MOST_LIVE]:
        ends = f"from {place(one.first)} to {place(one.last)}"
        yield Text(f"  {one.name:<{width}} {one.bytes:>7,} {ends}")
    if found.live[MOST_LIVE:]:
        rest = found.live[MOST_LIVE:]
        yield Text(f"  and {len(rest)} more of {sum(one.bytes for one in rest):,} bytes")
    if found.arena_bytes > peak.bytes:
        beyond = found.arena_bytes - peak.bytes
        yield Text(
            f"  the arena is {beyond:,} bytes more: for buffers that must not share though they "
            "are not live together, alignment, or packing"
        )
    if found.residents is not None:
        yield Text(f"next block: {residents_words(found.residents)}")
    for number, change in enumerate(found.changes):
        lead = "cheapest change" if number == 0 else "  or"
        yield Text(f"{lead}: {change_words(change, found)}")
    if found.next_block is not None:
        yield from _next_block_lines(found.next_block, found)


def _next_block_lines(found: NextBlock, beside: Headroom) -> Iterator[Text]:
    """What gains a block, where no single change has told it, or that nothing does, where fewer
    bytes might be hoped to."""
    told, residents = beside.changes, beside.residents
    if found.why_not and (told or (residents and SHARED_MEMORY in residents.limits)):
        yield Text(f"one more block: {found.why_not}")
    alone = len(found.changes) == 1 and any(
        one.adds_block and one.buffers == found.changes[0].buffers for one in told
    )
    if not found.changes or alone:
        return
    how = "with one change" if len(found.changes) == 1 else f"with {len(found.changes)} changes"
    yield Text(f"one more block: {found.arena_bytes:,} bytes, {found.blocks} blocks, {how}:")
    for number, change in enumerate(found.changes):
        yield Text(f"  {'and ' if number else ''}{change.condition}")


def place(step: Step) -> str:
    """A position's statement and line."""
    line = place_words(step.stmt.line, source_of(step.stmt))
    return f"{'the end of ' if step.is_end else ''}`{brief(step.stmt)}`{line}"


def residents_words(found: Residents) -> str:
    """How many blocks there are on an SM, and what stops one more."""
    on = f"{found.arch}{' (assumed)' if found.assumed else ''}"
    fit = f"{found.blocks} fit{'s' if found.blocks == 1 else ''} on an SM of {on}"
    if not found.blocks:
        fit = f"none fits on {on}"
    limits = [_limit(found, one) for one in found.limits]
    return f"{fit}; another is stopped by {' and '.join(limits)}"


def _limit(found: Residents, limit: str) -> str:
    if limit == REGISTERS and found.registers is not None:
        return f"registers ({found.registers.words})"
    if limit == THREADS:
        return f"their number of threads ({found.threads:,} a block)"
    if limit == SHARED_MEMORY and found.most_bytes is not None:
        over = found.block_bytes - found.most_bytes
        return f"shared memory ({over:,} of a block's {found.block_bytes:,} bytes too many)"
    return f"the number of {limit}" if limit != SHARED_MEMORY else limit


def change_words(change: Change, found: Headroom) -> str:
    """One change and its effect: the arena and the blocks per SM after it."""
    saved = found.arena_bytes - change.arena_bytes
    blocks = f", {change.blocks} blocks" if change.adds_block else ""
    return f"{change.arena_bytes:,} bytes, {saved:,} fewer{blocks}, {change.condition}"


def headroom_data(subject: Subject, found: Headroom, planned: Plan) -> Data:
    """One of the `summaries` of `smemreuse.explain/1`: of the smallest arena, and the bytes of the
    plan for the objective that was asked for."""
    return {
        **place_data(subject),
        "planned_bytes": planned.arena_bytes,
        "arena_bytes": found.arena_bytes,
        "peak": {
            **picked(found.peak, "bytes position"),
            **({} if found.step is None else _step(found.step)),
            "live": [
                {**picked(one, "name bytes"), "first": _step(one.first), "last": _step(one.last)}
                for one in found.live
            ],
        },
        "residents": residents_data(found.residents),
        **picked(found, "changes"),
        "next_block": _next_block(found.next_block),
    }


def _next_block(found: NextBlock | None) -> Data | None:
    if found is None:
        return None
    return picked(found, "bytes_over changes arena_bytes blocks stopped_by why_not")


def _step(step: Step) -> Data:
    lines = {"line": step.stmt.line, "source": as_data(source_of(step.stmt))}
    return {"statement": brief(step.stmt), **lines, "is_end": step.is_end}
