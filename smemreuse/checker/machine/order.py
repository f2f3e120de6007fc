"""Happens-before: a vector clock for each warp over all warps, counted in barriers.

An event of warp `w` in its epoch `n` happens before an event of warp `v` if `clock[v][w] > n`.
Program order alone orders nothing across threads. What else a warp knows to be over, copies and
phases of barriers, is passed on like clocks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np


@dataclass(frozen=True)
class Progress:
    """What is known of a warp's progress, as `Knowledge` has it: so many of its steps are over."""

    warp: int


CLOCKS = 4
"""Counting with all barriers that may be put in, and all that a warp did of which some threads
arrive; with these barriers alone; with those that surely are put in; with none."""


@dataclass(frozen=True)
class Knowledge:
    """What is known to be over: copies, a bit for each, and phases, so many of each barrier."""

    copies: int = 0
    phases: Mapping[Hashable, int] = field(default_factory=dict)

    def __or__(self, other: Knowledge) -> Knowledge:
        """What one of the two knows."""
        if other is self or other is NOTHING:
            return self
        if self is NOTHING:
            return other
        copies, phases = self.copies | other.copies, _most(self.phases, other.phases)
        if phases is self.phases and copies == self.copies:
            return self  # one object for what is known alike: it is then compared by identity
        if phases is other.phases and copies == other.copies:
            return other
        return Knowledge(copies, phases)

    def __and__(self, other: Knowledge) -> Knowledge:
        """What both know."""
        if other is self:
            return self
        mine, theirs = self.phases, other.phases
        least = {key: min(count, theirs[key]) for key, count in mine.items() if key in theirs}
        return Knowledge(self.copies & other.copies, least)

    def also(self, copies: int) -> Knowledge:
        """The same, and that some more copies are over."""
        return self if not copies & ~self.copies else Knowledge(self.copies | copies, self.phases)

    def phase(self, barrier: Hashable) -> int:
        """How many phases of a barrier are known to be complete."""
        return self.phases.get(barrier, 0)

    def knows_any_of(self, other: Knowledge) -> bool:
        """Whether it has all that is known there of one barrier, or of the progress of one warp."""
        return any(self.phase(key) >= count for key, count in other.phases.items())


def _most(one: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> Mapping[Hashable, int]:
    """The larger number for each barrier; one of the two as it is, if it has them all."""
    if one is other:
        return one
    if len(one) < len(other):
        one, other = other, one
    more = {key: count for key, count in other.items() if count > one.get(key, 0)}
    return {**one, **more} if more else one


_LATEST = np.iinfo(np.int64).max
NOTHING = Knowledge()


@dataclass(frozen=True)
class ReleasedClocks:
    """What arriving threads hand over to those who wait: both clocks, what is known to be over, and
    how far the proxy fences reach that they have after them (rule 11)."""

    clocks: np.ndarray
    known: Knowledge
    fenced: np.ndarray

    @staticmethod
    def only(warps: int, known: Knowledge) -> ReleasedClocks:
        """What is known to be over, and no access of a thread ordered by it."""
        return ReleasedClocks(np.zeros((CLOCKS, warps), np.int64), known, np.zeros(warps, np.int64))

    def also(self, copies: int) -> ReleasedClocks:
        """The same, and that some more copies are over."""
        return ReleasedClocks(self.clocks, self.known.also(copies), self.fenced)

    def with_fences(self, fenced: np.ndarray) -> ReleasedClocks:
        """The same, and how far fences reach."""
        return ReleasedClocks(self.clocks, self.known, fenced)

    def __or__(self, other: ReleasedClocks) -> ReleasedClocks:
        """What two arrivals hand over together."""
        return ReleasedClocks(
            np.maximum(self.clocks, other.clocks),
            self.known | other.known,
            np.maximum(self.fenced, other.fenced),
        )

    def __and__(self, other: ReleasedClocks) -> ReleasedClocks:
        """What is handed over whichever of the two it was."""
        return ReleasedClocks(
            np.minimum(self.clocks, other.clocks),
            self.known & other.known,
            np.minimum(self.fenced, other.fenced),
        )


class Order:
    """Vector clocks over warps, and what each warp knows to be over.

    `clock` counts with all barriers that a later pass may put in, and where some threads of a warp
    arrive by themselves, with all that their warp did; `of_warps` with nothing that it did.
    `inserted` counts with those barriers alone that surely are put in, `sure` with those that are
    there. What is not ordered by `clock` is not ordered; what is by `inserted` is. `alone` are the
    threads that have arrived without others of their warp.

    `steps` counts the waits that each warp has passed, which are handed on as knowledge like
    phases: whoever hears of some threads of a warp knows that the warp has come so far.
    """

    def __init__(self, warps: int):
        self._clocks = np.zeros((CLOCKS, warps, warps), dtype=np.int64)
        self.epochs = np.ones(warps, dtype=np.int64)
        self.alone = np.zeros(32 * warps, dtype=bool)
        self.steps = np.zeros(warps, dtype=np.int64)
        self.known = [NOTHING] * warps
        self._distinct_now: dict[int, tuple[np.ndarray, list[Knowledge]]] = {}
        self._known_to_all: dict[int, tuple[np.ndarray, Knowledge]] = {}
        self._surely_past: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._past_for: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def copy(self) -> Order:
        twin = Order(0)
        twin._clocks, twin.epochs = self._clocks.copy(), self.epochs.copy()
        twin.alone = self.alone
        twin.steps = self.steps.copy()
        twin.known = list(self.known)
        return twin

    @property
    def clock(self) -> np.ndarray:
        """For each warp, the epochs of each warp that are over before what it does now."""
        clock: np.ndarray = self._clocks[0]
        return clock

    @property
    def of_warps(self) -> np.ndarray:
        """As `clock`, but of a warp of which some threads arrive nothing counts that it did."""
        clock: np.ndarray = self._clocks[1]
        return clock

    @property
    def inserted(self) -> np.ndarray:
        """As `of_warps`, but counting on those barriers alone that are surely put in."""
        clock: np.ndarray = self._clocks[2]
        return clock

    @property
    def sure(self) -> np.ndarray:
        """As `of_warps`, but counting on no barrier that is yet to be put in."""
        clock: np.ndarray = self._clocks[3]
        return clock

    def known_to_some(self, warps: np.ndarray) -> Knowledge:
        """What any of these warps knows, which have met, and how far each of them has come."""
        return reduce(Knowledge.__or__, self._distinct(warps), self.progress(warps))

    def progress(self, warps: np.ndarray) -> Knowledge:
        """How far these warps have come."""
        steps = zip(warps.tolist(), self.steps[warps].tolist(), strict=True)
        reached: dict[Hashable, int] = {Progress(warp): count for warp, count in steps if count}
        return Knowledge(0, reached) if reached else NOTHING

    def step(self, warps: np.ndarray) -> np.ndarray:
        """These warps make a step; its number for each of them."""
        self.steps[warps] += 1
        steps: np.ndarray = self.steps[warps]
        return steps

    def known_to_all(self, warps: np.ndarray) -> Knowledge:
        """What each of these warps knows."""
        remembered = self._known_to_all.get(id(warps))
        if remembered is None:
            found = self._distinct(warps)
            known = reduce(Knowledge.__and__, found) if found else NOTHING
            remembered = self._known_to_all[id(warps)] = (warps, known)
        return remembered[1]

    def known_to_any(self, warps: np.ndarray) -> int:
        """The bits of the copies that some of these warps know to be over."""
        return reduce(int.__or__, (one.copies for one in self._distinct(warps)), 0)

    def _distinct(self, warps: np.ndarray) -> list[Knowledge]:
        """Each object once: warps that have met share theirs."""
        remembered = self._distinct_now.get(id(warps))
        if remembered is not None:
            return remembered[1]
        each = map(self.known.__getitem__, warps.tolist())
        found = list({id(known): known for known in each}.values())
        self._distinct_now[id(warps)] = (warps, found)
        return found

    def surely_past(self, warps: np.ndarray) -> np.ndarray:
        """For each warp an epoch, 1 at the least: those before it are over for all of `warps`, by
        the barriers that are surely put in."""
        remembered = self._surely_past.get(id(warps))
        if remembered is None:
            least = self.inserted[warps].min(axis=0, initial=_LATEST)
            remembered = self._surely_past[id(warps)] = (warps, np.maximum(least, 1))
        return remembered[1]

    def past_for(self, warps: np.ndarray) -> np.ndarray:
        """The rows of `inserted` of these warps; 0 for all others."""
        remembered = self._past_for.get(id(warps))
        if remembered is None:
            rows = np.zeros_like(self.inserted)
            rows[warps] = self.inserted[warps]
            remembered = self._past_for[id(warps)] = (warps, rows)
        return remembered[1]

    def _forget_past(self) -> None:
        self._surely_past.clear()
        self._past_for.clear()

    def _forget_known(self) -> None:
        self._distinct_now.clear()
        self._known_to_all.clear()

    def _learn(self, warps: np.ndarray, learned: Knowledge) -> None:
        """Adds knowledge to each of these warps."""
        merged = {id(known): known | learned for known in self._distinct(warps)}
        self._forget_known()
        if len(merged) == 1:
            (one,) = merged.values()
            for warp in warps.tolist():
                self.known[warp] = one
            return
        for warp in warps.tolist():
            self.known[warp] = merged[id(self.known[warp])]

    def barrier(self, warps: np.ndarray) -> None:
        """All threads of `warps` meet: what any of them knew all know, and a new epoch begins."""
        if not len(warps):
            return
        known = self.known_to_some(warps)
        self._meet(warps, self._clocks)
        self._forget_known()
        for warp in warps.tolist():
            self.known[warp] = known

    def assume_barrier(self, warps: np.ndarray, *, optimistic: bool = False) -> None:
        """A barrier that a later pass may insert here: advances `clock` and `of_warps`;
        `optimistic`, also `inserted`."""
        if len(warps):
            self._meet(warps, self._clocks[: 3 if optimistic else 2])

    def insert(
        self, warps: np.ndarray, epochs: np.ndarray, known: np.ndarray, among: np.ndarray | None
    ) -> None:
        """A barrier is surely inserted: `warps` happen after these epochs of the other warps, and
        after what each of them has `known` then. With `among`, only those warps count."""
        which = slice(None) if among is None else among
        learned = known[which].max(axis=0, initial=0)
        learned[which] = np.maximum(learned[which], epochs[which] + 1)
        self._forget_past()
        self._clocks[:3, warps] = np.maximum(self._clocks[:3, warps], learned)

    def is_inserted(self, warps: np.ndarray, epochs: np.ndarray, among: np.ndarray | None) -> bool:
        """Whether `insert` would add nothing about these epochs."""
        clock = self.inserted[warps]
        if among is None:
            return bool((clock > epochs).all())
        return bool((clock[:, among] > epochs[among]).all())

    def advance(self, warps: np.ndarray) -> None:
        """Begins a new epoch for warps, without a barrier."""
        self.epochs[warps] += 1

    def _meet(self, warps: np.ndarray, clocks: np.ndarray) -> None:
        self.epochs[warps] += 1
        self._forget_past()
        if len(warps) == len(self.known):
            clocks[:] = self.epochs
            return
        merged = clocks[:, warps].max(axis=1)
        merged[:, warps] = self.epochs[warps]
        clocks[:, warps] = merged[:, None]

    def release(self, warps: np.ndarray) -> ReleasedClocks:
        """What `warps`, all of whose threads arrive, hand over; their next accesses come later."""
        clocks = self._clocks[:, warps].max(axis=1)
        self.epochs[warps] += 1
        self._forget_past()
        clocks[:, warps] = self.epochs[warps]  # the threads of one warp are not ordered by this
        return ReleasedClocks(clocks, self.known_to_some(warps), np.zeros_like(self.epochs))

    def release_in_part(self, ids: np.ndarray) -> ReleasedClocks:
        """What these threads, of no warp all of them, hand over together, who are all waited for:
        their own accesses not surely, since clocks do not tell these from others of their warps."""
        warps = np.unique(ids // 32)
        clocks = self._clocks[:, warps].max(axis=1)
        self.epochs[warps] += 1
        self._forget_past()
        clocks[0, warps] = self.epochs[warps]
        self.alone = self.alone.copy()
        self.alone[ids] = True
        return ReleasedClocks(clocks, self.known_to_some(warps), np.zeros_like(self.epochs))

    def acquire(
        self, warps: np.ndarray, handed: ReleasedClocks, beside: Knowledge = NOTHING
    ) -> None:
        """`warps` have waited for what was handed over, and know something `beside` it."""
        self._forget_past()
        self._clocks[:, warps] = np.maximum(self._clocks[:, warps], handed.clocks[:, None])
        self._learn(warps, handed.known | beside)

    def note_phase(self, warps: np.ndarray, barrier: Hashable, phases: int) -> None:
        """These warps know that so many phases of a barrier are complete."""
        self._learn(warps, Knowledge(0, {barrier: phases}))

    def joined(self, other: Order, mine: int = 0, theirs: int = 0) -> Order:
        """The join after a branch: only what both sides order. The copies `mine` were made on this
        side alone, `theirs` on the other one: on any other side they are over."""
        twin = Order(0)
        twin._clocks = np.minimum(self._clocks, other._clocks)
        twin.epochs = np.maximum(self.epochs, other.epochs)
        twin.alone = self.alone | other.alone
        twin.steps = np.maximum(self.steps, other.steps)
        twin.known = [
            one.also(theirs) & two.also(mine)
            for one, two in zip(self.known, other.known, strict=True)
        ]
        return twin
