"""The barriers that have a state: mbarriers, with their phases, and named barriers.

An arrival counts for the phase that is open when it comes, and what it hands over is known to those
who have waited for that phase. One schedule shows which phase that was; that it is the same one in
every schedule follows if the arriving threads know the phases before it to be complete, and no more
threads arrive than the phase expects. They know it if they have waited for them, or if all arrivals
of these phases happen before theirs, and nothing else ends a phase. Otherwise it is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.machine.contended import ContendedUse
from smemreuse.checker.machine.order import Knowledge, ReleasedClocks
from smemreuse.checker.values.evaluation import Slot
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt

MBARRIER_BYTES = 8

MOST_ARRIVALS = 2**20 - 1
"""The largest number of arrivals that a phase may expect, by PTX."""

Incarnation = tuple[Slot, int]
"""One mbarrier between two initializations: the slot, and how often it was initialized."""


@dataclass(frozen=True)
class Announcement:
    """Bytes that threads have announced without arriving, in these epochs of their warps.

    They hold the phase open only if an arrival that it waits for comes after them.
    """

    ids: np.ndarray
    epochs: dict[int, int]

    def comes_before(self, ids: np.ndarray, clocks: np.ndarray) -> bool:
        """Whether the announcement happens before an arrival of threads `ids`: they made it
        themselves, or one of them knows of it by the `clocks` of their warps."""
        latest = clocks.max(axis=0)
        known = all(latest[warp] > epoch for warp, epoch in self.epochs.items())
        return known or bool(np.isin(self.ids, ids).all())


@dataclass
class Barrier:
    """An mbarrier: phases complete when all arrivals and all announced bytes have come in.

    `copies` are those whose bytes, or whose ends, the open phase waits for; `handed` is what its
    arrivals hand over, `completed` what each phase that is complete did, with those before it.
    `users` are the warps that have used it, each with the epoch of the last time; `ended` those
    that had when the last phase ended. `plain`: nothing but arrivals that count at once has ended
    its phases, no copy and no bytes.
    """

    expected: int | None = None
    initialized: int = 0
    arrived: int = 0
    bytes_due: int = 0
    copies: int = 0
    announced: tuple[Announcement, ...] = ()
    handed: ReleasedClocks | None = None
    completed: tuple[ReleasedClocks, ...] = ()
    users: Mapping[int, int] = field(default_factory=dict)
    ended: Mapping[int, int] = field(default_factory=dict)
    plain: bool = True

    @property
    def phase(self) -> int:
        """The number of the open phase: how many are complete."""
        return len(self.completed)

    def copy(self) -> Barrier:
        return replace(self)

    def initialize(self, expected: int) -> Barrier:
        """It is in phase 0, whatever it was before. Raises `Misused` for a number of arrivals that
        PTX does not allow, and for a valid mbarrier, which PTX has invalidated first."""
        if not 1 <= expected <= MOST_ARRIVALS:
            raise Misused(f"an mbarrier is initialized to {expected:,} arrivals")
        if self.expected is not None:
            raise Misused("an mbarrier is initialized again that has not been invalidated")
        return Barrier(expected, self.initialized + 1)

    def used(self, warps: np.ndarray, epochs: np.ndarray) -> None:
        """These warps use it, in their `epochs`. Raises `Misused` once it has been invalidated."""
        if self.expected is None and self.initialized:
            raise Misused("an mbarrier is used that has been invalidated")
        self.users = {**self.users, **dict(zip(warps.tolist(), epochs.tolist(), strict=True))}

    def is_ended_before(self, clocks: np.ndarray) -> bool:
        """Whether all phases that are complete surely are, for warps with these `clocks`: all
        arrivals of these phases happen before what they do now."""
        return self.plain and _are_over(self.ended, clocks)

    def invalidate(self, clocks: np.ndarray) -> Barrier:
        """It is plain memory again. Raises `Misused` unless all who use it have done so by the
        `clocks` of those who invalidate it, and no phase has begun."""
        if self.arrived or self.bytes_due or self.copies:
            raise Misused("an mbarrier is invalidated in the middle of a phase")
        if not _are_over(self.users, clocks):
            raise Misused("threads may still use an mbarrier when it is invalidated")
        return Barrier(None, self.initialized)

    def arrive(self, threads: int, handed: ReleasedClocks) -> None:
        """Threads arrive, and hand over what they know. Raises `Uncovered` if not all of them can
        count for one phase."""
        self.arrived += threads
        if self.expected is not None and self.arrived > self.expected:
            raise Misused("more threads arrive at an mbarrier than its phase expects")
        self.hand_over(handed)

    def hand_over(self, handed: ReleasedClocks) -> None:
        """What those hand over without whom the open phase does not end."""
        self.handed = handed if self.handed is None else self.handed | handed

    def cover_announcements(self, ids: np.ndarray, clocks: np.ndarray) -> None:
        """These threads arrive: what they have announced, or know to be announced, holds the phase
        open from now on, so that no announcement of theirs remains to be checked."""
        self.announced = tuple(one for one in self.announced if not one.comes_before(ids, clocks))

    def settle(self, warps: int) -> None:
        """Completes the phase if nothing is missing."""
        if self.expected is None or self.arrived < self.expected or self.bytes_due > 0:
            return
        if self.bytes_due < 0:
            # Before they have landed the phase is complete without them.
            raise Misused("bytes come in at an mbarrier that were not announced to its phase")
        if self.announced:
            raise Misused("bytes are announced to an mbarrier whose phase may be over by then")
        handed = ReleasedClocks.only(warps, Knowledge(self.copies))
        if self.handed is not None:
            handed |= self.handed
        if self.completed:
            handed |= self.completed[-1]
        self.completed = (*self.completed, handed)
        self.arrived, self.copies, self.handed, self.ended = 0, 0, None, self.users

    def earliest(self, parity: int, known: int) -> int:
        """How many phases are complete at least when a wait for one of this parity is over, for
        threads that know `known` of them to be: the next one may be the one waited for."""
        return known if known % 2 != parity % 2 else known + 1

    def joined(self, other: Barrier, mine: int = 0, theirs: int = 0) -> Barrier:
        """The join after a branch: hands over what both sides would, with `mine` and `theirs` as
        `Order.joined` has them. Raises `Uncovered` if the two have used the mbarrier differently
        often."""
        used = (self.expected, self.initialized, self.arrived, self.bytes_due, self.phase)
        if used != (other.expected, other.initialized, other.arrived, other.bytes_due, other.phase):
            raise Uncovered("a branch on data decides how often an mbarrier is used")
        handed = None
        if self.handed is not None and other.handed is not None:
            handed = self.handed.also(theirs) & other.handed.also(mine)
        both = zip(self.completed, other.completed, strict=True)
        return replace(
            self,
            copies=(self.copies | theirs) & (other.copies | mine),
            announced=(*self.announced, *other.announced),
            users=_latest(self.users, other.users),
            ended=_latest(self.ended, other.ended),
            handed=handed,
            plain=self.plain and other.plain,
            completed=tuple(mine & theirs for mine, theirs in both),
        )


@dataclass(frozen=True)
class LastMeeting:
    """How often a named barrier has been used by several warps, and by which threads at last; None
    if unknown.

    `epochs` are those of all warps right after that; None if it is not sure that they met there, at
    `stmt`, which takes `expected` threads.
    `alone` are warps that have used it each by itself since, with their epochs right after: one
    that takes a warp is complete when it comes, and nobody else is ever at it.
    """

    number: int = 0
    group: bytes | None = None
    epochs: np.ndarray | None = None
    expected: int = 0
    stmt: Stmt | None = None
    alone: Mapping[int, int] = field(default_factory=dict)

    def by(self, warp: int, epoch: int) -> LastMeeting:
        """After a warp has used it by itself."""
        return replace(self, alone={**self.alone, warp: epoch})

    def joined(self, other: LastMeeting) -> LastMeeting:
        """The join after a branch."""
        if other is self:
            return self
        group = self.group if self.group == other.group else None
        alone = _latest(self.alone, other.alone)
        return LastMeeting(max(self.number, other.number), group, alone=alone)


@dataclass
class Barriers:
    """All mbarriers and named barriers of a kernel that have been used so far.

    `in_memory` are the valid mbarriers that lie in plain shared memory: its first byte of each.
    `contended` are uses of named barriers that may not be over, where others may be at once;
    `waited_in_part` the warps of which some lanes alone have waited for a phase, and
    `copies_waited_for_alone` what was over then, a bit for each copy: some thread knows that it is.
    """

    slots: dict[Slot, Barrier] = field(default_factory=dict)
    meetings: dict[int, LastMeeting] = field(default_factory=dict)
    in_memory: frozenset[tuple[Buffer, int]] = frozenset()
    contended: dict[int, tuple[ContendedUse, ...]] = field(default_factory=dict)
    waited_in_part: frozenset[int] = frozenset()
    copies_waited_for_alone: int = 0

    def __getitem__(self, slot: Slot) -> Barrier:
        found = self.slots.get(slot)
        if found is None:
            found = self.slots[slot] = Barrier()
        return found

    def initialize(self, slot: Slot, expected: int) -> None:
        self.slots[slot] = self[slot].initialize(expected)
        self.in_memory |= _in_memory(slot)

    def invalidate(self, slot: Slot, clocks: np.ndarray) -> None:
        """See `Barrier.invalidate`."""
        self.slots[slot] = self[slot].invalidate(clocks)
        self.in_memory -= _in_memory(slot)

    def ends_with_copies(self, slot: Slot | None) -> None:
        """Copies that land at any time end phases of an mbarrier, or of any one."""
        for one in self.slots.values() if slot is None else (self[slot],):
            one.plain = False

    def incarnation(self, slot: Slot) -> Incarnation:
        """What is known of an mbarrier's phases is known of them since it was initialized."""
        return (slot, self[slot].initialized)

    def last_meeting(self, name: int) -> LastMeeting:
        return self.meetings.get(name, LastMeeting())

    def copy(self) -> Barriers:
        slots = {slot: barrier.copy() for slot, barrier in self.slots.items()}
        meetings, contended = dict(self.meetings), dict(self.contended)
        return replace(self, slots=slots, meetings=meetings, contended=contended)

    def joined(self, other: Barriers, mine: int = 0, theirs: int = 0) -> Barriers:
        """The join after a branch, with copies as `Order.joined` has them."""
        nothing = Barrier()
        slots = {
            slot: self.slots.get(slot, nothing).joined(other.slots.get(slot, nothing), mine, theirs)
            for slot in {**self.slots, **other.slots}
        }
        names = {**self.meetings, **other.meetings}
        used, others = self.contended, other.contended
        return Barriers(
            slots,
            {name: self.last_meeting(name).joined(other.last_meeting(name)) for name in names},
            self.in_memory | other.in_memory,
            {
                name: tuple(dict.fromkeys((*used.get(name, ()), *others.get(name, ()))))
                for name in {**used, **others}
            },
            self.waited_in_part | other.waited_in_part,
            self.copies_waited_for_alone & other.copies_waited_for_alone,
        )


def _latest(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """The later epoch of each warp."""
    return {warp: max(one.get(warp, 0), other.get(warp, 0)) for warp in {*one, *other}}


def _are_over(epochs: Mapping[int, int], clocks: np.ndarray) -> bool:
    """Whether these epochs of warps are over, by the `clocks` of others."""
    return all((clocks[:, warp] > epoch).all() for warp, epoch in epochs.items())


def _in_memory(slot: Slot) -> frozenset[tuple[Buffer, int]]:
    storage, index = slot
    if isinstance(storage, Buffer) and storage.scope in SHARED_SCOPES:
        return frozenset({(storage, MBARRIER_BYTES * index)})
    return frozenset()
