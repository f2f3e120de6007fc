"""Reads of which the value may not be the one that belongs there, and what has to be known of them
to see whether they decide anything: bytes that nobody has written, and reads that race."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from smemreuse.checker.layout import meeting
from smemreuse.checker.traced import ANYONE, TracedAccess
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer, Evaluate, Stmt
from smemreuse.semantics.accesses import Footprint
from smemreuse.semantics.effects import Proxy

NOBODYS = ANYONE - 1
"""In place of a writing thread: a byte that is not written."""

K = TypeVar("K")

BlockIndices = Mapping[Var, np.ndarray]
"""The indices of some thread blocks: for each variable, one number for each block."""

Reads = Mapping[tuple[Stmt, Buffer], np.ndarray]
"""For a statement and a buffer that it reads, which threads do (a mask)."""


@dataclass(frozen=True)
class Sources:
    """Where values come from that may be wrong: unwritten bytes of buffers (a mask), and reads; in
    thread blocks of these indices, or in any if there are none."""

    unwritten: Mapping[Buffer, np.ndarray] = field(default_factory=dict)
    reads: Reads = field(default_factory=dict)
    blocks: BlockIndices = field(default_factory=dict)

    def joined(self, other: Sources) -> Sources:
        """Those of both, in any block."""
        return Sources(_joined(self.unwritten, other.unwritten), _joined(self.reads, other.reads))


@dataclass
class RacingReads:
    """What races at one statement and buffer: `threads` (a mask) read there what others write
    before, and nothing orders the two.

    `is_known`: that is all that races there. Of reads that come before a write it is not, since the
    history keeps one of several statements that read the same bytes.
    """

    threads: np.ndarray
    is_known: bool = True
    _noted: dict[tuple[object, ...], tuple[TracedAccess, TracedAccess]] = field(
        default_factory=dict
    )

    def has(self, earlier: TracedAccess, later: TracedAccess) -> bool:
        """Whether a race of two accesses was noted before."""
        return _identity(earlier, later) in self._noted

    def note(self, earlier: TracedAccess, later: TracedAccess) -> None:
        """Adds who races, of two unordered accesses of which `later` is made by the statement."""
        self._noted[_identity(earlier, later)] = (earlier, later)
        if earlier.is_write and not later.is_write and _are_plain(earlier, later):
            self.threads[_reading_what_others_write(earlier, later)] = True
        else:
            self.is_known = False


@dataclass
class DoubtfulReads:
    """Those of the thread blocks of one kind, with these indices; none if that is any block.

    `unwritten` are the bytes that are read though nothing may have written them (a mask), `racing`
    what races, by statement and buffer.
    """

    unwritten: dict[Buffer, np.ndarray] = field(default_factory=dict)
    racing: dict[tuple[Stmt, Buffer], RacingReads] = field(default_factory=dict)
    blocks: BlockIndices = field(default_factory=dict)

    def note_unwritten(self, buffer: Buffer, where: np.ndarray, size: int) -> None:
        if buffer not in self.unwritten:
            self.unwritten[buffer] = np.zeros(size, dtype=bool)
        self.unwritten[buffer][where] = True

    def races_at(self, stmt: Stmt, buffer: Buffer, threads: int) -> RacingReads:
        """What races at a statement and on a buffer, in a block of so many threads."""
        if (stmt, buffer) not in self.racing:
            is_plain = not isinstance(stmt, Evaluate)  # an operation may hand on what it reads
            self.racing[stmt, buffer] = RacingReads(np.zeros(threads, dtype=bool), is_plain)
        return self.racing[stmt, buffer]


def _joined(one: Mapping[K, np.ndarray], two: Mapping[K, np.ndarray]) -> dict[K, np.ndarray]:
    """The masks of both; of what both have, what either has."""
    return {**one, **{key: one[key] | mask if key in one else mask for key, mask in two.items()}}


def _identity(earlier: TracedAccess, later: TracedAccess) -> tuple[object, ...]:
    """Equal for pairs of accesses of which the same threads race; arrays are told by identity."""
    return earlier.key, later.key, id(later.starts), id(later.ids), later.footprint


def _are_plain(one: TracedAccess, two: TracedAccess) -> bool:
    """Whether threads themselves make two accesses, as wide as each other: PTX's memory model
    leaves open what races of different widths do."""
    widths = {_width(access.footprint) for access in (one, two)}
    return one.proxy is two.proxy is Proxy.GENERIC and len(widths) == 1 and None not in widths


def _width(footprint: Footprint | None) -> int | None:
    return None if footprint is None or footprint.count != 1 else footprint.size


def _reading_what_others_write(earlier: TracedAccess, later: TracedAccess) -> np.ndarray:
    """The threads that read, later, a byte that another one wrote."""
    footprint, both = later.footprint, meeting(earlier.where, later.where)
    if both is None or footprint is None or later.starts is None:
        return later.ids
    writer = np.full(int(later.where[-1]) + 1, NOBODYS)
    writer[later.where[both[1]]] = earlier.by_thread[both[0]]
    starts = np.broadcast_to(np.asarray(later.starts), (len(later.ids),))
    bytes_ = starts[:, None] + np.arange(footprint.size)
    if bytes_.min() < 0 or bytes_.max() >= len(writer):
        return later.ids
    others = (writer[bytes_] != NOBODYS) & (writer[bytes_] != later.ids[:, None])
    found: np.ndarray = later.ids[others.any(axis=1)]
    return found
