"""One access, as the trace performs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smemreuse.checker.layout import ByteIndices, meeting
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.accesses import Footprint
from smemreuse.semantics.effects import Proxy
from smemreuse.semantics.evaluate import Value

ANYONE = -1
"""In place of a thread: several threads access the byte, or it is not known which."""


@dataclass(frozen=True)
class TracedAccess:
    """The bytes of one buffer that threads read or write, each with the thread that does.

    `certain` is False where the access may not happen at all, or not to all of these bytes. Of one
    that conflicts, `in_warp` tells that no more is known than that a lane of the same warp did it,
    and `shown` is a byte that shows it.
    `footprint` and `starts` are what each of the threads `ids` touches, where that is known; or,
    `by_warp`, what the lanes of its warp do together. `refills`: a write to bytes that had a value
    of their buffer's, over which a partner may have written since. `events`: it stands for many
    accesses, which touched each byte last in these.
    """

    buffer: Buffer
    where: ByteIndices
    by_thread: np.ndarray
    is_write: bool
    certain: bool
    ids: np.ndarray
    warps: np.ndarray
    event: int
    proxy: Proxy = Proxy.GENERIC
    in_warp: bool = False
    footprint: Footprint | None = None
    starts: Value = None
    by_warp: bool = False
    atomic: bool = False
    refills: bool = False
    events: np.ndarray | None = None
    shown: int | None = None

    def part(self, which: slice) -> TracedAccess:
        """Only some of its bytes."""
        if which.start == 0 and which.stop == len(self.where):
            return self
        events = None if self.events is None else self.events[which]
        return replace(
            self, where=self.where[which], by_thread=self.by_thread[which], events=events
        )

    def by_thread_of(self, byte: int) -> int | None:
        """The thread that accesses a byte; None if that is not known."""
        at = int(np.searchsorted(self.where, byte))
        found = self.by_thread[at] if at < len(self.where) and self.where[at] == byte else ANYONE
        return int(found) if found >= 0 else None

    @property
    def of_several(self) -> bool:
        """Whether it stands for several accesses: another one than is named may be meant."""
        return self.events is not None

    @property
    def key(self) -> AccessKey:
        """Equal for all executions of a statement that access the same bytes."""
        return AccessKey(
            self.where,
            self.by_thread,
            self.warps,
            self.is_write,
            self.certain,
            self.atomic,
        )


@dataclass(frozen=True, eq=False)
class AccessKey:
    """The identity of an access. Arrays are compared by identity, since each is computed once."""

    where: ByteIndices
    by_thread: np.ndarray
    warps: np.ndarray
    is_write: bool
    certain: bool
    atomic: bool = False

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        arrays = (self.where, self.by_thread, self.warps)
        return (*map(id, arrays), self.is_write, self.certain, self.atomic)

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccessKey) and self._identity == other._identity


def by_anyone(count: int) -> np.ndarray:
    return np.broadcast_to(np.int64(ANYONE), (count,))


def met_at(
    earlier: TracedAccess, later: TracedAccess, shift: int
) -> tuple[int, tuple[int | None, int | None]]:
    """A byte of the earlier buffer that both access, and the threads that do, two different ones if
    there are; `shift` is from the later buffer's bytes to those."""
    both = meeting(earlier.where, later.where + shift)
    if both is None:
        return int(earlier.where[0]), (None, None)
    one, two = earlier.by_thread[both[0]], later.by_thread[both[1]]
    apart = (one != two) & (one >= 0) & (two >= 0)
    at = showing(earlier, both[0], apart, one // 32 != two // 32)
    threads = (int(one[at]), int(two[at])) if apart[at] else (None, None)
    return int(earlier.where[both[0][at]]), threads


def best_first(traced: TracedAccess, others: Iterator[TracedAccess]) -> Iterator[TracedAccess]:
    """The accesses that `traced` conflicts with: one that is certain before all others, if it may
    be, and if there is any."""
    found, passed = None, []
    for other in others:
        if found is None or (other.certain and (found.in_warp or not found.certain)):
            found, other = other, found
        if other is not None:
            passed.append(other)
        if (found.certain and not found.in_warp) or not traced.certain:
            break
    if found is not None:
        yield found
        yield from passed
        yield from others


def showing(
    earlier: TracedAccess, common: np.ndarray, apart: np.ndarray, further: np.ndarray
) -> int:
    """Which of the bytes in `common` shows a conflict best, of those that different threads access
    (`apart`): the one that an access was found to conflict in, or one of different warps
    (`further`)."""
    shown = earlier.where[common] == (-1 if earlier.shown is None else earlier.shown)
    ways = (apart & shown, apart & further, apart)
    return int(np.argmax(next((way for way in ways if way.any()), apart)))
