"""Whether what is read in a scope has been written in it before, byte by byte (rules 2 and 3).

Statements are followed in order with the bytes that were surely written so far. Where no thread
waits for one that is elsewhere, others can be ordered only as the statements are. Where the reading
and the writing thread differ, all have to meet in between: without that there is a race, harmless
perhaps for as long as nobody else's bytes lie there, since an earlier iteration may have written
the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from smemreuse.checker.budget import STATEMENT, Work
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.facts import Facts
from smemreuse.checker.separation.reach import Reach
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Attr, Bind, Block, For, If, Stmt, While
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.evaluate import Parted, Threads, evaluate, require_alike

MAX_ROUNDS = 64
"""Iterations of a loop that are followed one by one."""

MAX_STEPS = 2_000
"""Statements that one proof may follow."""

MAX_LANES = 1 << 16
"""Threads times iterations that are enumerated at once."""

MAX_PLACES = 1 << 22
"""Bytes of one access that are enumerated, each once for every place where it begins."""


MET, SEVERAL, NOBODY = -1, -2, -3
"""In place of the thread that first wrote a byte: all threads have met since then, several wrote
it, or none."""


Located = tuple[np.ndarray, np.ndarray]


class Exposed(Exception):
    """An upward-exposed read: a byte may be read that was not written in the scope."""


class Privacy:
    """Follows what is done to one buffer, of `size` bytes."""

    def __init__(
        self,
        facts: Facts,
        accesses: Mapping[Stmt, Sequence[MemoryAccess]],
        size: int,
        group: Reach,
        prediction: Prediction | None,
        work: Work,
    ):
        """`group` are the threads that come to the scope, `prediction` the barriers that a later
        pass puts in."""
        self._facts = facts
        self._accesses = accesses
        self._size = size
        self._group = group
        self._barriers = facts.meeting(group)
        self._prediction = prediction
        self._work = work
        self._steps = 0
        self._writers: set[Stmt] = set()
        """What has written the buffer since all threads met."""

    def require(self, statements: Sequence[Stmt], threads: Threads, common: slice) -> None:
        """Raises `Exposed` if a byte in `common` may be read that is not written before."""
        written = np.full(self._size, MET)
        written[common] = NOBODY
        self._sequence(statements, threads, written, True)

    def _sequence(
        self, statements: Sequence[Stmt], threads: Threads, written: np.ndarray, surely: bool
    ) -> np.ndarray:
        """The bytes written after some statements; `surely` if all of the threads are there."""
        for stmt in statements:
            if isinstance(stmt, Bind):
                threads = threads.bind(stmt.var, evaluate(stmt.value, threads))
            elif isinstance(stmt, Attr):
                threads = self._facts.reaches.inside(stmt, threads)
            if self._facts.acting(stmt):
                written = self._statement(stmt, threads, written, surely)
        return written

    def _statement(
        self, stmt: Stmt, threads: Threads, written: np.ndarray, surely: bool
    ) -> np.ndarray:
        self._steps += 1
        self._work.do(STATEMENT)
        if self._steps > MAX_STEPS:
            raise Exposed
        if self._is_put_before(stmt):
            written = self._all_met(written)
        for access in self._accesses.get(stmt, ()):
            written = self._accessed(access, threads, written, surely)
            if access.access is not Access.READ:
                self._writers.add(stmt)
        if isinstance(stmt, If):
            return self._branch(stmt, threads, written, surely)
        if isinstance(stmt, For):
            return self._for(stmt, threads, written, surely)
        if isinstance(stmt, While):
            self._any_rounds(stmt, threads, written, surely)
        return self._all_met(written) if stmt in self._barriers else written

    def _all_met(self, written: np.ndarray) -> np.ndarray:
        """After a barrier of all threads."""
        self._writers.clear()
        return np.where(written == NOBODY, NOBODY, MET)

    def _is_put_before(self, stmt: Stmt) -> bool:
        """Whether a later pass puts a barrier of all threads between a statement and each one that
        has written since they met. It puts none between accesses to what it takes for the bytes of
        one thread: that is so of a replicated value, which several threads store alike."""
        found = self._prediction
        if found is None or not self._writers or stmt not in self._accesses:
            return False
        if not self._facts.assumed_for(stmt, self._group):
            return False
        return all(found.collides_latest(one, stmt) for one in self._writers)

    def _any_rounds(
        self, stmt: For | While, threads: Threads, written: np.ndarray, surely: bool
    ) -> None:
        """A loop that may have no round, or many: none counts on another."""
        surely = surely and not self._facts.reaches.iterates_divergently(stmt)
        within, before = self._facts.reaches.inside(stmt, threads), frozenset(self._writers)
        self._block(stmt.body, within, written, surely)
        self._writers |= before  # where there is no round, no barrier in it has come

    def _block(
        self, block: Block, threads: Threads, written: np.ndarray, surely: bool
    ) -> np.ndarray:
        statements = self._facts.tree.scopes[block].statements if block else ()
        return self._sequence(statements, threads, written, surely)

    def _accessed(
        self, access: MemoryAccess, threads: Threads, written: np.ndarray, surely: bool
    ) -> np.ndarray:
        if threads.count == 0:
            return written
        located = self._places(access, threads)
        if access.access is not Access.WRITE:
            self._read(access, located, written)
        if access.access is not Access.READ and located is not None and access.certain and surely:
            where, by_thread = located
            first = np.full(self._size, NOBODY)
            first[where] = by_thread
            first[where[first[where] != by_thread]] = SEVERAL
            written = np.where(written == NOBODY, first, written)
        return written

    def _read(self, access: MemoryAccess, located: Located | None, written: np.ndarray) -> None:
        """Raises `Exposed` where a read may come before what is written before it."""
        if located is not None:
            where, by_thread = located
            first = written[where]
            in_order = (first == MET) | ((first == by_thread) & (by_thread >= 0))
        elif access.engine is Engine.WGMMA:  # any of the buffer may be meant, and little is
            in_order = written != NOBODY
        else:
            in_order = written == MET
        if not in_order.all():
            raise Exposed

    def _places(self, access: MemoryAccess, threads: Threads) -> Located | None:
        """The bytes that threads access, and which thread each; None where they are not known."""
        footprint, threads = access.footprint, access.who(threads)
        start = None if footprint.start is None else evaluate(footprint.start, threads)
        if start is None:
            return None
        self._work.do(threads.count)
        starts, thread = _by_start(np.broadcast_to(start, threads.ids.shape), threads.ids)
        if len(starts) * footprint.count * footprint.size > MAX_PLACES:
            return None
        self._work.do(len(starts) * footprint.count * footprint.size)
        runs = np.arange(footprint.count)[:, None] * footprint.stride + np.arange(footprint.size)
        where: np.ndarray = (starts.reshape(-1, 1) + runs.reshape(1, -1)).ravel()
        if len(where) and (where.min() < 0 or where.max() >= self._size):
            return None
        return where, np.repeat(thread, runs.size)

    def _branch(self, stmt: If, threads: Threads, written: np.ndarray, surely: bool) -> np.ndarray:
        """Threads in one arm count on nothing that others do in the other one (rule 4)."""
        splits = self._facts.splits(stmt)
        if splits and any(map(self._facts.blocks, self._facts.acting(stmt))):
            raise Exposed  # later statements may be executed earlier
        arms = list(self._facts.reaches.arms(stmt, threads))
        is_known = all(known for _, _, known in arms)
        if is_known:
            require_alike(stmt.condition, threads)
        before, after, ways = frozenset(self._writers), set[Stmt](), []
        for block, within, _ in arms:
            self._writers = set(before)
            ways.append(self._block(block, within, written, surely and is_known))
            after |= self._writers
        self._writers = after
        then, orelse = ways
        counts = [within.count for _, within, _ in arms]
        one_way = all(count == threads.count for count in counts)  # all take the same, either one
        alike = np.where(then == orelse, then, SEVERAL)
        if one_way:
            return np.where((then == NOBODY) | (orelse == NOBODY), NOBODY, alike)
        return np.where(then == NOBODY, orelse, np.where(orelse == NOBODY, then, alike))

    def _for(self, stmt: For, threads: Threads, written: np.ndarray, surely: bool) -> np.ndarray:
        values = [evaluate(one, threads) for one in (stmt.begin, stmt.extent, stmt.step)]
        begin, extent, step = (_same(value) for value in values)
        if begin is None or extent is None or step is None or step <= 0:
            self._any_rounds(stmt, threads, written, surely)
            return written
        rounds = np.arange(begin, begin + max(extent, 0), step)
        if not len(rounds):
            return written
        if self._does_one_thing(stmt) and threads.count * len(rounds) <= MAX_LANES:
            before, each = set(self._writers), threads.repeated(stmt.var, rounds)
            try:
                return self._block(stmt.body, each, written, surely)
            except Parted:
                self._writers = before  # one by one
        if len(rounds) > MAX_ROUNDS or stmt.kind == "vectorized":
            self._any_rounds(stmt, threads, written, surely and stmt.kind != "vectorized")
            return written
        for value in rounds:
            written = self._block(stmt.body, threads.bind(stmt.var, int(value)), written, surely)
        return written

    def _does_one_thing(self, loop: For) -> bool:
        """Whether the buffer is only read, or only written, in a loop."""
        found = {
            access.access
            for stmt in self._facts.acting(loop)
            for access in self._accesses.get(stmt, ())
        }
        return len(found) <= 1 and Access.READ_WRITE not in found


def _by_start(starts: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each start once, with its thread."""
    each, first, which = np.unique(starts, return_index=True, return_inverse=True)
    thread = ids[first].copy()
    thread[which[ids != thread[which]]] = SEVERAL
    return each, thread


def _same(value: object) -> int | None:
    """A value that all threads have."""
    if isinstance(value, np.ndarray) and len(value) and (value == value[0]).all():
        return int(value[0])
    return value if isinstance(value, int) else None
