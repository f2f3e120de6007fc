"""The asynchronous engines: what is in flight, in which groups, until which wait (rule 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from smemreuse.checker.traced import TracedAccess
from smemreuse.semantics.effects import Engine


@dataclass(eq=False)
class Pending:
    """An asynchronous access, issued and not yet waited for by all the warps that issued it."""

    traced: TracedAccess


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
class Engines:
    """All that is in flight, for which warps, and the queues of each engine and warp."""

    pending: dict[Pending, frozenset[int]] = field(default_factory=dict)
    queues: dict[tuple[Engine, int], Queue] = field(default_factory=dict)

    def copy(self) -> Engines:
        return Engines(dict(self.pending), {key: one.copy() for key, one in self.queues.items()})

    def joined(self, other: Engines) -> Engines:
        """Either may be the case."""
        twin = self.copy()
        for place in self.queues.keys() | other.queues.keys():
            empty = Queue()
            mine, theirs = self.queues.get(place, empty), other.queues.get(place, empty)
            twin.queues[place] = mine.joined(theirs)
        for pending, warps in other.pending.items():
            twin.pending[pending] = twin.pending.get(pending, frozenset()) | warps
        return twin

    def queue(self, engine: Engine, warp: int) -> Queue:
        return self.queues.setdefault((engine, warp), Queue())

    def issue(self, engine: Engine, traced: TracedAccess) -> None:
        pending = Pending(traced)
        self.pending[pending] = frozenset(map(int, traced.warps))
        for warp in self.pending[pending]:
            self.queue(engine, warp).uncommitted.append(pending)

    def commit(self, engine: Engine, warps: Sequence[int], counted: Sequence[int]) -> None:
        """Closes a group of each warp, for each thread its own.

        In all but the `counted` warps, only some threads do: they are ahead of the rest then.
        """
        for warp in warps:
            queue = self.queue(engine, warp)
            queue.counted = queue.counted and warp in counted
            queue.commit()

    def wait(
        self, engine: Engine, keep: int, ids: np.ndarray, warps: Sequence[int], full: Sequence[int]
    ) -> list[TracedAccess]:
        """Retires all but the last `keep` groups: from here on, accesses of the warps that waited.

        All threads of the `full` warps wait, only those in `ids` of the others.
        """
        done = []
        for warp in warps:
            for pending in self.queue(engine, warp).retire(keep):
                issued = pending.traced.ids
                if warp not in full and not np.isin(issued[issued // 32 == warp], ids).all():
                    continue  # other threads wait than those that issued it
                if pending in self.pending:
                    self.pending[pending] -= {warp}
                done.append(pending.traced.of_warp(warp))
        self.pending = {one: waiting for one, waiting in self.pending.items() if waiting}
        return done
