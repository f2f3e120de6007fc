"""Which statements `ThreadSync` surely takes to collide, so that a barrier comes between (rule 6).

The pass leaves a barrier out where it proves that two accesses do not collide, or where it does not
compare them. Its proofs hold for all threads, rounds and arguments. So one collision in what it
compares, of concrete threads in concrete rounds, shows that it has no such proof:

- the elements of two accesses begin at the same byte, of two threads, or of one if both write;
- in the same round of all loops around both, or in rounds of one loop that follow one another;
- an access pointer collides with any element, and with another one unless in all rounds the one's
  elements, counted in each one's own width, come before the other's;
- two elements that may have one index, and the same threads, do not count: the pass takes them for
  one thread's. Nor do two copies, two atomics, or two writes in rounds that follow one another.

Versions that take more for disjoint say so in their `ThreadSync`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from smemreuse.ir.expr import Var, constant, variables_in
from smemreuse.ir.kernel import (
    DYNAMIC_SCOPE,
    Buffer,
    For,
    If,
    Stmt,
    While,
    expressions_of,
)
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.versions.thread_sync import BoundValues, ThreadSync
from smemreuse.versions.thread_sync.access_entries import AccessEntry, Made
from smemreuse.versions.thread_sync.access_ranges import AccessRanges
from smemreuse.versions.thread_sync.active_threads import (
    ActiveThreads,
    Symbols,
    held,
    known_to_hold,
    symbols_of,
)
from smemreuse.versions.thread_sync.elements import (
    EntryElements,
    Spend,
    TriedElements,
    are_compatible,
)
from smemreuse.versions.thread_sync.models import Model
from smemreuse.versions.thread_sync.path_conditions import BLOCKS, PathConditions
from smemreuse.versions.thread_sync.prover_values import prover_value

ROUNDS = 8
"""Rounds of a loop that are tried, and the last ones."""

GUESS = 0
"""The value that is tried for what is not known."""

MAX_ELEMENTS = 1 << 18
MAX_INDEX = 1 << 48


class Collisions:
    """Whether pairs of statements of one kernel collide for the pass; each pair is compared once.

    In the methods `one` and `two` are the earlier and the later statement (in `Made`, with its
    access entry); with `loop`, the later one is in the next round of that loop.
    """

    def __init__(
        self,
        paths: PathConditions,
        entries: Mapping[Stmt, tuple[AccessEntry, ...]],
        rules: ThreadSync,
        ranges: AccessRanges,
    ):
        self._paths = paths
        self._rules = rules
        self._ranges = ranges
        self.entries = entries
        self._known: dict[tuple[object, ...], bool] = {}
        self._elements: dict[tuple[object, ...], EntryElements | None] = {}
        self._pairs_of: dict[tuple[object, ...], TriedElements] = {}
        self._named: dict[Made, frozenset[Var]] = {}

    def surely(
        self, one: Stmt, two: Stmt, loop: For | None, offsets: Mapping[Buffer, int], spend: Spend
    ) -> bool:
        """Whether the pass takes one statement to collide with a later one.

        That is in the same rounds, or with `loop` in the next round of that. `offsets` are those of
        the buffers in their arena, in bytes; a buffer without one lies alone.
        """
        return any(
            self.collide((one, first), (two, second), loop, offsets, spend)
            for first, second in self._compared(one, two, loop, offsets)
        )

    def perhaps(
        self, one: Stmt, two: Stmt, loop: For | None, offsets: Mapping[Buffer, int]
    ) -> bool:
        """Whether the pass compares the two at all; as for `surely`."""
        return any(True for _ in self._compared(one, two, loop, offsets))

    def _compared(
        self, one: Stmt, two: Stmt, loop: For | None, offsets: Mapping[Buffer, int]
    ) -> Iterator[tuple[AccessEntry, AccessEntry]]:
        """The accesses of two statements that the pass compares with each other."""
        paths = self._paths
        if loop is None and (paths.order[one] >= paths.order[two] or paths.are_exclusive(one, two)):
            return
        if loop is not None and not (loop in paths.loops(one) and loop in paths.loops(two)):
            return
        for first, second in product(self.entries.get(one, ()), self.entries.get(two, ())):
            both_write = first.is_write and second.is_write
            if not (first.is_write or second.is_write) or (both_write and loop is not None):
                continue  # writes alone get a barrier before the loop
            if (first.is_copy and second.is_copy and both_write) or (
                first.is_atomic and second.is_atomic
            ):
                continue
            if (
                first.buffer is second.buffer
                or (first.buffer in offsets and second.buffer in offsets)
                or (first.by_pointer is not second.by_pointer and _in_one_arena(first, second))
            ):
                yield first, second

    def collide(
        self, one: Made, two: Made, loop: For | None, offsets: Mapping[Buffer, int], spend: Spend
    ) -> bool:
        """As `surely`, of two accesses that the pass compares."""
        (_, first), (_, second) = one, two
        if not (first.is_seen and second.is_seen):
            return False
        if first.by_pointer is not second.by_pointer:
            return True
        if first.index is None or second.index is None:
            return False  # unknown elements, such as those of less than a byte
        if self._rules.bindings is BoundValues.COMMON and self._paths.share_a_binding(
            one[0], two[0]
        ):
            return False
        mine, theirs = (
            offsets.get(entry.buffer, 0) // entry.width * entry.width for entry in (first, second)
        )
        places: tuple[int, ...] = (mine - theirs,)
        if first.by_pointer:
            places = (mine // first.width, theirs // second.width)
        key = (first, second, loop, places)
        if key not in self._known:
            self._known[key] = not self._ranges.lie_apart(
                one, two, loop, (mine, theirs)
            ) and self._collide_at(one, two, loop, places, spend)
        return self._known[key]

    def _collide_at(
        self, one: Made, two: Made, loop: For | None, places: tuple[int, ...], spend: Spend
    ) -> bool:
        """As `collide`, for buffers that begin at `places`: where something unknown is not
        understood, in any of the models."""
        found = self._collide_under(None, one, two, loop, places, spend)
        if found is None:
            return any(
                self._collide_under(model, one, two, loop, places, spend)
                for model in self._paths.models
            )
        return found

    def _collide_under(
        self,
        model: Model | None,
        one: Made,
        two: Made,
        loop: For | None,
        places: tuple[int, ...],
        spend: Spend,
    ) -> bool | None:
        """As `_collide_at`, in one model; None if not understood. Tries some blocks and rounds.

        Elements collide if they meet in one of these; pointers only if each reaches the other in
        some.
        """
        tried = self._pairs(model, one, two, loop)
        if one[1].by_pointer:
            collides = tried.reach_each_other(places, spend)
        else:
            collides = tried.meet(places[0], spend)
        return True if collides else False if tried.is_understood else None

    def _pairs(self, model: Model | None, one: Made, two: Made, loop: For | None) -> TriedElements:
        """What is tried of two accesses, wherever their buffers lie."""
        key = (one[1], two[1], loop, model)
        if key not in self._pairs_of:
            self._pairs_of[key] = TriedElements(self._compatible(model, one, two, loop))
        return self._pairs_of[key]

    def _compatible(
        self, model: Model | None, one: Made, two: Made, loop: For | None
    ) -> Iterator[tuple[EntryElements, EntryElements] | None]:
        """The elements of both in each block and round that is tried; None, as the last, for those
        that are not understood."""
        shifted = None if one[1].by_pointer else loop
        for place, rounds in product(self._blocks(one, two), self._tried(one, two, loop)):
            first = self._elements_of(one, rounds, place, None, model)
            second = self._elements_of(two, rounds, place, shifted, model)
            if first is None or second is None or not are_compatible(first, second):
                yield None
                return
            if shifted is not None and not _goes_on(shifted, rounds, first):
                continue
            if not first.index.size or not second.index.size:
                continue
            if one[1].by_pointer or not self._takes_for_one(first, second):
                yield first, second

    def _takes_for_one(self, first: EntryElements, second: EntryElements) -> bool:
        """Whether the pass may take elements of different sizes for one thread's own: it compares
        their indices alone, and the threads are the same."""
        if self._rules.compares_bytes or first.entry.width == second.entry.width:
            return False
        return bool(np.array_equal(first.active.threads.ids, second.active.threads.ids))

    def _blocks(self, one: Made, two: Made) -> Sequence[int]:
        """The blocks that are tried: the first one where nothing depends on the block."""
        paths = self._paths
        asked = any(
            paths.depends_on_block(stmt) or any(map(paths.uses_block, entry.expressions))
            for stmt, entry in (one, two)
        )
        return BLOCKS if asked else BLOCKS[:1]

    def _tried(self, one: Made, two: Made, loop: For | None) -> Iterator[Mapping[For, int]]:
        """The rounds of the common loops to try: the first of all, then further rounds of each.

        For elements, another round of `loop` must follow. The pass compares pointers within one
        round.
        """
        theirs = self._paths.loops(two[0])
        common = [
            mine
            for mine, other in zip(self._paths.loops(one[0]), theirs, strict=False)
            if mine is other
        ]
        shifted = None if one[1].by_pointer else loop
        first = dict.fromkeys(common, 0)
        short = loop is not None and (constant(loop.extent) or 2) < 2
        if short or (loop is not None and (loop not in first or constant(loop.step) != 1)):
            return
        yield first
        for each in common:
            if not any(self._names(made, each.var) for made in (one, two)):
                continue  # all rounds are alike
            count = constant(each.extent)
            last = None if count is None else count - (2 if each is shifted else 1)
            tried = range(1, ROUNDS + 1) if last is None else range(1, min(ROUNDS, last) + 1)
            for at in (*tried, *((last,) if last is not None and last > ROUNDS else ())):
                yield {**first, each: at}

    def _names(self, made: Made, var: Var) -> bool:
        """Whether a variable decides which elements an access has, or which threads reach it."""
        if made not in self._named:
            stmt, entry = made
            expressions = (*entry.expressions, *expressions_of(stmt))
            self._named[made] = self._paths.variables(stmt).union(*map(variables_in, expressions))
        return var in self._named[made]

    def _elements_of(
        self,
        made: Made,
        rounds: Mapping[For, int],
        place: int,
        shifted: For | None,
        model: Model | None,
    ) -> EntryElements | None:
        """The elements of one access in these rounds and this block; see `_indices`."""
        stmt, entry = made
        key = (entry, tuple(rounds.items()), place, shifted, model)
        if key not in self._elements:
            found = self._paths.at(stmt, rounds, place, model)
            self._elements[key] = self._indices(stmt, entry, found, shifted)
        return self._elements[key]

    def _indices(
        self,
        stmt: Stmt,
        entry: AccessEntry,
        found: ActiveThreads | None,
        shifted: For | None,
    ) -> EntryElements | None:
        """The elements that active threads access; None if the pass may know less or too many are
        needed.

        `shifted` is a loop whose next round gives the index, while threads and conditions stay
        those of this round. Unknown values, which the pass allows to be anything, become `GUESS`.
        """
        if found is not None and isinstance(stmt, (If, While)):
            found = known_to_hold(found, stmt.condition)  # the pass has its header within the scope
        for condition, holds in entry.guards if found is not None else ():
            found = None if found is None else held(found, condition, holds, None)
        if found is None or entry.index is None:
            return None
        threads = found.threads
        if threads.count == 0:
            return EntryElements(entry, found, np.zeros(0, dtype=np.int64))
        if shifted is not None:
            now = threads.values.get(shifted.var)
            if not isinstance(now, int):
                return None
            threads = threads.bind(shifted.var, now + 1)
        index = prover_value(entry.index, threads)
        guessed: Symbols = frozenset()
        if index is None:
            unknown = symbols_of(entry.index, found)
            if unknown is None:
                return None
            guessed = unknown
            index = prover_value(entry.index, _guessing(found, threads, unknown))
        if index is None or threads.count * entry.lanes > MAX_ELEMENTS:
            return None
        if isinstance(index, int) and abs(index) > MAX_INDEX:
            return None
        each = np.broadcast_to(np.asarray(index, dtype=np.int64), (threads.count,))
        return EntryElements(entry, found, each, guessed)


def _guessing(found: ActiveThreads, threads: Threads, unknown: Symbols) -> Threads:
    """The threads with `GUESS` for each of some unknown values, and for what variables are bound
    to what follows from that."""
    values = {**threads.values, **{one: GUESS for one in unknown if isinstance(one, Var)}}
    threads = Threads(threads.ids, values, lambda load, who: GUESS, threads.row)
    for var, value in found.bound.items():
        threads = threads.bind(var, prover_value(value, threads))
    return threads


def _goes_on(loop: For, rounds: Mapping[For, int], found: EntryElements) -> bool:
    """Whether a loop has another round after one."""
    extent = evaluate(loop.extent, found.active.threads)
    return not isinstance(extent, int) or rounds[loop] + 1 < extent


def _in_one_arena(one: AccessEntry, two: AccessEntry) -> bool:
    """Whether the pass takes two buffers for one, wherever they lie."""
    return one.buffer.scope == two.buffer.scope == DYNAMIC_SCOPE
