"""How often each thread has come to the barriers of all threads (rule 12).

A barrier is passed when enough threads have arrived, wherever they stand. A thread waits for the
barrier each time, so the n-th arrival of one thread counts with the n-th arrivals of the others,
and with nothing else. Only threads that come equally often meet where the text has one barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.machine.order import NOTHING, Knowledge, ReleasedClocks
from smemreuse.ir.kernel import Stmt
from smemreuse.semantics.effects import Group

Resource: TypeAlias = int | Group
"""One barrier: a number of the block's, or the one of its cluster, of the grid, of each warp."""

BLOCK: Resource = 0
"""The block's own barrier, that of `__syncthreads`."""


MOST_AHEAD = 2_000
"""How often threads may come to a barrier in a trace before others have come once."""


class MismatchKind(Enum):
    """Why threads at a barrier, or at an operation of whole warps, are not those it is for."""

    MISSING = "others do not come, or have come less often"
    OPEN = "it is not known which threads come how often"
    PART_OF_A_WARP = "other lanes of their warp do not come with them"
    NOT_NAMED = "the mask does not name them"
    ARRIVED_TWICE = "they arrive once more before they have waited"
    NOT_ARRIVED = "they wait without having arrived"
    AFTER_OTHERS = "they come only after others have passed it, who wait there for them"
    SHARED = "other threads may be at that barrier at once"


@dataclass(frozen=True)
class Mismatch:
    """Threads that come to a barrier which may be passed without those whom it is for.

    `who` are those to whom the kind applies: who is missing, not named, there as well; empty where
    that is not known. `ahead` is a thread that waits for them, if there is one. `uses` are the
    statements where a named barrier can be followed as one that orders nothing, if it can.
    """

    kind: MismatchKind
    resource: Resource
    who: np.ndarray = field(default_factory=lambda: np.arange(0))
    ahead: int | None = None
    certain: bool = False
    uses: frozenset[Stmt] = frozenset()


@dataclass(frozen=True)
class Came:
    """Threads have come to the barriers of all threads `barriers`; to none of these, if they come
    to one of their own, which has the number `named` in the block. `contended`: it is passed, and
    orders nothing, since others may be there at once."""

    barriers: tuple[Resource, ...] = ()
    mismatch: Mismatch | None = None
    named: int | None = None
    contended: bool = False

    @property
    def kind(self) -> MismatchKind | None:
        """Why it may be passed without those whom it is for; None if it is not."""
        if self.contended:
            return MismatchKind.SHARED
        return None if self.mismatch is None else self.mismatch.kind


@dataclass(frozen=True)
class Arrivals:
    """Of one barrier and each thread: how often it has arrived and passed, above the least number.

    `handed` is what the arrivals of a phase hand over, by how often its threads had arrived before;
    `gone` how far those warps have come by now who have passed that phase.
    """

    arrived: np.ndarray
    passed: np.ndarray
    handed: Mapping[int, ReleasedClocks] = field(default_factory=dict)
    gone: Mapping[int, Knowledge] = field(default_factory=dict)

    @staticmethod
    def none(threads: int) -> Arrivals:
        """All threads have come equally often."""
        return Arrivals(np.zeros(threads, np.int64), np.zeros(threads, np.int64))

    @property
    def is_even(self) -> bool:
        """Whether all threads have come equally often, and wait for nothing."""
        return not self.arrived.any() and not self.passed.any()

    @property
    def lets_all_pass(self) -> bool:
        """Whether all that threads have waited for is complete."""
        return int(self.passed.max()) <= int(self.arrived.min())

    def alike(self, ids: np.ndarray) -> Iterator[np.ndarray]:
        """Those of the threads `ids` that have arrived equally often, and so on."""
        here = self.arrived[ids]
        counts = np.unique(here).tolist()
        for count in counts:
            yield ids if len(counts) == 1 else ids[here == count]

    def coming(
        self,
        ids: np.ndarray,
        handed: Mapping[int, ReleasedClocks],
        *,
        arrive: int,
        wait: int,
        gone: Knowledge = NOTHING,
    ) -> Arrivals:
        """After `ids` have arrived and waited so often; `handed` is what they hand over, `gone` how
        far they have come when they have waited."""
        arrived, passed = self.arrived.copy(), self.passed.copy()
        over = {**self.gone}
        for phase in range(int(passed[ids[0]]), int(passed[ids[0]]) + wait):
            over[phase] = over.get(phase, NOTHING) | gone
        arrived[ids] += arrive
        passed[ids] += wait
        both = {**self.handed}
        for phase, released in handed.items():
            both[phase] = both[phase] | released if phase in both else released
        least = int(passed.min())
        if len(both) > MOST_AHEAD:
            raise Uncovered(f"some threads come to a barrier {len(both):,} times before the others")
        kept = {phase - least: released for phase, released in both.items() if phase >= least}
        left = {phase - least: known for phase, known in over.items() if phase >= least}
        return Arrivals(arrived - least, passed - least, kept, left)

    def joined(self, other: Arrivals) -> Arrivals | None:
        """What holds of both; None where threads have come differently often."""
        if other is self:
            return self
        if not np.array_equal(self.arrived, other.arrived):
            return None
        if not np.array_equal(self.passed, other.passed):
            return None
        common = self.handed.keys() & other.handed.keys()
        handed = {phase: self.handed[phase] & other.handed[phase] for phase in common}
        both = self.gone.keys() & other.gone.keys()
        gone = {phase: self.gone[phase] & other.gone[phase] for phase in both}
        return Arrivals(self.arrived, self.passed, handed, gone)


class Pairings:
    """The arrivals at each barrier; None where it is open how often threads have come."""

    def __init__(self, threads: int):
        self._even: Arrivals | None = Arrivals.none(threads)
        self._uneven: dict[Resource, Arrivals | None] = {}

    def __getitem__(self, resource: Resource) -> Arrivals | None:
        return self._uneven.get(resource, self._even)

    def is_even(self, resource: Resource) -> bool:
        """Whether all threads are known to have come equally often."""
        return self._even is not None and resource not in self._uneven

    def set(self, resource: Resource, arrivals: Arrivals) -> None:
        """What the arrivals are from now on."""
        self._uneven.pop(resource, None)
        if self._even is None or not arrivals.is_even:
            self._uneven[resource] = arrivals

    def forget(self, resource: Resource) -> None:
        """From now on it is open how often threads have come."""
        self._uneven[resource] = None

    def forget_all(self) -> None:
        """The same for every barrier, those that have not been used yet too."""
        self._even = None
        self._uneven = dict.fromkeys(self._uneven)

    def uneven(self) -> Iterator[tuple[Resource, Arrivals | None]]:
        """The barriers that not all threads are known to have come to equally often."""
        yield from self._uneven.items()

    def may_await(self, ids: np.ndarray, others: np.ndarray) -> bool:
        """Whether some of the others have passed a barrier that some of `ids` have yet to come to,
        so that what the others did last may happen after what `ids` do now."""
        return any(
            arrivals is None or arrivals.passed[others].max() > arrivals.arrived[ids].min()
            for arrivals in self._uneven.values()
        )

    def copy(self) -> Pairings:
        twin = object.__new__(Pairings)
        twin._even, twin._uneven = self._even, dict(self._uneven)
        return twin

    def joined(self, other: Pairings) -> Pairings:
        """The join after a branch."""
        twin = self.copy()
        if other._even is None:
            twin.forget_all()
        for resource in self._uneven.keys() | other._uneven.keys():
            one, two = self[resource], other[resource]
            joined = None if one is None or two is None else one.joined(two)
            if joined is None:
                twin.forget(resource)
            else:
                twin.set(resource, joined)
        return twin
