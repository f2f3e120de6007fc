"""Which accesses a later pass does not compare, so that it puts no barrier between them (rule 6).

TileLang's `ThreadSync` goes through the statements in their order, and round a `for`. It does not
go round a `while`. Of two writes it asks only whether one thread meets itself; what lies between
them is ordered by the barrier that somebody needs who reads the first. And it takes two elements
with the same index for those of one thread, also where several threads have that index.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Block, Buffer, For, If, Stmt, While, element_bits, nested_blocks
from smemreuse.semantics.accesses import MemoryAccess

Way = tuple[tuple[Stmt, int], ...]
"""The scopes around a statement, outermost first, each with which of its blocks it is in."""

Places = dict[Buffer, dict[Way, list[int]]]
"""The numbers of statements that access a buffer, in their order, by what is around them."""


class Uncompared:
    """Answers for the pairs of buffers of one kernel."""

    def __init__(self, body: Block, accesses: Mapping[Stmt, Sequence[MemoryAccess]]):
        self._reads: Places = {}
        self._writes: Places = {}
        self._unread: dict[tuple[Buffer, Buffer], bool] = {}
        for place, (stmt, way) in enumerate(_ways(body, ())):
            for access in accesses.get(stmt, ()):
                if access.access is not Access.WRITE:
                    self._reads.setdefault(access.buffer, {}).setdefault(way, []).append(place)
                if access.access is not Access.READ:
                    self._writes.setdefault(access.buffer, {}).setdefault(way, []).append(place)

    def unread(self, one: Buffer, two: Buffer) -> bool:
        """Whether something may be written to one that nobody reads before the other is written."""
        if (one, two) not in self._unread:
            self._unread[one, two] = self._are_written(one, two)
        return self._unread[one, two]

    def in_while(self, one: Buffer, two: Buffer) -> bool:
        """Whether rounds of a `while` access both."""

        def around(buffer: Buffer) -> set[Stmt]:
            ways = (*self._reads.get(buffer, ()), *self._writes.get(buffer, ()))
            return {scope for way in ways for scope, _ in way if isinstance(scope, While)}

        return not around(one).isdisjoint(around(two))

    def _are_written(self, one: Buffer, two: Buffer) -> bool:
        return any(
            self._is_unread(self._reads.get(one, {}), (way, first), (other, second))
            for way, first in self._writes.get(one, {}).items()
            for other, second in self._writes.get(two, {}).items()
        )

    @staticmethod
    def _is_unread(
        reads: Mapping[Way, list[int]], one: tuple[Way, list[int]], two: tuple[Way, list[int]]
    ) -> bool:
        """Whether nobody reads between two of these writes, in their order or round a loop."""
        (way, first), (other, second) = one, two
        if not _apart(way, other):
            by_now = sorted(
                at for to, there in reads.items() if not _apart(to, way) for at in there
            )
            if any(_next(second, at) < _next(by_now, at) for at in first):
                return True
        loops = [
            scope
            for (scope, _), (same, _) in zip(way, other, strict=False)
            if scope is same and isinstance(scope, For)
        ]
        if not loops:
            return False
        inside = [at for to, there in reads.items() if (loops[-1], 0) in to for at in there]
        return not inside or (first[-1] > max(inside) and second[0] < min(inside))


def _next(places: Sequence[int], at: int) -> float:
    """The first of these places, in their order, that is not before another."""
    found = bisect_left(places, at)
    return places[found] if found < len(places) else math.inf


def _ways(block: Block, way: Way) -> Iterator[tuple[Stmt, Way]]:
    """All statements in their order, each with what is around it."""
    for stmt in block:
        yield stmt, way
        for number, inner in enumerate(nested_blocks(stmt)):
            yield from _ways(inner, (*way, (stmt, number)))


def _apart(one: Way, two: Way) -> bool:
    """Whether two statements are in different arms of a branch."""
    for (scope, number), (other, at) in zip(one, two, strict=False):
        if scope is not other:
            return False
        if number != at:
            return isinstance(scope, If)
    return False


def element_of(access: MemoryAccess) -> int:
    """The bits of an element that is named by its index; 0 for what a pointer leads to."""
    return 0 if isinstance(access.node, Call) else element_bits(access.buffer.dtype)
