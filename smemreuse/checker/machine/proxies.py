"""Rule 11: generic accesses, and the writes of the async proxy that come after them.

What the async proxy writes must find every earlier generic access to the bytes, reads too, ordered
before it *with a proxy fence on the way*: by a thread that has made or learned of the access and
hands on what it knows. So fences are kept like clocks, but for each thread, since often one alone
makes the fence. What the async proxy reads asks for nothing: its own buffer has been written since,
or rule 2 finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from smemreuse.checker.layout import ByteLayout, ByteSet, meeting
from smemreuse.checker.machine.history import Key, Older, by_kind, united
from smemreuse.checker.machine.order import Order
from smemreuse.checker.machine.recent import Recent
from smemreuse.checker.traced import TracedAccess
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import LANES, Proxy

MAX_PLACES = 256
"""Accesses to one buffer that are kept separately; more are merged into one read and one write."""


class Fences:
    """For each thread, up to which epoch of each warp accesses are followed by a proxy fence.

    Generic accesses of warp `w` in its epoch `n` come before what the async proxy does for thread
    `t` of warp `v` from now on, if `reach[v, t % 32, w] > n`.
    """

    def __init__(self, warps: int):
        self.reach = np.zeros((warps, LANES, warps), dtype=np.int64)

    def copy(self) -> Fences:
        twin = Fences(0)
        twin.reach = self.reach.copy()
        return twin

    def fence(
        self, ids: np.ndarray, full: np.ndarray, order: Order, *, assumed: bool = False
    ) -> None:
        """Threads make a fence: for accesses of their own, and for those known to come before.

        Their own are known of `full` warps only, all of whose threads are among `ids`. A fence that
        is there counts on no barrier that is only assumed, which may come after it; one that is
        `assumed` itself stands with such a barrier before what needs both, in either order.
        """
        clock = order.clock if assumed else order.sure
        order.advance(full)
        reached = clock.copy()
        reached[full, full] = order.epochs[full]
        warps, lanes = ids // LANES, ids % LANES
        self.reach[warps, lanes] = np.maximum(self.reach[warps, lanes], reached[warps])

    def barrier(self, warps: np.ndarray) -> None:
        """All threads of `warps` meet."""
        if len(warps) == len(self.reach):
            self.reach[:] = self.reach.max(axis=(0, 1))
        elif len(warps):
            self.reach[warps] = self.reach[warps].max(axis=(0, 1))

    def release(self, warps: np.ndarray) -> np.ndarray:
        """What `warps`, all of whose threads arrive, hand over."""
        handed: np.ndarray = self.reach[warps].max(axis=(0, 1))
        return handed

    def acquire(self, warps: np.ndarray, handed: np.ndarray) -> None:
        self.reach[warps] = np.maximum(self.reach[warps], handed)

    def release_in_part(self, ids: np.ndarray) -> np.ndarray:
        """What these threads, of no warp all of them, hand over: how far any of theirs reach."""
        handed: np.ndarray = self.reach[ids // LANES, ids % LANES].max(axis=0)
        return handed

    def of(self, ids: np.ndarray) -> np.ndarray:
        """How far the fences of all these threads reach."""
        least: np.ndarray = self.reach[ids // LANES, ids % LANES].min(axis=0)
        return least

    def with_all_reached(self, latest: np.ndarray, epochs: np.ndarray) -> Fences:
        """The same, where no warp has accessed anything after the epochs `latest`, and all of them
        are in `epochs` at the most: a fence that reaches the last access reaches whatever came
        since."""
        twin = Fences(0)
        is_all = (self.reach > latest) | (latest == 0)
        twin.reach = np.where(is_all, np.maximum(self.reach, epochs), self.reach)
        return twin

    def joined(self, other: Fences) -> Fences:
        """What holds in both, after a branch that may have gone either way."""
        twin = Fences(0)
        twin.reach = np.minimum(self.reach, other.reach)
        return twin


class GenericAccesses:
    """The generic accesses to each buffer that shares bytes."""

    def __init__(self, layout: ByteLayout, warps: int):
        self._layout = layout
        self._warps = warps
        self._places: dict[Buffer, dict[Key, Recent]] = {}
        self._stacks: dict[Buffer, tuple[list[Recent], np.ndarray]] = {}
        self.latest = np.zeros(warps, dtype=np.int64)
        """The epoch of each warp's last one."""

    def copy(self) -> GenericAccesses:
        twin = GenericAccesses(self._layout, self._warps)
        twin._places = {buffer: dict(places) for buffer, places in self._places.items()}
        twin.latest = self.latest.copy()
        return twin

    def joined(self, other: GenericAccesses) -> GenericAccesses:
        """The join after a branch: the accesses of both sides."""
        twin = self.copy()
        for buffer, places in other._places.items():
            mine = self._places.get(buffer, {})
            for key, place in places.items():
                if mine.get(key) is not place:
                    twin._note(buffer, key, place)
        twin.latest = np.maximum(self.latest, other.latest)
        return twin

    def note(self, traced: TracedAccess, order: Order) -> None:
        """Remembers an access, in the present epochs of its warps, if it was a generic one."""
        if traced.proxy is Proxy.GENERIC:
            latest = np.zeros(self._warps, dtype=np.int64)
            latest[traced.warps] = order.epochs[traced.warps]
            self.latest[traced.warps] = order.epochs[traced.warps]
            touched = self._layout.byte_set(traced.where)
            self._note(traced.buffer, traced.key, Recent(traced, touched, latest))

    def _note(self, buffer: Buffer, key: Key, new: Recent) -> None:
        places = self._places.setdefault(buffer, {})
        self._stacks.pop(buffer, None)
        known = places.get(key)
        if known is None and len(places) >= MAX_PLACES:
            places = self._places[buffer] = by_kind(places.values())
            known = places.get(key)
        if known is not None:
            new = united([known, new]) if isinstance(key, Older) else known.again(new)
        places[key] = new

    def before(
        self, traced: TracedAccess, partner: Buffer, reached: np.ndarray
    ) -> Iterator[Recent]:
        """Accesses of `partner` to these bytes that no fence reaches."""
        theirs = self._layout.in_other(traced.buffer, partner, traced.where)
        if not len(theirs) or partner not in self._places:
            return
        touched = self._layout.byte_set(theirs)
        places, epochs = self._stacked(partner)
        is_late = ((epochs >= reached) & (epochs > 0)).any(axis=1)
        for at in np.flatnonzero(is_late).tolist():
            if places[at].touched.meets(touched):
                yield _met(places[at], touched)

    def _stacked(self, buffer: Buffer) -> tuple[list[Recent], np.ndarray]:
        """What was accessed of a buffer, and the epochs of each place, a row for each."""
        if buffer not in self._stacks:
            places = list(self._places[buffer].values())
            self._stacks[buffer] = places, np.array([place.epochs for place in places])
        return self._stacks[buffer]


def _met(entry: Recent, touched: ByteSet) -> Recent:
    """An access that some bytes are met by; of several the last one to the first of them."""
    traced = entry.traced
    common = None if traced.events is None else meeting(traced.where, touched.where)
    if traced.events is None or common is None:
        return entry
    return replace(entry, traced=replace(traced, event=int(traced.events[common[0][0]])))


class Proxies:
    """The generic accesses so far, and the fences after them."""

    def __init__(self, layout: ByteLayout, warps: int):
        self.fences = Fences(warps)
        self.generic = GenericAccesses(layout, warps)
        self.written = GenericAccesses(layout, warps)
        self._layout = layout

    def copy(self) -> Proxies:
        return self._of(self.fences.copy(), self.generic.copy(), self.written.copy())

    def joined(self, other: Proxies, epochs: np.ndarray) -> Proxies:
        """The join after a branch, where warps are in `epochs`."""
        mine, theirs = (
            one.fences.with_all_reached(one.generic.latest, epochs) for one in (self, other)
        )
        return self._of(
            mine.joined(theirs),
            self.generic.joined(other.generic),
            self.written.joined(other.written),
        )

    def _of(self, fences: Fences, generic: GenericAccesses, written: GenericAccesses) -> Proxies:
        twin = object.__new__(Proxies)
        twin.fences, twin.generic, twin.written = fences, generic, written
        twin._layout = self._layout
        return twin

    def note(self, traced: TracedAccess, order: Order) -> None:
        """Remembers an access, if it was a generic one; which ones write matters where a buffer is
        its own partner, and the async proxy reads what they wrote."""
        self.generic.note(traced, order)
        if traced.is_write and traced.buffer in self._layout.partners[traced.buffer]:
            self.written.note(traced, order)

    def unfenced(self, traced: TracedAccess, partner: Buffer) -> TracedAccess | None:
        """A generic access of `partner` to bytes that the async proxy writes now, or a generic
        write to those that it reads, without a fence in between; None if there is none."""
        reached = self.fences.of(traced.ids)
        place = next(self._unreached(traced, partner, reached), None)
        return None if place is None else place.traced

    def _unreached(
        self, traced: TracedAccess, partner: Buffer, reached: np.ndarray
    ) -> Iterator[Recent]:
        generic = self.generic if traced.is_write else self.written
        return generic.before(traced, partner, reached)

    def may_be_fenced(self, traced: TracedAccess, partner: Buffer, order: Order) -> bool:
        """Whether all that is unfenced may be fenced all the same: whoever accessed the bytes has
        made a fence since, and a barrier that is yet to be put in hands it on."""
        reached = self.fences.of(traced.ids)
        return all(
            self._is_handed_on(traced.warps, place.epochs, reached, order)
            for place in self._unreached(traced, partner, reached)
        )

    def _is_handed_on(
        self, mine: np.ndarray, accessed: np.ndarray, reached: np.ndarray, order: Order
    ) -> bool:
        late = np.flatnonzero((accessed > 0) & (accessed >= reached))
        epochs = accessed[late]
        own = self.fences.reach[late, :, late].min(axis=1)
        assumed = order.clock[np.ix_(mine, late)] > epochs
        sure = order.sure[np.ix_(mine, late)] > epochs
        is_own = mine[:, None] == late
        by_barriers = bool((assumed | is_own).all()) and not (sure | is_own).all()
        return by_barriers and bool((own > epochs).all())
