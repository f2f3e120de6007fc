"""Apache TVM's packer: a free map of entries, each of which is reused as a whole, in layers.

Reproduces the memory plan of apache-tvm's `merge_shared_memory_allocations.cc`, so that our
model of that pass can be held against the pass itself. A buffer takes a freed entry that is at most
16 times its size, or else freed entries that are smaller, one after the other, until they are large
enough together or none are left. The latter joins their layers by index, which is unsound: an entry
with one layer, `c`, and one with two, `a` below `b`, become `c, a` below `b`; then `b` starts where
`c` does, though the two may have been live together. A layout may therefore break the problem that
it was made for.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from smemreuse.errors import PlanError
from smemreuse.planner.problem import Placement, Problem, align_up

_MATCH_RANGE = 16
"""An entry is reused as a whole by a buffer of at least this fraction of its size."""

NEVER_REUSED_BYTES = 4
"""Buffers of up to 32 bits: the pass takes them for registers."""

_BITS = attrgetter("bits")


@dataclass
class _Entry:
    """A piece of the arena with layers on top of each other; the items of a layer lie side by side.

    Sizes are in bits, as in TVM.
    """

    bits: int
    layers: list[list[int]] = field(default_factory=list)


def layered(problem: Problem) -> Placement:
    """Packs as Apache TVM does. Raises `PlanError` without live ranges.

    TVM's pass gives items of up to 32 bits no place; here they follow after all others.
    """
    timeline = problem.timeline()
    if timeline is None:
        raise PlanError("packer 'tvm' needs live ranges, not only conflicts")
    free: list[_Entry] = []  # ascending by bits; of equal ones the first freed comes first
    small: list[_Entry] = []
    held: dict[int, _Entry] = {}
    for item, begins in timeline:
        bits = 8 * problem.sizes[item]
        if problem.sizes[item] <= NEVER_REUSED_BYTES:
            if begins:
                small.append(_Entry(bits, [[item]]))
        elif begins:
            held[item] = _take(free, item, bits)
        else:
            bisect.insort_right(free, held.pop(item), key=_BITS)
    offsets, arena = _lay_out(problem, [*free, *small])
    return Placement(tuple(offsets[item] for item in range(len(problem.sizes))), arena)


def _take(free: list[_Entry], item: int, bits: int) -> _Entry:
    """The entry that an item is put into: a freed one, several joined into one, or a new one."""
    at = bisect.bisect_left(free, bits, key=_BITS)
    if at < len(free) and free[at].bits <= bits * _MATCH_RANGE:
        entry = free.pop(at)
        entry.layers.append([item])
        return entry
    begin, total = at, 0
    while begin > 0 and total < bits:
        begin -= 1
        total += free[begin].bits
    taken = free[begin:at][::-1]
    del free[begin:at]
    return _Entry(max(bits, total), [*_joined(taken), [item]])


def _joined(entries: list[_Entry]) -> Iterator[list[int]]:
    """The layers of several entries, those of the same index as one."""
    for index in range(max((len(entry.layers) for entry in entries), default=0)):
        layers = [entry.layers[index] for entry in entries if index < len(entry.layers)]
        yield [item for layer in layers for item in layer]


def _lay_out(problem: Problem, entries: list[_Entry]) -> tuple[dict[int, int], int]:
    """The offsets of consecutive entries, and the end of the last one."""
    offsets: dict[int, int] = {}
    base = 0
    for entry in entries:
        top = base
        for layer in entry.layers:
            end = base
            for item in layer:
                offsets[item] = align_up(end, problem.alignments[item])
                end = offsets[item] + problem.sizes[item]
            top = max(top, end)
        base = top
    return offsets, base
