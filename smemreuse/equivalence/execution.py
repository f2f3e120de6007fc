"""Executes a program on value numbers: branches, and loops round by round or by induction.

By induction a loop is followed by one round, which begins with values that stand for whatever the
round before it left. Two loops of which that round does the same, and that begin with the same,
do the same however often they go round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from smemreuse.equivalence.effects import Effects
from smemreuse.equivalence.expressions import ParallelPoints
from smemreuse.equivalence.memory import GlobalMemory, MemoryState, Numbering, phi
from smemreuse.equivalence.program import (
    Block,
    Branch,
    Loop,
    Repeat,
    Storage,
    Unfollowed,
    is_global,
    is_own,
    loaded_by,
    statements_in,
    written_by,
)
from smemreuse.equivalence.terms import Term, chosen, combined, known, made, places
from smemreuse.equivalence.tiles import Round
from smemreuse.ir.kernel import Buffer

FEW = 4
"""Rounds that are followed one by one in any case."""

MOST_WORK = 1 << 25
"""Elements that are read or written in one execution, which takes about a second."""


@dataclass(frozen=True)
class _LoopEntry:
    """What a loop begins with that is followed by induction: the tiles and the global memory that
    it writes, and how many such loops are around it."""

    depth: int
    tiles: dict[Storage, Buffer]
    initial: dict[Storage, Term]
    memory: dict[Storage, GlobalMemory]
    events: int


class Execution(Effects):
    """One execution of a program. With `unrolled` each loop whose extent is known is followed
    round by round, else only what has a few; all others by induction."""

    def __init__(self, names: Numbering, ahead: bool, unrolled: bool) -> None:
        super().__init__(names, ahead)
        self.unrolled = unrolled

    def run(self, block: Block) -> None:
        for one in block:
            if self.tiles.work > MOST_WORK:
                raise Unfollowed("it has more rounds than are followed")
            if isinstance(one, Branch):
                self._branch(one)
            elif isinstance(one, Repeat):
                self._repeat(one)
            elif isinstance(one, Loop):
                self._loop(one)
            else:
                self.carry_out(one)

    # Branches -----------------------------------------------------------------------------------

    def _branch(self, one: Branch) -> None:
        condition = self.value(one.condition)
        number = condition.known
        if self.points.extents:
            other = known((number == 0).astype(np.int64)) if number is not None else None
            self._guarded(condition, one.then)
            self._guarded(other or made("not", (condition,)), one.orelse)
            return
        if number is not None:
            self.run(one.then if number.all() else one.orelse)
            return
        before = self.tiles.state.copy()
        self.run(one.then)
        then, self.tiles.state = self.tiles.state, before
        self.run(one.orelse)
        self._join(condition.reshaped(()), then)

    def _guarded(self, condition: Term, block: Block) -> None:
        self.points.guards.append(condition)
        self.run(block)
        self.points.guards.pop()

    def _join(self, condition: Term, then: MemoryState) -> None:
        """Joins what the arms of a branch left."""
        state = self.tiles.state
        for storage in {**then.tiles, **state.tiles}:
            whole = self.tiles.buffers[storage]
            one = then.tiles.get(storage)
            other = self.tiles.whole(whole)
            one = self.tiles.initial(whole) if one is None else one
            if one is not other:
                state.tiles[storage] = found = chosen(condition, one, other)
                differ = ~one.same_as(other)
                for each in self.tiles.rounds:
                    kept = each.exposed(storage, one) | each.exposed(storage, other)
                    each.expose(storage, found, kept & differ)
        for storage in {**then.globals, **state.globals}:
            pair = (each.globals.get(storage, self.initial(storage)) for each in (then, state))
            state.globals[storage] = phi(condition, *pair)
        if then.events != state.events:
            state.events = combined("choice", (condition, then.events, state.events))

    # Loops --------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        begin, extent = self.value(loop.begin), self.value(loop.extent)
        number = extent.known
        rounds = int(number.reshape(-1)[0]) if number is not None and number.size == 1 else None
        if loop.parallel:
            self._parallel(loop, begin, rounds)
        elif rounds is not None and (rounds <= FEW or self.unrolled or self.points.extents):
            self._unrolled(loop, begin, rounds)
        elif self.points.extents:
            raise Unfollowed("a loop inside a parallel one has a length that is not known")
        else:
            self._by_induction(loop, loop.body, (begin, extent), loop.ahead)

    def _parallel(self, loop: Loop, begin: Term, rounds: int | None) -> None:
        if rounds is None:
            raise Unfollowed("a parallel loop has a length that is not known")
        before = self.points
        scratch = before.scratch if before.extents else _registers(loop.body)
        own = before.own if before.extents else {}
        self.points = ParallelPoints((*before.extents, rounds), before.guards, own, scratch)
        self.values[loop.var] = begin.plus(known(self.points.axis(rounds)))
        if rounds:
            self.run(loop.body)
        self.points = before
        if not before.extents:
            for storage in scratch:  # which point a thread had last depends on the layout
                buffer = self.tiles.buffers.get(storage)
                if buffer is not None:
                    self._forget(buffer, "left by points", (self.names.other(),))

    def _forget(self, buffer: Buffer, kind: str, operands: Iterable[Term | int]) -> None:
        """Makes each element of a tile a value of its own."""
        number = self.names.of(buffer.storage)
        self.tiles.put(buffer, places(kind, (number, *operands), (self.tiles.size(buffer),)))

    def _unrolled(self, loop: Loop, begin: Term, rounds: int) -> None:
        ahead = loop.ahead if self.ahead else 0
        history = []
        for number in range(rounds):
            if ahead:
                history.append(dict(self.tiles.state.globals))
                self.early.append(history[max(number - ahead, 0)])
                self._separate(loop, number)
            self.values[loop.var] = begin.plus(known(number))
            self.run(loop.body)
            if ahead:
                self.early.pop()
        if ahead:
            self._separate(loop, rounds)

    def _separate(self, loop: Loop, number: int) -> None:
        """Gives the tiles that a pipelined loop loads to another round: what is in them is not
        known until that has loaded it."""
        for one in statements_in(loop.body):
            buffer = loaded_by(one)
            if buffer is not None:
                self._forget(buffer, "of another round", (number,))

    def _repeat(self, loop: Repeat) -> None:
        if self.points.extents:
            raise Unfollowed("a loop inside a parallel one has a length that is not known")
        self._by_induction(loop, loop.body, (), 0)

    def _by_induction(
        self, loop: Loop | Repeat, body: Block, bounds: tuple[Term, ...], ahead: int
    ) -> None:
        ahead = ahead if self.ahead else 0
        entry = self._entry(body)
        this = Round()
        for one in entry.tiles.values():
            self._forget(one, "carried", (entry.depth,))
            this.start(one.storage, self.tiles.state.tiles[one.storage])
        self._begin_globals(entry, ahead)
        self.tiles.state.events = combined("carried events", (entry.depth,))
        self.tiles.rounds.append(this)
        if isinstance(loop, Loop):
            self.values[loop.var] = bounds[0].plus(made("round", (entry.depth,)))
            if ahead:
                self._separate(loop, 0)
                for key in entry.tiles:
                    this.start(key, self.tiles.state.tiles[key])
        else:
            bounds = (self.value(loop.condition),)
        self.run(body)
        self.tiles.rounds.pop()
        if ahead:
            self.early.pop()
        self._leave(entry, this, bounds)
        if ahead and isinstance(loop, Loop):
            self._separate(loop, 1)

    def _entry(self, body: Block) -> _LoopEntry:
        written = {one.storage: one for each in statements_in(body) for one in written_by(each)}
        tiles = {key: one for key, one in written.items() if not is_global(one)}
        initial = {key: self.tiles.whole(one) for key, one in tiles.items()}
        memory = {key: self._memory(key) for key in written if key not in tiles}
        depth, events = len(self.tiles.rounds), self.tiles.state.events
        return _LoopEntry(depth, tiles, initial, memory, events)

    def _memory(self, storage: Storage) -> GlobalMemory:
        return self.tiles.state.globals.get(storage, self.initial(storage))

    def _begin_globals(self, entry: _LoopEntry, ahead: int) -> None:
        """Global memory as a round finds it, and as loads find it that run ahead."""
        state = self.tiles.state
        for storage in entry.memory:
            state.globals[storage] = self._any_memory("carried memory", entry, storage)
        if ahead:
            earlier = {one: self._any_memory("earlier memory", entry, one) for one in entry.memory}
            self.early.append({**state.globals, **earlier})

    def _any_memory(self, kind: str, entry: _LoopEntry, storage: Storage) -> GlobalMemory:
        return GlobalMemory(combined(kind, (entry.depth, self.names.of(storage))))

    def _leave(self, entry: _LoopEntry, this: Round, bounds: tuple[Term, ...]) -> None:
        """Makes memory what all rounds leave: functions of what the loop began with, and of what
        its round does."""
        state = self.tiles.state
        parts: list[Term | int] = [*bounds, entry.events, state.events]
        for storage in sorted(this.carried, key=self.names.of):
            parts += [self.names.of(storage), entry.initial[storage], state.tiles[storage]]
            self.tiles.notice(storage, entry.initial[storage])
        for storage in sorted(entry.memory, key=self.names.of):
            digests = entry.memory[storage].digest, self._memory(storage).digest
            parts += [self.names.of(storage), *digests]
        whole = combined("loop", parts)
        for storage, buffer in entry.tiles.items():
            operands = (whole, self.names.of(storage), state.tiles[storage])
            after = places("left by loop", operands, (self.tiles.size(buffer),))
            self._leave_tile(buffer, this, entry.initial[storage], after, _goes_round(bounds))
        for storage in entry.memory:
            left = combined("left by loop", (whole, self.names.of(storage)))
            state.globals[storage] = GlobalMemory(left)
        state.events = combined("events of loop", (whole,))

    def _leave_tile(
        self, buffer: Buffer, this: Round, initial: Term, after: Term, sure: bool
    ) -> None:
        """Makes a tile what all rounds leave: what it was where none writes, and what it was or
        what they leave where it is not known that one writes."""
        storage = buffer.storage
        left = self.tiles.state.tiles[storage]
        kept = left.same_as(this.begin[storage])
        unsure = this.exposed(storage, left) if sure else np.ones(kept.shape, dtype=bool)
        either = made("left by loop or not", (after, initial))
        rest = np.where(kept, initial.rest, np.where(unsure, either.rest, after.rest))
        found = Term(rest, np.where(kept, initial.number, 0))
        for each in self.tiles.rounds:
            each.expose(storage, found, each.exposed(storage, initial) & unsure & ~kept)
        self.tiles.put(buffer, found)


def _goes_round(bounds: tuple[Term, ...]) -> bool:
    """Whether a loop surely has a round."""
    number = bounds[1].known if len(bounds) > 1 else None
    return number is not None and bool((number > 0).all())


def _registers(block: Block) -> set[Storage]:
    """The registers that statements write of which each thread has its own."""
    written = (one for each in statements_in(block) for one in written_by(each))
    return {one.storage for one in written if is_own(one)}
