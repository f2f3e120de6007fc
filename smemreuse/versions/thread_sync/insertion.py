"""Before which statements `ThreadSync` puts barriers: surely, or perhaps (rule 6).

The pass goes through each block in order and keeps what was accessed since the last barrier. Before
a statement that conflicts with some of that it puts one; before what conflicts with the round
before, one in the loop, or before the loop if nothing is read in it. A branch or loop counts as one
statement, with what it accesses before its first barrier and after its last. Where a conflict is
not known, both are followed at once: what is left in either is kept, with less certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Assert,
    Attr,
    Block,
    For,
    If,
    Stmt,
    While,
    walk_statements,
)
from smemreuse.semantics.table import evaluated_call
from smemreuse.versions.thread_sync.access_entries import AccessEntry, Made
from smemreuse.versions.thread_sync.conflicts import Conflict, Conflicts

_OF_OTHERS = ((Const("warp"),), (Const("cluster"),))
"""What barriers are called that the pass passes over."""

Inserted = Mapping[Stmt, bool]
"""The statements before which there is a barrier; True where that is sure."""


@dataclass(frozen=True)
class PassView:
    """What the pass sees of a kernel.

    - `entries`: the accesses of each statement; `conflicts` compares them.
    - `barriers`: operations that it takes for a barrier of the block.
    - `followed`: statements directly after which it puts one, whatever conflicts.
    - `stays`: whether a barrier surely stays in the arm of a branch where its condition holds, or
      does not. The pass moves others before the branch; `moves`: surely, those of the first arm.
    """

    entries: Mapping[Stmt, tuple[AccessEntry, ...]]
    conflicts: Conflicts
    barriers: frozenset[str]
    followed: frozenset[Stmt]
    stays: Callable[[If, bool], bool]
    moves: Callable[[If], bool]


def insertions(body: Block, view: PassView) -> dict[str, Inserted]:
    """The barriers that the pass puts into a kernel, by storage scope: it runs once for each, and
    sees the barriers of the run before."""
    found: dict[str, Inserted] = {}
    for scope in SHARED_SCOPES:
        run = _ScopeRun(view, scope, tuple(found.values()))
        run.summary(body)
        found[scope] = run.inserted
    return found


@dataclass(frozen=True)
class _Event:
    """An access, or without one a barrier; whether it is surely there. `is_moved`: if that barrier
    is there for the pass, there is one before the branch instead."""

    made: Made | None
    is_sure: bool = True
    is_moved: bool = False

    @property
    def is_read(self) -> bool:
        return self.made is not None and not self.made[1].is_write


_BARRIER = _Event(None)

_Events = list[_Event]


@dataclass(frozen=True)
class _BlockStep:
    """A statement as it counts in the block around it, with what happens there in order; or the
    barriers of other runs, which are before no statement of their own."""

    stmt: Stmt | None
    events: _Events


class _ScopeRun:
    """One run of the pass, for the accesses of one storage scope."""

    def __init__(self, view: PassView, scope: str, earlier: Sequence[Inserted]):
        """`earlier`: what the runs for other scopes have put in."""
        self._view = view
        self._scope = scope
        self._earlier = earlier
        self.inserted: dict[Stmt, bool] = {}

    def summary(self, block: Block, loop: For | None = None) -> _Events:
        """Puts barriers into a block, which `loop` repeats, and returns what is left to conflict
        with anything around it."""
        steps = self._steps(block)
        pending = self._in_sequence(steps)
        if loop is not None:
            self._in_next_round(steps, pending, loop)
        return self._exposed(steps)

    def _steps(self, block: Block) -> list[_BlockStep]:
        """The steps of a block; those inside of its branches and loops are summed up first."""
        found: list[_BlockStep] = []
        for stmt in block:
            given = [one[stmt] for one in self._earlier if stmt in one]
            if given:
                found.append(_BlockStep(None, [_Event(None, any(given))]))
            if isinstance(stmt, (Attr, Assert)):
                found.extend(self._steps(stmt.body))
            else:
                found.append(_BlockStep(stmt, self._events(stmt)))
            if stmt in self._view.followed:
                found.append(_BlockStep(None, [_BARRIER]))
        return found

    def _events(self, stmt: Stmt) -> _Events:
        if _is_barrier(stmt, self._view.barriers):
            return [_BARRIER]
        entries = self._view.entries.get(stmt, ())
        mine = (one for one in entries if one.buffer.scope == self._scope)
        own = [_Event((stmt, one), one.is_seen) for one in mine]
        if isinstance(stmt, If):
            return [*own, *self._arms(stmt)]
        if isinstance(stmt, For):
            return [*own, *self.summary(stmt.body, stmt)]
        return [*own, *self.summary(stmt.body)] if isinstance(stmt, While) else own

    def _arms(self, branch: If) -> Iterator[_Event]:
        """What is left of both arms. What is accessed there counts as separated by barriers that
        are moved before the branch, too. Of those that may be moved none surely is anywhere."""
        begin = len(self.inserted)
        then, put = self.summary(branch.then), [*islice(self.inserted, begin, None)]
        orelse = self.summary(branch.orelse)
        others = len(self.inserted) > begin + len(put)
        if put and not others and self._is_alone(branch.then) and self._view.moves(branch):
            sure = [self.inserted.pop(one) for one in put]
            self.inserted[branch] = any(sure)
            then = [replace(one, is_moved=not (one.made or one.is_sure)) for one in then]
        elif (put and not self._view.stays(branch, True)) or (
            others and not self._view.stays(branch, False)
        ):
            self.inserted.update(dict.fromkeys(islice(self.inserted, begin, None), False))
            self.inserted.setdefault(branch, False)
        return chain(then, orelse)

    def _is_alone(self, block: Block) -> bool:
        """Whether no other run has put anything into a block."""
        inside = [*walk_statements(block)]
        return not any(stmt in one for one in self._earlier for stmt in inside)

    def _in_sequence(self, steps: Sequence[_BlockStep]) -> _Events:
        """Puts barriers before steps that conflict with earlier ones; returns what was accessed
        since the last."""
        pending: _Events = []
        for step in steps:
            before = self._before(step)
            answer = Conflict.NO if before else self._conflict(pending, step, None)
            if answer is not Conflict.NO:
                self._insert(step.stmt, answer is Conflict.YES)
            if before or answer is Conflict.YES:
                pending = []
            elif before is not None or answer is Conflict.MAYBE:
                pending = _doubtful(pending)
            for event in step.events:
                pending = _after(event, pending) if event.made is None else [*pending, event]
        return pending

    def _in_next_round(self, steps: Sequence[_BlockStep], pending: _Events, loop: For) -> None:
        """Puts in one barrier for what conflicts with the round before: `pending` is what was
        accessed there since the last."""
        reads = [one.is_sure for step in steps for one in step.events if one.is_read]
        is_reached = True
        for step in steps:
            before = self._before(step)
            if before:
                return
            answer = self._conflict(pending, step, loop)
            if answer is not Conflict.NO:
                inside, outside = (step.stmt,) if reads else (), () if any(reads) else (loop,)
                for target in (*inside, *outside):
                    is_sure = answer is Conflict.YES and is_reached
                    self._insert(target, is_sure and not (inside and outside))
            if answer is Conflict.YES:
                return
            is_reached &= before is None and answer is Conflict.NO
            for event in step.events:
                if event.made is None:
                    pending = _after(event, pending)

    def _exposed(self, steps: Iterable[_BlockStep]) -> _Events:
        """What happens before the first barrier and after the last, and these."""
        events: _Events = []
        for step in steps:
            before = self._before(step)
            if before is not None:
                events.append(_Event(None, before))
            events.extend(step.events)
        barriers = [at for at, event in enumerate(events) if event.made is None]
        sure = [at for at in barriers if events[at].is_sure]
        found: _Events = []
        for at, event in enumerate(events):
            if event.made is None or not _is_between(at, barriers):
                found.append(event)
            elif not _is_between(at, sure):
                found.append(replace(event, is_sure=False))
        return found

    def _before(self, step: _BlockStep) -> bool | None:
        """Whether there surely is a barrier of this run before a step; None if there is none."""
        return None if step.stmt is None else self.inserted.get(step.stmt)

    def _insert(self, stmt: Stmt | None, is_sure: bool) -> None:
        assert stmt is not None  # what conflicts is of a statement
        self.inserted[stmt] = is_sure or self.inserted.get(stmt, False)

    def _conflict(self, pending: _Events, step: _BlockStep, loop: For | None) -> Conflict:
        """Whether a step conflicts with what was accessed before."""
        found = Conflict.NO
        for event in step.events:
            if event.made is None:
                # Where one is moved, one is before the branch, and no conflict is asked for.
                pending = pending if event.is_moved else _after(event, pending)
                continue
            for one in pending:
                if one.made is None or (one.is_read and event.is_read):
                    continue
                answer = self._view.conflicts.between(one.made, event.made, loop)
                if answer is Conflict.YES and one.is_sure and event.is_sure:
                    return Conflict.YES
                if answer is not Conflict.NO:
                    found = Conflict.MAYBE
        return found


def _is_barrier(stmt: Stmt, barriers: frozenset[str]) -> bool:
    """Whether a statement is a barrier for the pass: of whichever threads, if of several warps."""
    call = evaluated_call(stmt)
    return call is not None and call.op in barriers and call.args[:1] not in _OF_OTHERS


def _after(barrier: _Event, pending: _Events) -> _Events:
    """What is left of what was accessed before a barrier."""
    return [] if barrier.is_sure else _doubtful(pending)


def _doubtful(events: _Events) -> _Events:
    return [replace(one, is_sure=False) for one in events]


def _is_between(at: int, barriers: Sequence[int]) -> bool:
    """Whether a place has barriers before and after it; these are in order."""
    return bool(barriers) and barriers[0] < at < barriers[-1]
