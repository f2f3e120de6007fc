"""The bytes that the threads of an access touch, and which thread touches which."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.traced import ANYONE, by_anyone
from smemreuse.checker.values.vectors import Key, identity
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.effects import LANES
from smemreuse.semantics.evaluate import Value

MAX_DISTANCE = 1 << 24
"""Bytes between a buffer and an access to it that begins outside."""

MAX_UNITS = 1 << 25
"""Places of one access, those of each thread."""

SAMPLE = 64
"""Numbers of an array by which it is looked up among others."""

Located = tuple[ByteIndices, np.ndarray, bool]
"""Each byte once, with the only thread that touches it, or `ANYONE`; and whether an index leaves
the buffer, which is then not understood: any byte may be meant."""


class Footprints:
    """Footprints in buffers, remembered by where the access starts for which threads."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._known: dict[Key, tuple[Located, object]] = {}
        self._arrays: dict[tuple[int, bytes], list[np.ndarray]] = {}
        self._wholes: dict[int, Located] = {}

    def counted_by(self, work: Work) -> Footprints:
        """The same, and what is remembered is so for both; new ones are counted here."""
        twin = Footprints(work)
        twin._known, twin._arrays, twin._wholes = self._known, self._arrays, self._wholes
        return twin

    def __call__(self, access: MemoryAccess, start: Value, ids: np.ndarray, size: int) -> Located:
        """What threads `ids` touch in a buffer of `size` bytes, if they start at `start`."""
        key = (id(access), identity(start), id(ids), size)
        entry = self._known.get(key)
        if entry is None:
            some, who = _of_lanes(access.lanes, start, ids)
            self._work.do(_places(access.footprint, some, len(who)))
            where, by_thread, leaves = _located(access.footprint, some, who, size)
            touched = self._once(where), self._once(by_thread), leaves
            entry = self._known[key] = (touched, (access, start, ids))
        return entry[0]

    def whole(self, size: int) -> Located:
        """Any byte of a buffer, by anyone."""
        if size not in self._wholes:
            self._wholes[size] = (self._once(np.arange(size)), self._once(by_anyone(size)), False)
        return self._wholes[size]

    def _once(self, array: np.ndarray) -> np.ndarray:
        """The same numbers are the same array, so that accesses can be distinguished by it."""
        sample = array[:: len(array) // SAMPLE + 1].tobytes()
        alike = self._arrays.setdefault((len(array), sample), [])
        for known in alike:
            if np.array_equal(known, array):
                return known
        alike.append(array)
        return array


def _of_lanes(lanes: int, start: Value, ids: np.ndarray) -> tuple[Value, np.ndarray]:
    """Where those of the first lanes of each warp start, and who they are."""
    if lanes == LANES:
        return start, ids
    among = ids % LANES < lanes
    return start[among] if isinstance(start, np.ndarray) else start, ids[among]


def _places(footprint: Footprint, start: Value, threads: int) -> int:
    """About how many bytes are looked at to find the places of an access."""
    return (
        8
        * threads
        * min(footprint.count * footprint.size, MAX_UNITS)
        // _unit(footprint, np.asarray(start if start is not None else 0))
    )


def _located(footprint: Footprint, start: Value, ids: np.ndarray, size: int) -> Located:
    places = np.asarray(start)
    if np.any((places > MAX_DISTANCE) | (places < -MAX_DISTANCE)):
        raise Uncovered("an access is too far from its buffer to be followed")
    starts = np.broadcast_to(places.astype(np.int64), (len(ids),))
    unit = _unit(footprint, starts)
    if len(ids) * footprint.count * footprint.size > MAX_UNITS * unit:
        raise Uncovered("an access is too large to be followed")
    runs = np.arange(footprint.count)[:, None] * (footprint.stride // unit)
    runs = (runs + np.arange(footprint.size // unit)).ravel()
    each = ((starts // unit)[:, None] + runs).ravel()
    if len(each) == 0:
        return each, each, False
    units, by_thread = _by_place(each, np.repeat(ids, len(runs)))
    if unit > 1:
        units = (units[:, None] * unit + np.arange(unit)).ravel()
        by_thread = np.repeat(by_thread, unit)
    if units[0] < 0 or units[-1] >= size:
        return np.arange(size), by_anyone(size), True
    return units, by_thread, False


def _unit(footprint: Footprint, starts: np.ndarray) -> int:
    """Bytes that are always touched together: a power of two that divides all places."""
    bits = int(np.bitwise_or.reduce(starts, axis=None)) | footprint.size | footprint.stride
    return bits & -bits or 1


def _by_place(each: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each place once, with the only thread that touches it, or `ANYONE` for several."""
    base = each.min()
    each = each - base
    owner = np.full(each.max() + 1, ANYONE)
    touched = np.zeros(len(owner), dtype=bool)
    owner[each] = ids
    touched[each] = True
    owner[each[owner[each] != ids]] = ANYONE
    places = np.flatnonzero(touched)
    return places + base, owner[places]
