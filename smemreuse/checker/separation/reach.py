"""Which threads reach each statement, whatever the data, and at which barriers they meet (rule 4).

Threads come together to what no condition that they may see differently decides. Where a condition
can be evaluated, each of its arms has the threads that it holds for; where it cannot and they may
differ, the threads inside are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.operations import Operations
from smemreuse.ir.expr import Call, Const, Expr, Load, Var, constant, walk
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Attr,
    Bind,
    Block,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    rounds_of,
    walk_statements,
)
from smemreuse.ir.launch import AXES, tag_of
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.evaluate import (
    Threads,
    Value,
    all_threads,
    axis_index,
    evaluate,
    has_whole_warps,
)
from smemreuse.semantics.table import (
    calls_of,
    counted,
    effect_of,
    may_meet_unseen,
    varies_by_thread,
)


@dataclass(frozen=True, eq=False)
class Reach:
    """The threads that may come to a statement, with what is in their variables.

    `together`: all of them do whenever one does.
    """

    threads: Threads
    together: bool

    @property
    def key(self) -> tuple[int, bool]:
        """The identity of a group, valid as long as it is kept alive."""
        return id(self.threads.ids), self.together

    def includes(self, other: Reach) -> bool:
        """Whether these come together, and those are among them."""
        return self.together and bool(np.isin(other.threads.ids, self.threads.ids).all())


class Reaches:
    """The threads at each statement of a kernel with these axes."""

    def __init__(self, body: Block, operations: Operations, axes: Mapping[str, int]):
        self._axes = axes
        self._changing = operations.written | operations.escaped
        self._varying: set[Var] = set()
        self._reach: dict[Stmt, Reach] = {}
        before = -1
        while before != (before := len(self._varying)):
            self._find_varying(body)
        threads = all_threads(axes)
        self.everyone = threads.ids
        self._block(body, threads, True)

    def __getitem__(self, stmt: Stmt) -> Reach:
        return self._reach[stmt]

    def are_all(self, reach: Reach) -> bool:
        """Whether all threads of the block come together."""
        return reach.together and reach.threads.count == len(self.everyone)

    def has_whole_warps(self, reach: Reach) -> bool:
        """Whether of each warp all threads come, or none."""
        return has_whole_warps(reach.threads.ids, len(self.everyone))

    def varies(self, expr: Expr) -> bool:
        """Whether threads may see different values.

        Global memory that the kernel does not write is the same for all; any other memory may not
        be the same when another thread reads it.
        """
        return any(map(self._node_varies, walk(expr)))

    def _node_varies(self, node: Expr) -> bool:
        if isinstance(node, Var):
            return node in self._varying
        if isinstance(node, Load):
            return node.buffer.scope != "global" or node.buffer.storage in self._changing
        return isinstance(node, Call) and varies_by_thread(node)

    def _find_varying(self, body: Block) -> None:
        for stmt in walk_statements(body):
            if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
                if tag_of(stmt) in AXES and stmt.value != Const(1):
                    self._varying.add(stmt.var)
            elif isinstance(stmt, (Bind, For)):
                made_of = (stmt.value,) if isinstance(stmt, Bind) else (stmt.begin, stmt.step)
                if any(map(self.varies, made_of)):
                    self._varying.add(stmt.var)

    def _block(self, block: Block, threads: Threads, together: bool) -> None:
        for stmt in block:
            if isinstance(stmt, Bind):
                threads = threads.bind(stmt.var, evaluate(stmt.value, threads))
            self._reach[stmt] = Reach(threads, together)
            if isinstance(stmt, If):
                self._branch(stmt, threads, together)
                continue
            within = self.inside(stmt, threads)
            for inner in nested_blocks(stmt):
                self._block(inner, within, together and not self.iterates_divergently(stmt))

    def inside(self, stmt: Stmt, threads: Threads, value: Value = None) -> Threads:
        """The threads within a scope that is no branch, with its variable; a loop's has `value`."""
        if isinstance(stmt, For):
            return threads.bind(stmt.var, value)
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            return threads.bind(stmt.var, axis_index(tag_of(stmt), self._axes, threads))
        return threads

    def iterates_divergently(self, stmt: Stmt) -> bool:
        """Whether threads may go round a loop differently often, or for different values."""
        if isinstance(stmt, For):
            return self.varies(stmt.begin) or self.varies(rounds_of(stmt))
        return isinstance(stmt, While) and self.varies(stmt.condition)

    def _branch(self, stmt: If, threads: Threads, together: bool) -> None:
        for block, within, known in self.arms(stmt, threads):
            self._block(block, within, together and known)

    def arms(self, stmt: If, threads: Threads) -> Iterator[tuple[Block, Threads, bool]]:
        """The arms of a branch: block, threads, and whether either all of those or none execute
        it."""
        condition = evaluate(stmt.condition, threads)
        if condition is None:
            known = not self.varies(stmt.condition)
            yield stmt.then, threads, known
            yield stmt.orelse, threads, known
        else:
            mask = np.broadcast_to(np.not_equal(condition, 0), threads.ids.shape)
            yield stmt.then, threads.where(mask), True
            yield stmt.orelse, threads.where(~mask), True


Name = object
"""The identity of a barrier: only uses of the same one complete each other."""


def aligned_barriers(body: Block, reaches: Reaches) -> dict[Stmt, Reach]:
    """The barriers of threads that meet there and nowhere under that name but all together.

    Whichever time a thread comes to one of them, it meets the others there the same time.
    """
    uses: dict[Name, list[tuple[Stmt, bool]]] = {}
    for stmt in walk_statements(body):
        reach = reaches[stmt]
        if not reach.together or reach.threads.count < len(reaches.everyone):
            if any(map(may_meet_unseen, calls_of(stmt))):
                return {}  # a part of the block may have come to any of them
        for call, meeting in _meetings(stmt):
            name, count = _name(call, meeting, reach), _count(call, meeting, reaches)
            complete = meeting.arrives and meeting.waits and count == reach.threads.count
            all_there = complete and reach.together and reaches.has_whole_warps(reach)
            uses.setdefault(name, []).append((stmt, all_there))
    if None in uses:
        return {}
    found: dict[Stmt, Reach] = {}
    for places in uses.values():
        groups = {reaches[stmt].threads.ids.tobytes() for stmt, _ in places}
        if len(groups) == 1 and all(is_whole for _, is_whole in places):
            found.update((stmt, reaches[stmt]) for stmt, _ in places)
    return found


def _meetings(stmt: Stmt) -> Iterator[tuple[Call, Meeting]]:
    """The barriers of more than a warp in a statement, those inside its operations too."""
    for call in calls_of(stmt):
        for meeting in effect_of(call).meetings:
            if meeting.group not in (Group.WARP, Group.NOBODY):
                yield call, meeting


def _name(call: Call, meeting: Meeting, reach: Reach) -> Name | None:
    """None where it is not known, so that any barrier may be meant."""
    if meeting.group is not Group.NAMED:
        # A barrier of the grid is made of two of the block.
        return 0 if meeting.group in (Group.BLOCK, Group.GRID) else meeting.group
    if meeting.number is not None:
        return meeting.number
    if meeting.identity is None or meeting.identity >= len(call.args):
        return 0 if meeting.threads is None else None
    return constant(call.args[meeting.identity])


def _count(call: Call, meeting: Meeting, reaches: Reaches) -> int | None:
    count = counted(call, meeting) if meeting.group is Group.NAMED else None
    if count is None:
        return len(reaches.everyone)
    number = constant(count)
    return None if number is None or number % 32 else number  # whole warps come
