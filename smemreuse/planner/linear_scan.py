"""TileLang's packer: live ranges in order of their beginning, best fit among the freed blocks.

Reproduces `LinearScanPack` of TileLang's `merge_shared_memory_allocations.cc`, ties included, so
that our model of that pass can be held against the pass itself. `linear_scan_on_top` is what it was
at first: a block that is too small is left alone, and so is the gap before an aligned buffer.
"""

from __future__ import annotations

import bisect
import heapq

from smemreuse.errors import PlanError
from smemreuse.planner.problem import Placement, Problem, align_up

ARENA_ALIGNMENT = 16
"""TileLang rounds the arena up to its `align_bytes`."""


def linear_scan(problem: Problem) -> Placement:
    """Packs an interval problem as TileLang does. Raises `PlanError` without intervals."""
    return _scanned(problem, _FreeList())


def linear_scan_on_top(problem: Problem) -> Placement:
    """The same, but that what fits into no free block goes on top of all. Raises alike."""
    return _scanned(problem, _FreeListOnTop())


def by_name(problem: Problem) -> Placement:
    """All side by side, as TileLang puts them where it is told to reuse nothing: by their names."""
    names = problem.names or [""] * len(problem.sizes)
    offsets, top = [0] * len(problem.sizes), 0
    for item in sorted(range(len(offsets)), key=lambda item: names[item]):
        offsets[item] = align_up(top, problem.alignments[item])
        top = offsets[item] + problem.sizes[item]
    return Placement(tuple(offsets), align_up(top, ARENA_ALIGNMENT))


def _scanned(problem: Problem, free: _FreeList) -> Placement:
    if problem.intervals is None:
        raise PlanError("packer 'tilelang' needs live ranges, not only conflicts")
    intervals, sizes = problem.intervals, problem.sizes
    names = problem.names or [""] * len(sizes)
    offsets = [0] * len(sizes)
    active: list[tuple[int, int]] = []
    top = 0
    order = sorted(
        range(len(sizes)), key=lambda item: (intervals[item][0], -sizes[item], names[item], item)
    )
    for item in order:
        begin, end = intervals[item]
        while active and active[0][0] <= begin:
            _, retired = heapq.heappop(active)
            free.release(offsets[retired], sizes[retired])
        size, alignment = sizes[item], problem.alignments[item]
        offset = free.best_fit(size, alignment)
        if offset is None:
            offset = free.take_tail(alignment, top)
            if offset is None:
                offset = align_up(top, alignment)
                free.release_gap(top, offset - top)
            top = offset + size
        offsets[item] = offset
        heapq.heappush(active, (end, item))
    return Placement(tuple(offsets), align_up(top, ARENA_ALIGNMENT))


class _FreeList:
    """Free blocks `[offset, offset + size)`, ordered by offset and never adjacent."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int]] = []

    def best_fit(self, size: int, alignment: int) -> int | None:
        """Takes `size` bytes from the block that leaves the fewest over; None if none can hold."""
        best: int | None = None
        for index, (start, length) in enumerate(self._blocks):
            fits = align_up(start, alignment) + size <= start + length
            if fits and (
                best is None or self._left(index, alignment) < self._left(best, alignment)
            ):
                best = index
        if best is None:
            return None
        start, length = self._blocks.pop(best)
        offset = align_up(start, alignment)
        self.release(offset + size, start + length - offset - size)
        self.release(start, offset - start)
        return offset

    def _left(self, index: int, alignment: int) -> int:
        """What decides between blocks that fit: the fewest bytes left over, those before the
        aligned place included."""
        return self._blocks[index][1]

    def take_tail(self, alignment: int, top: int) -> int | None:
        """Takes the whole block that ends at the arena's top; the caller then raises the top."""
        if not self._blocks or sum(self._blocks[-1]) != top:
            return None
        start, _ = self._blocks[-1]
        offset = align_up(start, alignment)
        if offset >= top:
            return None
        self._blocks.pop()
        self.release(start, offset - start)
        return offset

    def release_gap(self, offset: int, size: int) -> None:
        """Gives the bytes back that were skipped before an aligned buffer on top of all."""
        self.release(offset, size)

    def release(self, offset: int, size: int) -> None:
        """Gives bytes back, joined with the free blocks they touch."""
        if size <= 0:
            return
        index = bisect.bisect_left(self._blocks, (offset, 0))
        end = offset + size
        if index < len(self._blocks) and end >= self._blocks[index][0]:
            start, length = self._blocks.pop(index)
            end = max(end, start + length)
        if index > 0 and sum(self._blocks[index - 1]) >= offset:
            start, length = self._blocks.pop(index - 1)
            offset, end = start, max(end, start + length)
            index -= 1
        self._blocks.insert(index, (offset, end - offset))


class _FreeListOnTop(_FreeList):
    """That of `linear_scan_on_top`: of what is left over only the bytes behind count."""

    def _left(self, index: int, alignment: int) -> int:
        start, length = self._blocks[index]
        return start + length - align_up(start, alignment)

    def take_tail(self, alignment: int, top: int) -> int | None:
        return None

    def release_gap(self, offset: int, size: int) -> None:
        pass
