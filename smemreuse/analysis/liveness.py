"""Gen and kill points, live ranges and peak live of a linear sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smemreuse.ir.kernel import Buffer
from smemreuse.results.sequence import LiveRange, StmtEntry


def live_ranges(entries: Sequence[StmtEntry]) -> dict[Buffer, LiveRange]:
    """The live range of every buffer that is touched, ordered by gen point.

    Gen is found by a forward scan that reads each scope's end entry at its beginning, kill by a
    backward scan; gen acts at a leaf or a scope's beginning, kill at a leaf or a scope's end. On a
    leaf that is both, gen comes first, so the range has length one (apache/tvm pull 16216).
    """
    gen: dict[Buffer, int] = {}
    for position, entry in enumerate(entries):
        if entry.scope_pair_offset >= 0:
            for touch in entries[position + entry.scope_pair_offset].touched:
                gen.setdefault(touch.buffer, position)
    kill: dict[Buffer, int] = {}
    for position in range(len(entries) - 1, -1, -1):
        for touch in entries[position].touched:
            kill.setdefault(touch.buffer, position)
    return {buffer: LiveRange(buffer, begin, kill[buffer] + 1) for buffer, begin in gen.items()}


def peak_live(ranges: Iterable[LiveRange], sizes: Mapping[Buffer, int]) -> int:
    """The most bytes live at one position: the lower bound of any plan with these live ranges."""
    delta: dict[int, int] = {}
    for live in ranges:
        size = sizes.get(live.buffer, 0)
        delta[live.begin] = delta.get(live.begin, 0) + size
        delta[live.end] = delta.get(live.end, 0) - size
    now = peak = 0
    for position in sorted(delta):
        now += delta[position]
        peak = max(peak, now)
    return peak
