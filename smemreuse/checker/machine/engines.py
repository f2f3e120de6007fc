"""The asynchronous engines: what is in flight, in which groups, until which wait (rule 5).

Groups belong to threads. Of each access, every thread that issued it knows how many groups it has
closed since, at the least: a wait for all but the last n groups ends the accesses after which more
than n have been closed. Threads that have always done the same are followed together. Sets of
threads are numbers with a bit for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.traced import ANYONE, AccessKey, TracedAccess
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import Engine

ThreadSet = int
"""Bit `i` is of thread `i`."""

MANY = 64
"""Accesses of one buffer in flight; where there are more, those that are over are looked for."""


def thread_set(ids: np.ndarray) -> ThreadSet:
    """The set of these threads."""
    present = np.zeros(int(ids.max()) + 1 if len(ids) else 0, dtype=bool)
    present[ids] = True
    return int.from_bytes(np.packbits(present, bitorder="little").tobytes(), "little")


class ThreadSets:
    """The sets of arrays of threads, each made once: traces ask with the very same arrays."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[np.ndarray, ThreadSet]] = {}

    def __call__(self, ids: np.ndarray) -> ThreadSet:
        known = self._known.get(id(ids))
        if known is None:
            known = self._known[id(ids)] = (ids, thread_set(ids))
        return known[1]


@dataclass(eq=False)
class Pending:
    """An asynchronous access of some threads. A thread that knows its `bit` knows that it is over.

    `may_be_known`: more threads may know that it is over than are known to.
    """

    engine: Engine
    traced: TracedAccess
    bit: int
    threads: ThreadSet
    may_be_known: bool = False


class Parts:
    """The part of an access that a subset of its threads makes, cached for each subset."""

    def __init__(self) -> None:
        self._known: dict[tuple[AccessKey, ThreadSet], TracedAccess] = {}

    def __call__(self, pending: Pending, threads: ThreadSet) -> TracedAccess:
        traced = pending.traced
        if threads == pending.threads:
            return traced
        key = (traced.key, threads)
        if key not in self._known:
            self._known[key] = _restricted(traced, threads)
        return replace(self._known[key], event=traced.event)


def _restricted(traced: TracedAccess, threads: ThreadSet) -> TracedAccess:
    ids = np.array([one for one in map(int, traced.ids) if threads >> one & 1])
    mine = np.isin(traced.by_thread, ids) | (traced.by_thread == ANYONE)
    where, by_thread = traced.where[mine], traced.by_thread[mine]
    known = not (by_thread == ANYONE).any()
    return TracedAccess(
        traced.buffer,
        where,
        by_thread,
        traced.is_write,
        traced.certain and known,
        ids,
        np.unique(ids // 32),
        traced.event,
        refills=traced.refills,
    )


Groups = dict[Pending, int]
"""The accesses that some threads have in flight, with how many groups they have closed since."""


@dataclass
class Queue:
    """What one engine has in flight, by the threads that have to wait for it.

    The sets of threads are disjoint. A thread in none of them has nothing in flight.
    """

    classes: list[tuple[ThreadSet, Groups]] = field(default_factory=list)

    def copy(self) -> Queue:
        return Queue([(threads, dict(groups)) for threads, groups in self.classes])

    def of(self, threads: ThreadSet) -> Iterator[tuple[ThreadSet, Groups]]:
        """The classes that some threads make up, split off those who do not take part."""
        taking_part = []
        classes, self.classes = self.classes, []
        for members, groups in classes:
            inside, outside = members & threads, members & ~threads
            if outside:
                self.classes.append((outside, dict(groups) if inside else groups))
            if inside:
                taking_part.append((inside, groups))
        for inside, groups in taking_part:
            yield inside, groups
            if groups:
                self._add(inside, groups)

    def _add(self, threads: ThreadSet, groups: Groups) -> None:
        for index, (members, known) in enumerate(self.classes):
            if known == groups:
                self.classes[index] = (members | threads, known)
                return
        self.classes.append((threads, groups))

    @property
    def shape(self) -> set[tuple[ThreadSet, tuple[int, ...]]]:
        """For each class of threads, how many groups have been closed since each access."""
        return {(threads, tuple(sorted(groups.values()))) for threads, groups in self.classes}

    def issue(self, pending: Pending) -> None:
        rest = pending.threads
        for inside, groups in self.of(pending.threads):
            groups[pending] = 0
            rest &= ~inside
        if rest:
            self._add(rest, {pending: 0})

    def commit(self, threads: ThreadSet) -> None:
        for _, groups in self.of(threads):
            for pending in groups:
                groups[pending] += 1

    def retire(self, keep: int, threads: ThreadSet) -> dict[Pending, ThreadSet]:
        """The accesses of all but the last `keep` groups, with those for whom they are over."""
        done: dict[Pending, ThreadSet] = {}
        for inside, groups in self.of(threads):
            for pending in [one for one, closed in groups.items() if closed > keep]:
                del groups[pending]
                done[pending] = done.get(pending, 0) | inside
        return done

    def issuing(self, buffer: Buffer, where: ByteIndices, threads: ThreadSet) -> bool:
        """Whether all of some threads have the same access in the group that they have open.

        An access that other threads may learn to be over does not count as the same.
        """
        for members, groups in self.classes:
            if members & threads and any(
                not closed
                and not one.may_be_known
                and one.traced.buffer is buffer
                and one.traced.where is where
                for one, closed in groups.items()
            ):
                threads &= ~members
        return not threads

    def drop(self, over: set[Pending]) -> None:
        for _, groups in self.classes:
            for pending in over & groups.keys():
                del groups[pending]

    def joined(self, other: Queue) -> Queue:
        """The join: in flight is what is so on either side; of the closed groups, the lesser number
        counts."""
        twin = self.copy()
        for threads, theirs in other.classes:
            rest = threads
            for inside, groups in twin.of(threads):
                for pending, closed in theirs.items():
                    groups[pending] = min(closed, groups.get(pending, closed))
                rest &= ~inside
            if rest:
                twin._add(rest, dict(theirs))
        return twin


@dataclass
class Engines:
    """All that is in flight, by its buffer, for which threads, and the queues of the engines.
    `issued` are the bits of all accesses so far."""

    pending: dict[Buffer, dict[Pending, ThreadSet]] = field(default_factory=dict)
    queues: dict[Engine, Queue] = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)
    sets: ThreadSets = field(default_factory=ThreadSets)
    issued: int = 0

    def copy(self) -> Engines:
        return Engines(
            {buffer: dict(flying) for buffer, flying in self.pending.items()},
            {engine: queue.copy() for engine, queue in self.queues.items()},
            self.parts,
            self.sets,
            self.issued,
        )

    def joined(self, other: Engines) -> Engines:
        """The join after a branch."""
        twin = self.copy()
        for engine, queue in other.queues.items():
            twin.queues[engine] = twin.queue(engine).joined(queue)
        for buffer, flying in other.pending.items():
            mine = twin.pending.setdefault(buffer, {})
            for pending, threads in flying.items():
                mine[pending] = mine.get(pending, 0) | threads
        twin.issued |= other.issued
        return twin

    def queue(self, engine: Engine) -> Queue:
        return self.queues.setdefault(engine, Queue())

    def alike(self, other: Engines) -> bool:
        """Whether as many accesses are in flight, of the same threads, in as many groups."""
        engines = {*self.queues, *other.queues}
        return all(self.queue(one).shape == other.queue(one).shape for one in engines)

    def issue(
        self, engine: Engine, traced: TracedAccess, bit: int, known: int = 0, to_these: int = 0
    ) -> None:
        """An access begins. Those of the `known` bits are over for all threads, and may be dropped;
        those of the bits `to_these` are over for the threads that begin it."""
        flying = self.pending.setdefault(traced.buffer, {})
        if traced.is_write and traced.certain:
            self._supersede(flying, traced, to_these)
        if len(flying) >= MANY:
            self._drop(flying, known)
        pending = Pending(engine, traced, bit, self.sets(traced.ids))
        flying[pending] = pending.threads
        self.issued |= bit
        if engine is not Engine.TMA_LOAD:  # which is in no group
            self.queue(engine).issue(pending)

    def _supersede(
        self, flying: dict[Pending, ThreadSet], traced: TracedAccess, known: int
    ) -> None:
        """Drops the loads into these very bytes that are known to be over before this write of them
        begins: what happens after it happens after them, and what does not conflicts with it."""
        for pending in [*flying]:
            over = pending.engine is Engine.TMA_LOAD and not pending.bit & ~known
            if over and pending.traced.where is traced.where:
                del flying[pending]

    def drop_over(self, known: int) -> None:
        """Drops all that is over for all threads: what has these bits."""
        for flying in self.pending.values():
            self._drop(flying, known)

    def _drop(self, flying: dict[Pending, ThreadSet], known: int) -> None:
        over = {pending for pending in flying if not pending.bit & ~known}
        for pending in over:
            del flying[pending]
        for queue in self.queues.values():
            queue.drop(over)

    def of(self, engine: Engine, buffer: Buffer) -> Iterator[TracedAccess]:
        """An engine's accesses to a buffer whose groups have not been waited for."""
        for pending in self.pending.get(buffer, {}):
            if pending.engine is engine:
                yield pending.traced

    def in_flight(self, buffer: Buffer, known: int) -> Iterator[tuple[int, TracedAccess]]:
        """A buffer's accesses that are not over, or may not be, for those who know these bits; each
        with its bit."""
        for pending in self.pending.get(buffer, {}):
            if pending.bit & ~known:
                traced = pending.traced
                uncertain = pending.may_be_known
                yield pending.bit, replace(traced, certain=False) if uncertain else traced

    def issuing(self, engine: Engine, buffer: Buffer, where: ByteIndices, ids: np.ndarray) -> bool:
        """Whether all of these threads read the same already in the group that they have open."""
        return self.queue(engine).issuing(buffer, where, self.sets(ids))

    def commit(self, engine: Engine, ids: np.ndarray) -> None:
        """Closes a group, for each of these threads its own."""
        self.queue(engine).commit(self.sets(ids))

    def may_be_over(self, engine: Engine, ids: np.ndarray, which: Callable[[int], bool]) -> None:
        """What these threads have in flight is not so for certain, of the groups of which `which`
        holds, by how many have been closed since, this one included: 0 of what is in none yet."""
        for _, groups in self.queue(engine).of(self.sets(ids)):
            for pending, closed in groups.items():
                if which(closed):
                    pending.may_be_known = True

    def wait(
        self, engine: Engine, keep: int, ids: np.ndarray
    ) -> list[tuple[TracedAccess, Pending]]:
        """All but the last `keep` groups of these threads are over for them.

        What is over, as an access that those who waited make now, and the whole that it is of.
        """
        done = []
        for pending, threads in self.queue(engine).retire(keep, self.sets(ids)).items():
            flying = self.pending.get(pending.traced.buffer, {})
            left = flying.pop(pending, 0) & ~threads
            if left:
                flying[pending] = left
            done.append((self.parts(pending, threads), pending))
        return done

    def bits(self, engine: Engine, ids: np.ndarray) -> int:
        """The bits of an engine's accesses in flight that were issued by none but these threads.

        These accesses are over for a thread that knows that all accesses issued so far by these
        threads are. Where other threads issued an access too, only part of it is.
        """
        threads, bits = self.sets(ids), 0
        for flying in self.pending.values():
            for pending in flying:
                if pending.engine is engine and pending.threads & threads:
                    pending.may_be_known = True
                    if not pending.threads & ~threads:
                        bits |= pending.bit
        return bits
