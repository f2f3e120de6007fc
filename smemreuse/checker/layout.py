"""The bytes of a plan: where its buffers lie, and which bytes they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.accesses import Footprint
from smemreuse.semantics.evaluate import Threads

MAX_SETS = 4096
"""Sets of bytes that are kept to be asked again."""

ByteIndices = np.ndarray  # indices of bytes in a buffer, ascending, each once


@dataclass
class ByteLayout:
    """Where the buffers lie, and which of them have bytes in common: the `partners` of each.

    Of a plan these are other buffers. A buffer whose own accesses are to be followed, too, is given
    as its own partner.
    """

    offsets: Mapping[Buffer, int]
    sizes: Mapping[Buffer, int]
    names: Mapping[Buffer, str]
    partners: dict[Buffer, list[Buffer]] = field(default_factory=dict)
    _common: dict[tuple[Buffer, Buffer], tuple[int, int]] = field(default_factory=dict)
    _sets: dict[int, ByteSet] = field(default_factory=dict)

    @staticmethod
    def alone(sizes: Mapping[Buffer, int], names: Mapping[Buffer, str]) -> ByteLayout:
        """Every buffer at a place of its own, and its own partner: what is found then is wrong with
        the kernel, whatever the plan."""
        offsets, end = {}, 0
        for buffer, size in sizes.items():
            offsets[buffer], end = end, end + size
        partners = {buffer: [buffer] for buffer, size in sizes.items() if size}
        return ByteLayout(offsets, sizes, names, partners)

    def __post_init__(self) -> None:
        ordered = sorted(self.offsets, key=lambda buffer: self.offsets[buffer])
        for index, one in enumerate(ordered):
            end = self.offsets[one] + self.sizes[one]
            for two in ordered[index + 1 :]:
                if self.offsets[two] >= end:
                    break
                if self.sizes[one] and self.sizes[two]:
                    self.partners.setdefault(one, []).append(two)
                    self.partners.setdefault(two, []).append(one)

    @property
    def weight(self) -> int:
        """About how many bytes are gone through to copy and join what is known of buffers."""
        pairs = sum(map(len, self.partners.values()))
        return sum(self.sizes[one] for one in self.partners) + 20_000 * pairs

    def reach(self, buffer: Buffer, footprint: Footprint, threads: Threads) -> int:
        """About how many bytes an access goes through, in its buffer and those in its place."""
        size = self.sizes[buffer]
        if footprint.start is not None:
            size = min(size, threads.count * footprint.count * footprint.size)
        return size * (1 + len(self.partners[buffer])) // 2

    def shift(self, one: Buffer, two: Buffer) -> int:
        """What to add to an index in `one` to get the index of the same byte in `two`."""
        return self.offsets[one] - self.offsets[two]

    def common(self, one: Buffer, two: Buffer) -> tuple[int, int]:
        """The bytes of `one` that lie in `two`, as a half-open range in `one`."""
        found = self._common.get((one, two))
        if found is None:
            begin = -self.shift(one, two)
            found = (max(begin, 0), min(begin + self.sizes[two], self.sizes[one]))
            self._common[one, two] = found
        return found

    def part_in(self, one: Buffer, two: Buffer, where: ByteIndices) -> slice:
        """Which entries of `where`, bytes of `one`, lie in `two`."""
        return _between(where, *self.common(one, two))

    def in_other(self, one: Buffer, two: Buffer, where: ByteIndices) -> ByteIndices:
        """Those bytes of `one` that lie in `two`, as indices in `two`."""
        part, shift = self.part_in(one, two, where), self.shift(one, two)
        return shifted(where[part] if part.stop - part.start < len(where) else where, shift)

    def byte_set(self, where: ByteIndices) -> ByteSet:
        """These bytes as a set: the same one for the same array, which most accesses share with
        earlier ones."""
        known = self._sets.get(id(where))
        if known is None:
            if len(self._sets) >= MAX_SETS:
                self._sets.clear()
            known = self._sets[id(where)] = ByteSet(where)
        return known


@dataclass(frozen=True, eq=False)
class ByteSet:
    """Bytes of a buffer, of which is asked again and again whether they meet others: as bits of an
    integer, computed once."""

    where: ByteIndices

    @cached_property
    def _first(self) -> int:
        return int(self.where[0])

    @cached_property
    def _last(self) -> int:
        return int(self.where[-1])

    @cached_property
    def bits(self) -> int:
        is_in = np.zeros(self._last + 1, dtype=bool)
        is_in[self.where] = True
        return int.from_bytes(np.packbits(is_in, bitorder="little").tobytes(), "little")

    def meets(self, other: ByteSet) -> bool:
        """Whether a byte is in both; neither is empty."""
        if self._first > other._last or other._first > self._last:
            return False
        return self.bits & other.bits != 0


def shifted(where: ByteIndices, by: int) -> ByteIndices:
    """The same bytes counted from another one; where that is the same, the very same array."""
    found: ByteIndices = where + by if by else where
    return found


def _between(where: ByteIndices, begin: int, end: int) -> slice:
    if not len(where) or (where[0] >= begin and where[-1] < end):
        return slice(0, len(where))
    return slice(*map(int, np.searchsorted(where, (begin, end))))


def is_run(where: ByteIndices) -> bool:
    """Whether the bytes follow one another without a gap."""
    return len(where) > 0 and int(where[-1]) - int(where[0]) == len(where) - 1


def as_index(where: ByteIndices) -> slice | ByteIndices:
    """The same bytes, as a slice if they are one run: what NumPy indexes with fastest."""
    return slice(int(where[0]), int(where[-1]) + 1) if is_run(where) else where


def meeting(one: ByteIndices, two: ByteIndices) -> tuple[ByteIndices, ByteIndices] | None:
    """For the bytes of both, where they are in the one and in the other; None if there are none."""
    if not len(one) or not len(two):
        return None
    begin, end = max(int(one[0]), int(two[0])), min(int(one[-1]), int(two[-1])) + 1
    if begin >= end:
        return None
    if len(one) > len(two):  # the few are looked up among the many
        found = meeting(two, one)
        return None if found is None else (found[1], found[0])
    if is_run(two):
        part = np.arange(*_between(one, begin, end).indices(len(one)))
        return (part, one[part] - two[0]) if len(part) else None
    at = np.searchsorted(two, one)
    left = np.flatnonzero(two[np.minimum(at, len(two) - 1)] == one)
    return (left, at[left]) if len(left) else None
