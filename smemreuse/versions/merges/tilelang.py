"""TileLang's merge pass, by default and with its aggressive option, for parity.

The option, `tl.enable_aggressive_shared_memory_merge`, takes the inner policy's gen and kill points
instead of outer's. Either way a kill is moved outwards when its nesting *level* is deeper than the
gen's. Only loops whose body is a sequence count as a level, and the kill goes to the statement
before the next gen or kill at the gen's level, not to the end of the enclosing loop: with the
option the source of its wrong code, reproduced here and used nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.ir.kernel import Block, Buffer, For, If, Kernel, Stmt, nested_blocks
from smemreuse.policies.attribution import POLICIES
from smemreuse.policies.packing import Liveness
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.versions.merges.merge import Merge


@dataclass(frozen=True)
class TileLangMerge(Merge):
    """`tilelang.transform.MergeSharedMemoryAllocations`, which aligns as our policies do."""

    def liveness(self, kernel: Kernel, scope: str) -> Liveness:
        """The live ranges that TileLang's pass computes for the buffers of a scope."""
        sequence = linearize(kernel, scope, POLICIES[self.policy])
        return Liveness(
            scope,
            kernel.allocations(scope),
            alignments(kernel, scope),
            pass_live_ranges(kernel.body, sequence),
            sequence.entries,
        )


def pass_live_ranges(body: Block, sequence: Linearization) -> dict[Buffer, LiveRange]:
    """Live ranges of a kernel body as the pass has them, from the `sequence` of either policy."""
    entries = sequence.entries
    ranges = live_ranges(entries)
    levels = dict(_levels(body, 0))
    eventful = {entries[position].stmt for live in ranges.values() for position in _ends(live)}
    events = [position for position, entry in enumerate(entries) if entry.stmt in eventful]
    last = {entry.stmt: position for position, entry in enumerate(entries)}
    moved = {}
    for buffer, live in ranges.items():
        gen_level = levels[entries[live.gen].stmt]
        kill = entries[live.kill].stmt
        if levels[kill] > gen_level:
            kill = _statement_before_level(kill, gen_level, events, sequence, levels)
        moved[buffer] = LiveRange(buffer, live.begin, max(last[kill] + 1, live.begin + 1))
    return moved


def _ends(live: LiveRange) -> tuple[int, int]:
    return (live.gen, live.kill)


def _statement_before_level(
    stmt: Stmt,
    level: int,
    events: list[int],
    sequence: Linearization,
    levels: Mapping[Stmt, int],
) -> Stmt:
    """The last statement with an event, from `stmt` on, before the next event at nesting
    `level`.
    """
    stmts = [sequence.entries[position].stmt for position in events]
    for here in range(stmts.index(stmt), len(stmts)):
        if here + 1 == len(stmts) or levels[stmts[here + 1]] == level:
            return stmts[here]
    raise AssertionError("unreachable: the last event always ends the search")


def _levels(block: Block, level: int) -> Iterable[tuple[Stmt, int]]:
    """The nesting level that TileLang's finder records for each statement."""
    for stmt in block:
        inside = level + 1 if isinstance(stmt, For) and _is_sequence(stmt.body) else level
        yield stmt, inside
        for nested in nested_blocks(stmt):
            yield from _levels(nested, inside)


def _is_sequence(block: Block) -> bool:
    if len(block) > 1:
        return True
    only = block[0] if block else None
    return isinstance(only, If) and (_is_sequence(only.then) or _is_sequence(only.orelse))
