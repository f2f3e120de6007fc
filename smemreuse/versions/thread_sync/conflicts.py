"""Whether `ThreadSync` takes two accesses for a conflict: yes, no, or not known (rule 6).

Yes as `collisions` shows it. No where the pass compares nothing, or has its proof surely: what two
accesses reach lies apart by interval arithmetic, or both have one index and the same scopes around,
which it takes for one thread's. All else depends on what its solver finds in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from smemreuse.ir.kernel import DYNAMIC_SCOPE, Buffer, For
from smemreuse.versions.thread_sync.access_entries import AccessEntry, Made
from smemreuse.versions.thread_sync.access_ranges import AccessRanges
from smemreuse.versions.thread_sync.collisions import Collisions
from smemreuse.versions.thread_sync.elements import Spend

COMPARED = 16
"""Units of work for each pair of accesses."""


class Conflict(Enum):
    YES = "yes"
    NO = "no"
    MAYBE = "not known"


class Conflicts:
    """Asks of pairs of accesses of one kernel under one plan; each pair is compared once.

    `offsets` (bytes) are those of the buffers in their arena; a buffer without one lies alone.
    """

    def __init__(
        self,
        ranges: AccessRanges,
        collisions: Collisions,
        offsets: Mapping[Buffer, int],
        spend: Spend,
        *,
        compares_bytes: bool = True,
    ):
        """`compares_bytes` as in `ThreadSync`."""
        self._ranges = ranges
        self._collisions = collisions
        self._offsets = offsets
        self._spend = spend
        self._compares_bytes = compares_bytes
        self._known: dict[tuple[Made, Made, For | None], Conflict] = {}

    def between(self, one: Made, two: Made, loop: For | None) -> Conflict:
        """Of one access and a later one, with `loop` in the next round of that."""
        key = (one, two, loop)
        if key not in self._known:
            self._spend(COMPARED)
            self._known[key] = self._compare(one, two, loop)
        return self._known[key]

    def _compare(self, one: Made, two: Made, loop: For | None) -> Conflict:
        first, second = one[1], two[1]
        if self._are_skipped(first, second):
            return Conflict.NO
        if first.by_pointer is not second.by_pointer:
            return Conflict.YES
        if first.index is None or second.index is None:
            return Conflict.MAYBE
        if not first.by_pointer and self._ranges.have_one_index(one, two, loop):
            return Conflict.NO
        if not (self._compares_bytes or _are_of_one_kind(first, second)):
            return Conflict.MAYBE
        if not self._have_places(first, second):
            return Conflict.NO if self._are_inside(one, two) else Conflict.MAYBE
        begins = (self._offsets.get(first.buffer, 0), self._offsets.get(second.buffer, 0))
        if self._ranges.lie_apart(one, two, loop, begins):
            return Conflict.NO
        found = self._collisions.collide(one, two, loop, self._offsets, self._spend)
        return Conflict.YES if found else Conflict.MAYBE

    def _are_skipped(self, first: AccessEntry, second: AccessEntry) -> bool:
        """Whether the pass compares nothing: two copies or atomics, or buffers that are no part of
        one arena."""
        if first.is_write and second.is_write and first.is_copy and second.is_copy:
            return True
        if first.is_atomic and second.is_atomic:
            return True
        return first.buffer.scope != DYNAMIC_SCOPE and not self._have_places(first, second)

    def _have_places(self, first: AccessEntry, second: AccessEntry) -> bool:
        """Whether it is known how far from each other the buffers of two accesses begin."""
        if first.buffer is second.buffer:
            return True
        return first.buffer in self._offsets and second.buffer in self._offsets

    def _are_inside(self, one: Made, two: Made) -> bool:
        """Whether two accesses surely stay in their buffers, in numbers that the pass compares:
        pointers it counts in elements of the one's width and the other's."""
        if one[1].by_pointer and one[1].width != two[1].width:
            return False
        return self._is_inside(one) and self._is_inside(two)

    def _is_inside(self, made: Made) -> bool:
        reach, entry = self._ranges.reach(made), made[1]
        size = entry.buffer.size
        if reach is None or size is None:
            return False
        return reach[0] >= 0 and (reach[1] + 1) * entry.width <= size


def _are_of_one_kind(first: AccessEntry, second: AccessEntry) -> bool:
    """Whether equal indices are equal bytes: of one buffer, in elements of one size."""
    return first.buffer is second.buffer and first.width == second.width
