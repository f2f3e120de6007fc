"""The shadow machine of the byte trace: who wrote which arena byte, and what is ordered by what.

Memory. For each buffer that shares bytes, byte by byte: `ok`, whether the arena surely still holds
the buffer's latest value; `defined`, whether the buffer may hold one at all; and the events that
wrote it and that overwrote it, for the witness.

Order. A vector clock for each warp over all warps, counted in barriers: an event of warp `w` in its
epoch `n` happens before an event of warp `v` if `clock[v][w] > n`. Program order alone orders
nothing across threads. TMA loads are known complete by a bit for each, passed on like clocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from smemreuse.model.kernel import Buffer, Stmt
from smemreuse.report.labels import label

Bytes = np.ndarray  # indices of bytes in a buffer


@dataclass(frozen=True)
class Event:
    """One access of the trace, as the witness tells it: the statement, and the loops around it."""

    stmt: Stmt
    loops: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = label(self.stmt)
        text = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
        line = f" (line {self.stmt.line})" if self.stmt.line else ""
        at = ", ".join(f"{name} = {value}" for name, value in self.loops)
        return f"`{text}`{line}" + (f" at {at}" if at else "")


MAX_TEXT = 60


@dataclass
class Layout:
    """Where the buffers lie, and which of them have bytes in common."""

    offsets: Mapping[Buffer, int]
    sizes: Mapping[Buffer, int]
    names: Mapping[Buffer, str]
    partners: dict[Buffer, list[Buffer]] = field(default_factory=dict)

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

    def common(self, one: Buffer, two: Buffer) -> tuple[int, int]:
        """The bytes of `one` that lie in `two`, as a half-open range in `one`."""
        shift = self.offsets[two] - self.offsets[one]
        return (max(shift, 0), min(shift + self.sizes[two], self.sizes[one]))

    def in_other(self, one: Buffer, two: Buffer, where: Bytes) -> Bytes:
        """Those bytes of `one` that lie in `two`, as indices in `two`."""
        begin, end = self.common(one, two)
        inside = where[(where >= begin) & (where < end)]
        shifted: Bytes = inside + (self.offsets[one] - self.offsets[two])
        return shifted


@dataclass
class Shadow:
    """The bytes of one buffer."""

    ok: np.ndarray
    defined: np.ndarray
    writer: np.ndarray
    culprit: np.ndarray
    certainly_lost: np.ndarray

    @staticmethod
    def empty(size: int) -> Shadow:
        def bits() -> np.ndarray:
            return np.zeros(size, dtype=bool)

        def events() -> np.ndarray:
            return np.full(size, -1, dtype=np.int32)

        return Shadow(bits(), bits(), events(), events(), bits())

    def copy(self) -> Shadow:
        return Shadow(*(array.copy() for array in vars(self).values()))

    def joined(self, other: Shadow) -> Shadow:
        """Either may be the case: what is sure in both is sure."""
        lost = self.defined & ~self.ok & other.defined & ~other.ok
        return Shadow(
            self.ok & other.ok,
            self.defined | other.defined,
            np.where(self.ok, other.writer, self.writer),
            np.where(self.ok, other.culprit, self.culprit),
            lost & self.certainly_lost & other.certainly_lost,
        )

    def same(self, other: Shadow) -> bool:
        return bool(
            np.array_equal(self.ok, other.ok) and np.array_equal(self.defined, other.defined)
        )


@dataclass(eq=False)
class Pending:
    """An asynchronous access, issued and not yet waited for by all the warps that issued it."""

    buffer: Buffer
    where: Bytes
    is_write: bool
    certain: bool
    waiting: set[int]
    threads: np.ndarray
    event: int


@dataclass
class Queue:
    """One warp's groups of asynchronous accesses, oldest first, and those not yet committed."""

    groups: list[list[Pending]] = field(default_factory=list)
    uncommitted: list[Pending] = field(default_factory=list)
    counted: bool = True
    """Whether all threads of the warp surely have the same number of groups."""

    def commit(self) -> None:
        self.groups.append(self.uncommitted)
        self.uncommitted = []

    def retire(self, keep: int) -> list[Pending]:
        """The accesses of all but the last `keep` groups; without a count, of all or of none."""
        if keep and not self.counted:
            return []
        cut = max(len(self.groups) - keep, 0)
        done = [pending for group in self.groups[:cut] for pending in group]
        self.groups = self.groups[cut:]
        return done

    def copy(self) -> Queue:
        return Queue([list(group) for group in self.groups], list(self.uncommitted), self.counted)

    def joined(self, other: Queue) -> Queue:
        """Either may be the case: what is in one of them is in flight."""
        if self.groups == other.groups and self.uncommitted == other.uncommitted:
            return Queue(self.groups, self.uncommitted, self.counted and other.counted)
        uncommitted = [*self.uncommitted, *other.uncommitted]
        # Committed in one case only: a wait for all groups may leave it in flight.
        sure = [one for group in self.groups for one in group if one not in other.uncommitted]
        sure += [one for group in other.groups for one in group if one not in self.uncommitted]
        return Queue([list(dict.fromkeys(sure))], list(dict.fromkeys(uncommitted)), False)


@dataclass
class Barrier:
    """An mbarrier: phases complete when all arrivals and all announced bytes have come in."""

    expected: int | None = None
    arrived: int = 0
    phase: int = 0
    bytes_due: int = 0
    loads: int = 0
    handed: np.ndarray | None = None
    known: int = 0
    completed: tuple[np.ndarray, int] | None = None

    def copy(self) -> Barrier:
        return Barrier(**vars(self))

    def agrees_with(self, other: Barrier) -> bool:
        """Whether two branches have used it alike."""
        return (self.expected, self.arrived, self.phase, self.bytes_due, self.loads) == (
            (other.expected, other.arrived, other.phase, other.bytes_due, other.loads)
        )

    def settle(self, warps: int) -> None:
        """Completes the phase if nothing is missing."""
        if self.expected is None or self.arrived < self.expected or self.bytes_due != 0:
            return
        handed = self.handed if self.handed is not None else np.zeros(warps, np.int64)
        known = self.known | self.loads
        if self.completed is not None:
            handed, known = np.maximum(handed, self.completed[0]), known | self.completed[1]
        self.completed = (handed, known)
        self.phase += 1
        self.arrived, self.loads, self.handed, self.known = 0, 0, None, 0


class Order:
    """Vector clocks over warps, and which TMA loads each warp knows to be complete."""

    def __init__(self, warps: int):
        self.clock = np.zeros((warps, warps), dtype=np.int64)
        self.epochs = np.ones(warps, dtype=np.int64)
        self.known = [0] * warps

    def copy(self) -> Order:
        twin = Order(len(self.known))
        twin.clock, twin.epochs = self.clock.copy(), self.epochs.copy()
        twin.known = list(self.known)
        return twin

    def barrier(self, warps: np.ndarray) -> None:
        """All threads of `warps` meet: what any of them knew all know, and a new epoch begins."""
        if not len(warps):
            return
        self.epochs[warps] += 1
        merged = self.clock[warps].max(axis=0)
        merged[warps] = self.epochs[warps]
        self.clock[warps] = merged
        known = 0
        for warp in warps:
            known |= self.known[warp]
        for warp in warps:
            self.known[warp] = known

    def release(self, warps: np.ndarray) -> tuple[np.ndarray, int]:
        """What `warps`, all of whose threads arrive, hand over; their next accesses come later."""
        known = 0
        for warp in warps:
            known |= self.known[warp]
        handed = self.clock[warps].max(axis=0)
        self.epochs[warps] += 1
        handed[warps] = self.epochs[warps]  # the threads of one warp are not ordered by this
        return handed, known

    def acquire(self, warps: np.ndarray, handed: np.ndarray, known: int) -> None:
        self.clock[warps] = np.maximum(self.clock[warps], handed)
        for warp in warps:
            self.known[warp] |= known

    def weakest(self, other: Order) -> None:
        """Keeps only what holds in both orders, after a branch that may have gone either way."""
        self.clock = np.minimum(self.clock, other.clock)
        self.epochs = np.maximum(self.epochs, other.epochs)
        self.known = [a & b for a, b in zip(self.known, other.known, strict=True)]


@dataclass(frozen=True)
class Recent:
    """An access kept byte by byte, to tell threads that overwrite their own bytes from a race."""

    is_write: bool
    where: Bytes
    threads: np.ndarray
    warps: np.ndarray
    epochs: np.ndarray
    event: int


@dataclass
class Seen:
    """The latest epoch in which each warp accessed the bytes that two buffers share; 0 is never."""

    reads: np.ndarray
    writes: np.ndarray
    recent: list[Recent] = field(default_factory=list)

    def copy(self) -> Seen:
        return Seen(self.reads.copy(), self.writes.copy(), list(self.recent))

    def note(self, access: Recent) -> None:
        latest = self.writes if access.is_write else self.reads
        latest[access.warps] = np.maximum(latest[access.warps], access.epochs)
        self.recent = [*self.recent[-(RECENT - 1) :], access]


RECENT = 24
"""Accesses of a pair of buffers that are kept byte by byte; older ones count as any thread's."""


class Memory:
    """Shadows and access times of all buffers that share bytes."""

    def __init__(self, layout: Layout, warps: int):
        self.layout = layout
        self.shadows = {buffer: Shadow.empty(layout.sizes[buffer]) for buffer in layout.partners}
        self.seen = {
            (one, two): Seen(np.zeros(warps, np.int64), np.zeros(warps, np.int64))
            for one, others in layout.partners.items()
            for two in others
        }
        self.loads: dict[tuple[Buffer, Buffer], int] = {}  # bits of TMA loads into common bytes

    def copy(self) -> Memory:
        twin = object.__new__(Memory)
        twin.layout = self.layout
        twin.shadows = {buffer: shadow.copy() for buffer, shadow in self.shadows.items()}
        twin.seen = {pair: seen.copy() for pair, seen in self.seen.items()}
        twin.loads = dict(self.loads)
        return twin

    def joined(self, other: Memory) -> Memory:
        twin = self.copy()
        twin.shadows = {
            buffer: shadow.joined(other.shadows[buffer]) for buffer, shadow in self.shadows.items()
        }
        for pair, seen in other.seen.items():
            mine = twin.seen[pair]
            mine.reads = np.maximum(mine.reads, seen.reads)
            mine.writes = np.maximum(mine.writes, seen.writes)
            had = {id(entry) for entry in mine.recent}
            mine.recent += [entry for entry in seen.recent if id(entry) not in had]
        for pair, bits in other.loads.items():
            twin.loads[pair] = twin.loads.get(pair, 0) | bits
        return twin

    def same(self, other: Memory) -> bool:
        return all(shadow.same(other.shadows[buffer]) for buffer, shadow in self.shadows.items())

    def write(self, buffer: Buffer, where: Bytes, event: int, certain: bool) -> None:
        """`buffer` gets a new value at `where`, and its partners lose theirs."""
        shadow = self.shadows[buffer]
        shadow.defined[where] = True
        if certain:
            shadow.ok[where] = True
            shadow.certainly_lost[where] = False
        shadow.writer[where] = event
        self.clobber(buffer, where, event, certain)

    def clobber(self, buffer: Buffer, where: Bytes, event: int, certain: bool) -> None:
        for partner in self.layout.partners[buffer]:
            lost = self.layout.in_other(buffer, partner, where)
            if len(lost):
                shadow = self.shadows[partner]
                fresh = lost[shadow.ok[lost]] if certain else lost
                shadow.ok[lost] = False
                shadow.culprit[lost] = event
                if certain:
                    shadow.certainly_lost[fresh] = True

    def lost(self, buffer: Buffer, where: Bytes) -> Bytes:
        """The bytes among `where` whose value may have been overwritten.

        Bytes that nothing has ever written do not count: no well-defined program reads them.
        """
        shadow = self.shadows[buffer]
        lost: Bytes = where[shadow.defined[where] & ~shadow.ok[where]]
        return lost


def warps_of(ids: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.bincount(ids // 32))


def full_warps(ids: np.ndarray, threads: int) -> np.ndarray:
    """The warps all of whose threads are among `ids`."""
    present = np.zeros(-(-threads // 32) * 32, dtype=bool)
    present[threads:] = True
    present[ids] = True
    full: np.ndarray = np.flatnonzero(present.reshape(-1, 32).all(axis=1))
    return full


def describe(events: Sequence[Event], number: int) -> str:
    if number < 0:
        return "an earlier value"
    return str(events[number])
