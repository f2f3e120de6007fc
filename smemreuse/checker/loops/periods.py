"""The periodic part of a loop of known length: first iteration, end, and period.

It is found by enumeration: the expressions that decide an iteration are evaluated for all of them
(`repetition`). The effects on mbarriers must be periodic too; those are tallied where iterations
are executed (`fast_forward`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.loops.endless import OpenCondition, UnboundedLoop
from smemreuse.checker.loops.repetition import Repetition, Unclear
from smemreuse.checker.loops.stored import Storage, settles
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.cases import SEEN
from smemreuse.checker.values.counters import Counters, Local
from smemreuse.checker.values.given import NOTHING_GIVEN, GivenInputs
from smemreuse.checker.values.interned import InternTable, is_whole
from smemreuse.checker.values.vectors import identity
from smemreuse.ir.expr import Expr, Load, Var, constant, walk
from smemreuse.ir.kernel import For, Store, nodes_of, walk_statements
from smemreuse.semantics.evaluate import Threads

MAX_PERIOD = 64
"""The longest period that is looked for, in iterations."""

MAX_COUNT = 1 << 16
"""The most iterations of a loop that are looked at."""

FIRST_ROUNDS = 8
"""Iterations after which it is guessed what counters hold in the others."""


@dataclass(frozen=True)
class Window:
    """Iterations `first` to `end`: each does what the one `period` iterations before it did.

    `counters` is what each local that the loop sets holds before each iteration, and after the
    last, but for those in `stored`: what these hold is not known, but the same after each period.
    It holds but for what is `open`, of a loop of unknown length. `turns`: a parity that is waited
    for may be the other one each period.
    """

    first: int
    period: int
    end: int
    counters: Mapping[Local, np.ndarray] = field(default_factory=dict)
    open: tuple[OpenCondition, ...] = ()
    turns: bool = False
    stored: frozenset[Storage] = frozenset()


@dataclass(frozen=True)
class SetLocals:
    """The locals that a loop sets: what each element holds before it; and those that are `stored`,
    of which that is not known, or not which elements are set."""

    starts: Mapping[Local, int]
    stored: frozenset[Storage]

    @property
    def all(self) -> frozenset[Storage]:
        return self.stored | {storage for storage, _ in self.starts}

    def without(self, stored: frozenset[Storage]) -> SetLocals:
        """The same with these among the locals of which nothing is known."""
        starts = {local: value for local, value in self.starts.items() if local[0] not in stored}
        return SetLocals(starts, self.stored | stored)


class Periods:
    """Finds and caches the periodic parts of the loops of one kernel."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        work: Work,
        interned: InternTable | None = None,
        given: GivenInputs = NOTHING_GIVEN,
    ):
        self._turning = {storage for storage, row in given.rows.items() if row.step}
        self._work = work
        self._interned = interned or InternTable()
        self._slice = program_slice
        self._names: dict[For, tuple[Var, ...]] = {}
        self._locals: dict[For, list[Local]] = {}
        self._known: dict[tuple[Hashable, ...], tuple[Window | None, object]] = {}

    def window(
        self, loop: For, rounds: range, threads: Threads, counters: Counters
    ) -> Window | None:
        """The periodic part that spares most iterations; None if there is none."""
        if not SEEN < len(rounds) <= MAX_COUNT or self._loads_turning(loop):
            return None
        set_here = self._set_in(loop, threads, counters)
        asked, kept = self._asked(loop, threads, counters)
        key = (loop, rounds, set_here.stored, *set_here.starts.items(), *asked)
        if key not in self._known:
            found = None
            for one in dict.fromkeys((set_here.stored, set_here.all)):
                if not one or settles(loop, one, self._slice):
                    found = found or self._found(loop, rounds, threads, set_here.without(one))
            self._known[key] = (found, kept)
        return self._known[key][0]

    def _set_in(self, loop: For, threads: Threads, counters: Counters) -> SetLocals:
        starts: dict[Local, int] = {}
        stored: set[Storage] = set()
        for store in self._slice.counters_set(loop.body):
            local = _element(store)
            value = None if local is None else counters.get(*local, threads.ids)
            if local is None or not isinstance(value, int):
                stored.add(store.buffer.storage)
            else:
                starts[local] = value
        return SetLocals(starts, frozenset()).without(frozenset(stored))

    def endless(
        self, loop: For, begin: int | None, threads: Threads, counters: Counters
    ) -> Window | None:
        """The periodic part of a loop of any length, from its first round on; its `end` (0) has no
        meaning. None if unknown. `begin` is None where data decide."""
        asked, kept = self._asked(loop, threads, counters)
        key = (loop, begin, *asked)
        if key not in self._known:
            window = None
            if not (self._slice.counters_set(loop.body) or self._loads_turning(loop)):
                here = UnboundedLoop(self._slice, loop, begin, threads, self._work, self._interned)
                found = here.found()
                if found is not None and found[1] <= MAX_PERIOD:
                    window = Window(*found, 0, open=tuple(here.open), turns=here.turns)
            self._known[key] = (window, kept)
        return self._known[key][0]

    def _loads_turning(self, loop: For) -> bool:
        """Whether what is loaded in a loop may be another number in each round, and is given."""
        return bool(self._turning) and any(
            isinstance(node, Load) and node.buffer.storage in self._turning
            for node in self._nodes_in(loop)
        )

    def _asked(
        self, loop: For, threads: Threads, counters: Counters
    ) -> tuple[tuple[Hashable, ...], object]:
        """A cache key: the present values that a loop's body reads, by identity; and the objects to
        keep alive for it."""
        held = [counters.get(*local, threads.ids) for local in self._read(loop)]
        held += [threads.values.get(name) for name in self._variables(loop)]
        return (id(threads.ids), *map(identity, held)), (threads.ids, held)

    def _variables(self, loop: For) -> tuple[Var, ...]:
        if loop not in self._names:
            self._names[loop] = tuple(
                dict.fromkeys(node for node in self._nodes_in(loop) if isinstance(node, Var))
            )
        return self._names[loop]

    def _read(self, loop: For) -> list[Local]:
        """The locals that a loop reads at fixed places."""
        if loop not in self._locals:
            found: dict[Local, None] = {}
            for node in self._nodes_in(loop):
                if isinstance(node, Load) and len(node.indices) == 1:
                    index = constant(node.indices[0])
                    if index is not None and node.buffer.scope.startswith("local"):
                        found[node.buffer.storage, index] = None
            self._locals[loop] = list(found)
        return self._locals[loop]

    def _nodes_in(self, loop: For) -> Iterator[Expr]:
        """All that is asked for in a loop: what is written in its statements, and what places
        follow from beside that, as the shape of a view."""
        for stmt in walk_statements(loop.body):
            yield from nodes_of(stmt)
            for expr in self._slice.acting(stmt):
                yield from walk(expr)

    def _found(
        self, loop: For, rounds: range, threads: Threads, set_here: SetLocals
    ) -> Window | None:
        try:
            return self._repeating(loop, rounds, threads, set_here)
        except Unclear:
            return None

    def _repeating(
        self, loop: For, rounds: range, threads: Threads, set_here: SetLocals
    ) -> Window | None:
        stored = set_here.stored
        counters = self._guessed(loop, rounds, threads, set_here)
        here = self._pass(loop, np.array(rounds, dtype=np.int64), threads, counters, stored)
        after: dict[Local, np.ndarray] = {}
        for local, values in counters.items():
            if not np.array_equal(here.after[local][:-1], values[1:]):
                raise Unclear
            after[local] = np.append(values, here.after[local][-1])
        where = _longest(here.kinds())
        found = None if where is None else Window(*where, after, turns=here.turns, stored=stored)
        return _settled(found) if found is not None and stored else found

    def _pass(
        self,
        loop: For,
        index: np.ndarray,
        threads: Threads,
        counters: Mapping[Local, np.ndarray],
        stored: frozenset[Storage],
    ) -> Repetition:
        own, length = {loop.var: index}, len(index)
        here = Repetition(
            *(self._slice, own, threads, counters, length, self._work),
            stored=stored,
            turning=True,
        )
        here.visit(loop.body)
        return here

    def _guessed(
        self, loop: For, rounds: range, threads: Threads, set_here: SetLocals
    ) -> dict[Local, np.ndarray]:
        """What the counters that a loop sets may hold at the beginning of each iteration."""
        if not set_here.starts:
            return {}
        seen = [dict(set_here.starts)]
        for value in rounds[:FIRST_ROUNDS]:
            one = {local: np.array([value]) for local, value in seen[-1].items()}
            here = self._pass(loop, np.array([value]), threads, one, set_here.stored)
            seen.append({local: int(values[0]) for local, values in here.after.items()})
        return {
            local: _continued(np.array([each[local] for each in seen]), len(rounds))
            for local in set_here.starts
        }


def _element(store: Store) -> Local | None:
    """The element that a store sets; None where it is not fixed, or set by a view of others."""
    index = constant(store.indices[0]) if len(store.indices) == 1 else None
    return None if index is None or not is_whole(store.buffer) else (store.buffer.storage, index)


def _settled(window: Window) -> Window | None:
    """The rest of a periodic part after its first period, which may find other things in the locals
    than any period behind it; None if that is too short to spare any iterations."""
    later = replace(window, first=window.first + window.period)
    return later if later.end - later.first >= (SEEN + 1) * later.period else None


def _continued(seen: np.ndarray, length: int) -> np.ndarray:
    """The first `length` of a sequence that goes on as it began: by steps, or round and round.

    The first may be another: what the loop found.
    """
    for first in (0, 1):
        rest, step = seen[first:], int(seen[first + 1] - seen[first])
        if (np.diff(rest) == step).all():
            going_on = int(rest[0]) + step * np.arange(length - first)
            return np.append(seen[:first], going_on)
        for period in range(2, len(rest) // 2 + 1):
            if (rest[period:] == rest[:-period]).all():
                return np.append(seen[:first], np.resize(rest[:period], length - first))
    raise Unclear


def _longest(numbers: np.ndarray) -> tuple[int, int, int] | None:
    """The stretch that repeats itself most often: where it begins, its period, and its end."""
    count, best, found = len(numbers), 0, None
    for period in range(1, min(MAX_PERIOD, count // (SEEN + 1)) + 1):
        if count - SEEN * period <= best:
            break
        equal = np.concatenate(([False], numbers[period:] == numbers[:-period], [False]))
        edges = np.flatnonzero(np.diff(equal.astype(np.int8)))
        begins, ends = edges[::2], edges[1::2]
        if not len(begins):
            continue
        longest = int(np.argmax(ends - begins))
        first, end = int(begins[longest]), int(ends[longest]) + period
        spared = (end - first - SEEN * period) // period * period
        if spared > best:
            best, found = spared, (first, period, end)
    return found
