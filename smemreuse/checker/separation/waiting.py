"""Waits of some threads for what others do behind a barrier that comes with a plan (rule 12).

A later pass, or smemreuse, puts barriers between accesses to bytes that buffers share. Where some
threads wait for what others do later in the text, such a barrier in between is never passed, though
the kernel without the plan has none there. Where all threads wait for the same, whoever could do it
behind the barrier has waited as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smemreuse.checker.operations import Operations
from smemreuse.checker.separation.facts import Facts
from smemreuse.ir.expr import Call, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    While,
    rounds_of,
    walk_statements,
)
from smemreuse.semantics.effects import Group, Signal
from smemreuse.semantics.table import (
    calls_of,
    leaves,
    mbarrier_operand,
    varies_by_thread,
    written_operands,
)

Phases = set[Buffer | None]
"""The arrays of some mbarriers; None is any."""


@dataclass(frozen=True)
class WaitsInPart:
    """The waits of some threads that others do not make: in branches and loops that different
    threads take, and where an index says what for.

    `hiding` are the statements in which they may wait, and nothing tells for what. `for_outside`:
    they may wait for what others do elsewhere, for a phase of an mbarrier, too. `meeting` is a
    barrier at which they wait for others who come to another one: the trace does not look who is
    stuck there.
    """

    hiding: tuple[Stmt, ...]
    for_outside: bool
    meeting: Stmt | None = None

    @property
    def hidden(self) -> Stmt | None:
        """The first statement in which they may wait for what nothing tells."""
        return next(iter(self.hiding), None)

    @property
    def unseen(self) -> bool:
        """Whether no trace shows that a barrier which is put in keeps nobody waiting for ever."""
        return self.hidden is not None or self.meeting is not None


def waits_anywhere(body: Block, operations: Operations) -> WaitsInPart:
    """Those of a kernel of which it is not known which threads come to which statement."""
    statements = [*walk_statements(body)]
    branches = [one for one in statements if isinstance(one, (If, While))]
    within = (one for branch in branches for one in walk_statements((branch,)))
    meeting = next((one for one in within if _meets(operations, one)), None)
    return WaitsInPart(tuple(filter(operations.hides_wait, statements)), True, meeting)


def waits_in_part(body: Block, facts: Facts, operations: Operations) -> WaitsInPart:
    """Those of a kernel."""
    return _Waits(body, facts, operations).found()


class _Waits:
    """The search for them."""

    def __init__(self, body: Block, facts: Facts, operations: Operations):
        self._facts = facts
        self._operations = operations
        self._statements = [*walk_statements(body)]
        self._in_part: dict[Stmt, bool] = {}
        self._signalling = [
            (stmt, found) for stmt in self._statements if (found := self._signalled(stmt))
        ]
        self._stored: dict[object, list[tuple[Stmt, Expr]]] = {}
        for stmt in self._statements:
            for storage, value in _set_by(stmt):
                self._stored.setdefault(storage, []).append((stmt, value))

    def found(self) -> WaitsInPart:
        hiding: list[Stmt] = []
        meeting, for_outside = None, False
        for stmt in self._statements:
            if not self._is_in_part(stmt) or self._is_inside(stmt):
                continue
            inside = [*walk_statements((stmt,))]
            hiding += filter(self._operations.hides_wait, inside)
            awaited, within = self._awaited(inside), set(inside)
            meeting = meeting or next(filter(self._meets_others, inside), None)
            elsewhere = (found for one, found in self._signalling if one not in within)
            for_outside = for_outside or any(_may_meet(awaited, one) for one in elsewhere)
        return WaitsInPart(tuple(hiding), for_outside or bool(hiding), meeting)

    def _is_in_part(self, stmt: Stmt) -> bool:
        """Whether threads that come to a statement may not do the same in it: a branch or loop, or
        one that may wait for what an index says."""
        if stmt not in self._in_part:
            self._in_part[stmt] = (
                self._facts.splits(stmt)
                if isinstance(stmt, If)
                else self._may_differ(self._deciding(stmt))
            )
        return self._in_part[stmt]

    def _deciding(self, stmt: Stmt) -> Iterable[Expr]:
        """What says how often a thread goes round a loop, or what it waits for in a statement."""
        if isinstance(stmt, For):
            return stmt.begin, rounds_of(stmt)
        polled = self._operations.polled(stmt)
        if polled is not None:
            return polled[0].args
        if isinstance(stmt, While):
            branches = (one for one in walk_statements(stmt.body) if isinstance(one, If))
            return stmt.condition, *(one.condition for one in branches if leaves(one))
        if self._operations.hides_wait(stmt) or self._awaited((stmt,)):
            return [operand for call in calls_of(stmt) for operand in call.args]
        return ()

    def _is_inside(self, stmt: Stmt) -> bool:
        """Whether a statement is in a branch or loop that different threads take: what these wait
        for is asked of that."""
        around = (one for one in self._facts.tree.around(stmt) if one is not stmt)
        return any(map(self._is_in_part, around))

    def _may_differ(self, exprs: Iterable[Expr]) -> bool:
        """Whether an index decides what expressions are worth, through locals, too. Other memory
        counts as the same for all who look at one place of it."""
        left, seen = [*exprs], set[object]()
        while left:
            for node in walk(left.pop()):
                if isinstance(node, Var) and self._facts.reaches.varies(node):
                    return True
                if isinstance(node, Call) and varies_by_thread(node):
                    return True
                if not isinstance(node, Load) or node.buffer.storage in seen:
                    continue
                if node.buffer.scope == "global" or node.buffer.scope in SHARED_SCOPES:
                    continue
                seen.add(node.buffer.storage)
                stored = self._stored.get(node.buffer.storage, ())
                if any(self._is_set_in_part(stmt) for stmt, _ in stored):
                    return True
                left += [value for _, value in stored]
        return False

    def _is_set_in_part(self, stmt: Stmt) -> bool:
        return any(map(self._facts.splits, self._facts.tree.around(stmt)))

    # What is waited for --------------------------------------------------------------------------

    def _meets_others(self, stmt: Stmt) -> bool:
        """Whether threads wait at a statement for others who are not there with them."""
        return stmt not in self._facts.barriers and _meets(self._operations, stmt)

    def _awaited(self, statements: Iterable[Stmt]) -> Phases:
        return {one for stmt in statements for one in self._phases(stmt, arriving=False)}

    def _signalled(self, stmt: Stmt) -> Phases:
        return set(self._phases(stmt, arriving=True))

    def _phases(self, stmt: Stmt, *, arriving: bool) -> Iterator[Buffer | None]:
        """The mbarriers that a statement itself waits for, or arrives at."""
        for call, effect in self._operations.synchronizing(stmt):
            if effect.arrives if arriving else effect.signals is Signal.WAIT:
                barrier = mbarrier_operand(call, effect)
                yield barrier.buffer if isinstance(barrier, Load) else None


def _meets(operations: Operations, stmt: Stmt) -> bool:
    """Whether threads of several warps wait for each other at a statement."""
    return any(
        meeting.waits and meeting.group not in (Group.WARP, Group.NOBODY)
        for effect in operations.effects(stmt)
        for meeting in effect.meetings
    )


def _may_meet(awaited: Phases, signalled: Phases) -> bool:
    return bool(awaited) and (None in awaited | signalled or not awaited.isdisjoint(signalled))


def _set_by(stmt: Stmt) -> Iterator[tuple[object, Expr]]:
    """The memory that a statement sets, and an expression that decides to what."""
    if isinstance(stmt, Store):
        yield stmt.buffer.storage, stmt.value
    for call in calls_of(stmt):
        for operand in written_operands(call):
            for node in walk(operand):
                if isinstance(node, Load):
                    yield node.buffer.storage, call
