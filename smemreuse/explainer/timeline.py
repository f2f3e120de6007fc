"""The timeline of a kernel: what pictures show along its program order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.analysis.program_points import program_points
from smemreuse.explainer.arms import concurrent_arms
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    While,
    nested_blocks,
    unique_names,
    walk_statements,
)
from smemreuse.policies.attribution import inner
from smemreuse.results.sequence import StmtEntry
from smemreuse.results.timeline import Band, Span, Step, SyncMark, Timeline
from smemreuse.semantics.table import calls_of, effect_of, is_block_barrier, waits


def timeline_of(kernel: Kernel, scope: str) -> Timeline:
    """The steps, loops, branches, barriers and waits of one kernel and storage scope."""
    entries = linearize(kernel, scope, inner).entries
    found = program_points(kernel.body, entries)
    points = {stmt: (begin, found.end[stmt]) for stmt, begin in found.begin.items()}
    return Timeline(
        names=unique_names(kernel.allocations(scope)),
        steps=tuple(_steps(entries)),
        bands=tuple(_bands(kernel.body, points, 0)),
        marks=tuple(_marks(kernel.body, points)),
        points=points,
        arms=tuple(concurrent_arms(kernel, points)),
    )


def used_buffers(kernel: Kernel, scope: str) -> list[Buffer]:
    """The buffers of a scope that any statement touches, in the order in which they are first."""
    return list(live_ranges(linearize(kernel, scope, inner).entries))


def _steps(entries: Sequence[StmtEntry]) -> Iterator[Step]:
    depth = 0
    for position, entry in enumerate(entries):
        is_end = entry.scope_pair_offset < 0
        depth -= is_end
        yield Step(position, depth, entry.stmt, is_end, _accesses(entry))
        depth += entry.scope_pair_offset > 0


def _accesses(entry: StmtEntry) -> dict[Buffer, Access]:
    """What an entry touches; reads and writes of one buffer together are a read-write, and so is
    what threads exchange through it in one call."""
    found: dict[Buffer, Access] = {}
    for touch in entry.touched:
        before = found.get(touch.buffer, touch.access)
        found[touch.buffer] = touch.access if before is touch.access else Access.READ_WRITE
    if any(effect_of(call).butterfly for call in calls_of(entry.stmt)):
        return dict.fromkeys(found, Access.READ_WRITE)
    return found


def _bands(block: Block, points: Mapping[Stmt, Span], depth: int) -> Iterator[Band]:
    for stmt in block:
        kind = _band_kind(stmt)
        begin, end = points[stmt]
        if kind is not None and begin < end:
            yield Band(kind, begin, end, depth, stmt)
        for nested in nested_blocks(stmt):
            yield from _bands(nested, points, depth + (kind is not None))


def _band_kind(stmt: Stmt) -> str | None:
    if isinstance(stmt, (For, While)):
        return "loop"
    return "branch" if isinstance(stmt, If) else None


def _marks(body: Block, points: Mapping[Stmt, Span]) -> Iterator[SyncMark]:
    for stmt in walk_statements(body):
        if is_block_barrier(stmt):
            yield SyncMark("barrier", points[stmt][0], stmt)
        elif waits(stmt):
            yield SyncMark("wait", points[stmt][0], stmt)
