"""TileLang's merge pass, by default and with its aggressive option, for parity.

The option, `tl.enable_aggressive_shared_memory_merge`, takes the inner policy's gen and kill points
instead of outer's. Either way a kill is moved outwards when its nesting *level* is deeper than the
gen's. Only loops whose body is a sequence count as a level, and the kill goes to the statement
before the next gen or kill at the gen's level, not to the end of the enclosing loop: with the
option the source of its wrong code, reproduced here and used nowhere else. What versions differ in
are the fields of their `MergeRules`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from smemreuse.analysis.alignment import MIN_ALIGNMENT, SWIZZLE_ALIGNMENT, alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.facts import facts_of
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Block, Buffer, For, If, Kernel, Stmt, element_bits, nested_blocks
from smemreuse.policies.attribution import POLICIES
from smemreuse.policies.packing import Liveness
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.versions.merges.merge import Merge

_LANES = re.compile(r"x(\d+)$")
_CAPABILITY = re.compile(r"sm_(\d+)")


@dataclass(frozen=True)
class TileLangMerge(Merge):
    """`tilelang.transform.MergeSharedMemoryAllocations`."""

    @property
    def own_packer(self) -> str | None:
        return "tilelang side by side" if self.objective == "none" else super().own_packer

    def liveness(self, kernel: Kernel, scope: str) -> Liveness:
        """The live ranges that TileLang's pass computes for the buffers of a scope."""
        sequence = linearize(kernel, scope, POLICIES[self.policy])
        buffers = kernel.allocations(scope)
        live = pass_live_ranges(kernel.body, sequence, stops_at_gens=self.rules.stops_at_gens)
        if self.objective == "none":  # what nothing touches gets its place too
            live = {one: LiveRange(one, 0, 1) for one in buffers} | live
        return Liveness(
            scope,
            buffers,
            self._alignments(kernel, scope),
            live,
            sequence.entries,
            taken={} if self.rules.packs_four_bits else _bytes_each(buffers),
        )

    def made(self, kernel: Kernel, scope: str) -> Plan:
        """The pass's layout, with the alignments that the buffers need, which it may not give."""
        plan, needed = super().made(kernel, scope), alignments(kernel, scope)
        align = {one: max(needed[one], own) for one, own in plan.alignments.items()}
        return replace(plan, alignments=align)

    def _alignments(self, kernel: Kernel, scope: str) -> Mapping[Buffer, int]:
        """What the pass aligns buffers to, in bytes: as our policies do where it has no
        alignments by compute capability."""
        by_capability = self.rules.swizzle_alignments
        if not by_capability:
            return alignments(kernel, scope)
        found = _CAPABILITY.search(str(kernel.attrs.get("target", "")))
        swizzled = SWIZZLE_ALIGNMENT
        if found is not None:
            swizzled = max(one for one in by_capability if one[0] <= int(found[1]))[1]
        accesses = facts_of(kernel).accesses.values()
        operands = {one.buffer for each in accesses for one in each if one.swizzled}
        return {
            one: max(MIN_ALIGNMENT, swizzled if one in operands else 1)
            for one in kernel.allocations(scope)
        }


def _bytes_each(buffers: Iterable[Buffer]) -> dict[Buffer, int]:
    """The sizes of buffers of 4-bit elements where every lane of each gets a byte of its own."""
    taken = {}
    for buffer in buffers:
        lanes, scalar = _LANES.search(buffer.dtype), _LANES.sub("", buffer.dtype)
        if buffer.size is not None and element_bits(scalar) == 4:
            elements = math.prod(constant(one) or 0 for one in buffer.shape)
            taken[buffer] = elements * int(lanes[1] if lanes else 1)
    return taken


def pass_live_ranges(
    body: Block, sequence: Linearization, *, stops_at_gens: bool = False
) -> dict[Buffer, LiveRange]:
    """Live ranges of a kernel body as the pass has them, from the `sequence` of either policy.

    With `stops_at_gens` a kill is moved out of a loop only up to the next statement with an event
    where another buffer's range begins.
    """
    entries = sequence.entries
    ranges = live_ranges(entries)
    levels = dict(_levels(body, 0))
    eventful = {entries[position].stmt for live in ranges.values() for position in _ends(live)}
    events = [position for position, entry in enumerate(entries) if entry.stmt in eventful]
    last = {entry.stmt: position for position, entry in enumerate(entries)}
    gens: dict[Stmt, set[Buffer]] = {}
    if stops_at_gens:
        for buffer, live in ranges.items():
            gens.setdefault(entries[live.gen].stmt, set()).add(buffer)
    moved = {}
    for buffer, live in ranges.items():
        gen_level = levels[entries[live.gen].stmt]
        kill = entries[live.kill].stmt
        if levels[kill] > gen_level:
            ends = {stmt for stmt, begun in gens.items() if begun - {buffer}}
            stmts = [entries[position].stmt for position in events]
            kill = _statement_before_level(kill, gen_level, stmts, levels, ends)
        moved[buffer] = LiveRange(buffer, live.begin, max(last[kill] + 1, live.begin + 1))
    return moved


def _ends(live: LiveRange) -> tuple[int, int]:
    return (live.gen, live.kill)


def _statement_before_level(
    stmt: Stmt,
    level: int,
    stmts: list[Stmt],
    levels: Mapping[Stmt, int],
    ends: Collection[Stmt],
) -> Stmt:
    """The last statement with an event, from `stmt` on, before the next event at nesting `level`,
    or of a statement of `ends`; `stmts` are those of all events."""
    for here in range(stmts.index(stmt), len(stmts)):
        following = stmts[here + 1 : here + 2]
        if not following or levels[following[0]] == level or following[0] in ends:
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
