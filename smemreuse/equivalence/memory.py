"""What memory holds, as value numbers: tiles place by place, global memory as what was written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np

from smemreuse.equivalence.program import Storage, Unfollowed
from smemreuse.equivalence.terms import Term, combined, made
from smemreuse.ir.expr import Const, constant
from smemreuse.ir.kernel import Buffer


class Numbering:
    """A number for each variable and buffer; both forms of a kernel have them in common."""

    def __init__(self) -> None:
        self._numbers: dict[Storage, int] = {}
        self._others = count(1 << 32)

    def of(self, one: Storage) -> int:
        return self._numbers.setdefault(one, len(self._numbers))

    def other(self) -> int:
        """A number that nothing else has, in either form."""
        return next(self._others)


def shape_of(buffer: Buffer) -> tuple[int, ...]:
    """The extents of a tile. Raises `Unfollowed` where they are not known, or it is laid out in
    another way than row after row."""
    extents = [constant(one) for one in buffer.shape]
    if any(one is None for one in extents) or buffer.elem_offset != Const(0):
        raise Unfollowed(f"it is not known where the elements of {buffer.name} are")
    return tuple(one for one in extents if one is not None)


# Global memory ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GlobalPlaces:
    """Places in global memory: a hash of the indices of each, and the symbols in these indices, by
    dimension. Places with the same symbols are the same only if their hashes are. `symbols` is None
    where they are not the same for all places."""

    hashes: np.ndarray
    symbols: tuple[int, ...] | None


def address(buffer: Buffer, indices: tuple[Term, ...], number: int) -> GlobalPlaces:
    """The places of a buffer in global memory at some indices, all of one shape when broadcast."""
    symbols = [_only(one.rest) for one in indices]
    hashes = np.asarray(made("address", (number, len(indices), *indices)).rest)
    known = tuple(one for one in symbols if one is not None)
    return GlobalPlaces(hashes, known if len(known) == len(symbols) else None)


def _only(rest: np.ndarray) -> int | None:
    first = rest.flat[0]
    return int(first) if (rest == first).all() else None


@dataclass(frozen=True, eq=False)
class LastWrites:
    """Writes to places whose indices have the same symbols: at each place the last one."""

    symbols: tuple[int, ...]
    places: np.ndarray
    values: np.ndarray

    def then(self, places: np.ndarray, values: np.ndarray) -> LastWrites:
        both = np.concatenate([places, self.places])  # `unique` finds the first of each
        found, first = np.unique(both, return_index=True)
        return replace(self, places=found, values=np.concatenate([values, self.values])[first])


@dataclass(frozen=True, eq=False)
class GlobalMemory:
    """A buffer in global memory: what it was, as one number, and what was written since."""

    before: int
    written: LastWrites | None = None

    @cached_property
    def digest(self) -> int:
        if self.written is None:
            return self.before
        parts = _term(self.written.places), _term(self.written.values)
        return combined("written", (self.before, *self.written.symbols, *parts))

    def read(self, at: GlobalPlaces) -> Term:
        """The values at some places: of a place that is none of those written, what was there."""
        state = np.asarray(np.uint64(self.digest))
        if self.written is not None and at.symbols == self.written.symbols:
            hit = np.isin(at.hashes, self.written.places)
            state = np.where(hit, np.uint64(self.digest), np.uint64(self.before))
        return made("read", (_term(state), _term(at.hashes)))

    def write(self, at: GlobalPlaces, value: Term) -> GlobalMemory:
        """The memory with values at some places. Raises `Unfollowed` where one place gets two."""
        hashes = np.asarray(at.hashes).ravel()
        values = np.broadcast_to(value.hashes, np.shape(at.hashes)).ravel()
        places, first = np.unique(hashes, return_index=True)
        if at.symbols is None:
            scattered = combined("scattered", (self.digest, _term(hashes), _term(values)))
            return GlobalMemory(scattered)
        if len(places) != len(hashes):
            again = np.searchsorted(places, hashes)
            if not (values == values[first][again]).all():
                raise Unfollowed("points of a parallel loop write to one place")
            values = values[first]
        else:
            values = values[first]
        if self.written is not None and self.written.symbols == at.symbols:
            return replace(self, written=self.written.then(places, values))
        return GlobalMemory(self.digest, LastWrites(at.symbols, places, values))


def _term(hashes: np.ndarray) -> Term:
    return Term(hashes, np.zeros((), np.int64))


# All memory -------------------------------------------------------------------------------------


@dataclass
class MemoryState:
    """The memory of a block at one point of its execution; arrays in it never change.

    `tiles` have their elements in one row. `events` is one number of the markers so far.
    """

    tiles: dict[Storage, Term] = field(default_factory=dict)
    globals: dict[Storage, GlobalMemory] = field(default_factory=dict)
    events: int = 0

    def copy(self) -> MemoryState:
        return MemoryState(dict(self.tiles), dict(self.globals), self.events)


def phi(condition: Term, one: GlobalMemory, other: GlobalMemory) -> GlobalMemory:
    """What a buffer in global memory is after a branch."""
    if one.digest == other.digest:
        return one
    return GlobalMemory(combined("choice", (condition, one.digest, other.digest)))
