"""Which threads touch a byte, exactly: asked only where something seems wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import meeting
from smemreuse.checker.traced import ANYONE, TracedAccess, showing

MAX_BYTES_ASKED = 1024
"""Bytes of which it is asked who touches them; of a conflict of more the first ones are."""


@dataclass(frozen=True)
class Clash:
    """A byte that one thread accesses before and another one after; None where it is not known.

    `bytes` are the first and the last byte in common. `replicated`: the threads that read have
    written the byte, with others, in the earlier statement.
    """

    bytes: tuple[int, int]
    byte: int
    earlier: int | None
    later: int | None
    replicated: bool = False

    @property
    def is_in_warp(self) -> bool:
        """Whether both threads are of one warp, as far as is known."""
        if self.earlier is None or self.later is None:
            return True
        return self.earlier // 32 == self.later // 32


def clash(earlier: TracedAccess, later: TracedAccess, *, in_warp: bool) -> Clash | None:
    """The byte that shows a conflict; None if no two threads differ in any."""
    both = meeting(earlier.where, later.where)
    if both is None:
        return None
    common = earlier.where[both[0]]
    span = (int(common[0]), int(common[-1]))
    one, two = earlier.by_thread[both[0]], later.by_thread[both[1]]
    apart = (one != two) & (one != ANYONE) & (two != ANYONE)
    further = one // 32 != two // 32
    if in_warp:
        apart &= ~further
    if apart.any():
        at = showing(earlier, both[0], apart, further)
        return Clash(span, int(common[at]), int(one[at]), int(two[at]))
    shared = common[(one == ANYONE) | (two == ANYONE)]
    if not len(shared):
        return None
    replicated = True
    for byte in shared[:MAX_BYTES_ASKED].tolist():
        mine, theirs = touching(earlier, byte), touching(later, byte)
        if mine is None or theirs is None:
            return Clash(span, byte, None, None)
        pair = _different(mine, theirs)
        if pair is None:
            continue
        known = earlier.is_write and not later.is_write and bool(np.isin(theirs, mine).all())
        if not known:
            return Clash(span, byte, *pair)
        replicated = replicated and known
    replicated = replicated and len(shared) <= MAX_BYTES_ASKED
    return Clash(span, int(shared[0]), None, None, replicated)


def touching(traced: TracedAccess, byte: int) -> np.ndarray | None:
    """The threads that touch a byte; None if not known."""
    at = int(np.searchsorted(traced.where, byte))
    if at < len(traced.where) and traced.where[at] == byte and traced.by_thread[at] != ANYONE:
        return traced.by_thread[at : at + 1]
    footprint = traced.footprint
    if footprint is None or footprint.start is None or traced.starts is None:
        return None
    after_start = byte - np.broadcast_to(np.asarray(traced.starts), (len(traced.ids),))
    if footprint.count == 1:
        inside = (after_start >= 0) & (after_start < footprint.size)
    elif footprint.stride:
        number, rest = after_start // footprint.stride, after_start % footprint.stride
        inside = (number >= 0) & (number < footprint.count) & (rest < footprint.size)
    else:
        return None
    found: np.ndarray = np.unique(traced.ids[inside])
    return found


def _different(one: np.ndarray, two: np.ndarray) -> tuple[int, int] | None:
    """Two different threads, one of each array, preferably of different warps; None if there are
    none.
    """
    best = None
    for mine in one.tolist():
        for theirs in two.tolist():
            if mine // 32 != theirs // 32:
                return mine, theirs
            if mine != theirs and best is None:
                best = (mine, theirs)
    return best
