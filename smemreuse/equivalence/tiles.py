"""Tiles as an execution reads and writes them, and the loops whose rounds hand them on.

In a loop that is followed by one round for all, each tile that it writes begins with a value that
stands for whatever the round before left there. Places that may still hold that are exposed; where
one of them is read, the tile is carried from round to round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from smemreuse.equivalence.memory import MemoryState, Numbering, shape_of
from smemreuse.equivalence.program import Region, Storage, Unfollowed
from smemreuse.equivalence.terms import Term, combined, places
from smemreuse.ir.kernel import Buffer

Place = tuple[slice, ...]


@dataclass
class Round:
    """A round that stands for all of a loop: what tiles begin with, the values that tell a place
    which is exposed, and the tiles of which one is read."""

    begin: dict[Storage, Term] = field(default_factory=dict)
    marks: dict[Storage, list[np.ndarray]] = field(default_factory=dict)
    carried: set[Storage] = field(default_factory=set)

    def start(self, storage: Storage, value: Term) -> None:
        """What a tile begins with."""
        self.begin[storage] = value
        self.marks.setdefault(storage, []).append(value.rest)

    def exposed(self, storage: Storage, value: Term, place: Any = ...) -> np.ndarray:
        """At which places a tile may hold what it began with."""
        found = np.zeros(value.rest.shape, dtype=bool)
        for mark in self.marks.get(storage, ()):
            found |= (value.rest == mark[place]) & (value.rest != 0)
        return found

    def expose(self, storage: Storage, value: Term, where: np.ndarray) -> None:
        """Notes that at some places a value holds what the tile began with, among others."""
        if where.any():
            self.marks[storage].append(np.where(where, value.rest, 0))


class Tiles:
    """The tiles of a block: shared memory, fragments and registers of which all threads have the
    same."""

    def __init__(self, names: Numbering) -> None:
        self.names = names
        self.state = MemoryState()
        self.rounds: list[Round] = []
        self.buffers: dict[Storage, Buffer] = {}
        self.work = 0
        """Elements that were read or written so far."""

    def size(self, buffer: Buffer) -> int:
        """How many elements a tile has. Raises `Unfollowed` where another view of its memory has
        others."""
        known = self.buffers.setdefault(buffer.storage, buffer)
        size = prod(shape_of(buffer))
        if known is not buffer and (known.dtype != buffer.dtype or prod(shape_of(known)) != size):
            raise Unfollowed(f"{buffer.name} is another view of {known.name}")
        return size

    def whole(self, buffer: Buffer) -> Term:
        """All elements of a tile, in one row, without noticing that they are read."""
        found = self.state.tiles.get(buffer.storage)
        if found is None:
            found = self.state.tiles[buffer.storage] = self.initial(buffer)
        elif self.buffers.get(buffer.storage) is not buffer:
            self.size(buffer)
        return found

    def initial(self, buffer: Buffer) -> Term:
        """What nobody has written."""
        number = self.names.of(buffer.storage)
        found = places("initial", (number,), (self.size(buffer),))
        return found.over(found.shape)

    def put(self, buffer: Buffer, value: Term) -> None:
        """Makes a row of values the tile."""
        self.work += value.rest.size
        self.state.tiles[buffer.storage] = value.over(value.shape)

    # Elements -----------------------------------------------------------------------------------

    def read(self, buffer: Buffer, at: np.ndarray) -> Term:
        """The elements at some places of the row; of one outside, a number of its own."""
        whole = self.whole(buffer)
        size = whole.rest.size
        inside = (at >= 0) & (at < size)
        self.work += at.size
        found = whole.at(np.where(inside, at, 0))
        self.notice(buffer.storage, found, np.where(inside, at, 0))
        if inside.all():
            return found
        other = places("outside", (self.names.of(buffer.storage),), (1,)).reshaped(())
        rest = np.where(inside, found.rest, other.rest + at.astype(np.uint64))
        return Term(rest, np.where(inside, found.number, 0))

    def read_whole(self, buffer: Buffer) -> int:
        """One number of all elements."""
        whole = self.whole(buffer)
        self.notice(buffer.storage, whole)
        return whole.digest

    def write(self, buffer: Buffer, at: np.ndarray, value: Term) -> None:
        """Writes values to some places of the row. Raises `Unfollowed` where one of them gets two
        values, or is outside."""
        whole = self.whole(buffer)
        if at.size and (at.min() < 0 or at.max() >= whole.rest.size):
            raise Unfollowed(f"a write leaves {buffer.name}")
        value = value.over(at.shape)
        found = whole.put(at, value)
        if not found.at(at).same_as(value).all():
            raise Unfollowed(f"points of a parallel loop write to one place of {buffer.name}")
        self.put(buffer, found)

    def notice(self, storage: Storage, value: Term, place: Any = ...) -> None:
        """Notes that the values of a tile at some places are read."""
        for one in self.rounds:
            if storage not in one.carried and one.exposed(storage, value, place).any():
                one.carried.add(storage)

    # Regions ------------------------------------------------------------------------------------

    def read_region(self, region: Region, begins: tuple[Term, ...]) -> Term:
        """The elements of a region. Where it is not known where that begins, what a function that
        nothing is known of makes of the tile and of the place."""
        box = self._box(region, begins)
        if box is None:
            digest = self.read_whole(region.buffer)
            return places("window", (digest, *begins), region.extents)
        whole = self.whole(region.buffer).reshaped(shape_of(region.buffer)).at(box)
        self.work += whole.rest.size
        size = self.size(region.buffer)
        at = np.arange(size).reshape(shape_of(region.buffer))[box] if self.rounds else ...
        self.notice(region.buffer.storage, whole, at)
        return whole

    def write_region(self, region: Region, begins: tuple[Term, ...], value: Term) -> None:
        """Writes all elements of a region."""
        box, buffer = self._box(region, begins), region.buffer
        size = self.size(buffer)
        if box is None:
            digest = combined("into", (self.read_whole(buffer), *begins, value))
            self.put(buffer, places("changed", (digest,), (size,)))
            return
        value = value.over(region.extents)
        if prod(region.extents) == size:
            self.put(buffer, value.reshaped((size,)))
            return
        whole = self.whole(buffer).reshaped(shape_of(buffer))
        self.put(buffer, whole.put(box, value).reshaped((size,)))

    def _box(self, region: Region, begins: tuple[Term, ...]) -> Place | None:
        """The slices of a region; None where they are not known. Raises `Unfollowed` where it
        leaves its buffer."""
        found: list[slice] = []
        shape = shape_of(region.buffer)
        for begin, extent, most in zip(begins, region.extents, shape, strict=True):
            number = begin.known
            if number is None or number.size != 1:
                return None
            first = int(number.reshape(-1)[0])
            if first < 0 or first + extent > most:
                raise Unfollowed(f"a region leaves {region.buffer.name}")
            found.append(slice(first, first + extent))
        return tuple(found)
