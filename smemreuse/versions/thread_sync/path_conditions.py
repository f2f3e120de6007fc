"""The threads that reach a statement, and in which rounds of its loops, as `ThreadSync` has it.

The pass keeps for each access the ranges of the loops around it, the conditions of
the branches, and what variables were bound to. Here all of that is evaluated for all threads at
once: in given rounds of some loops, and in any round of the others. What no thread's index decides
(arguments, block indices, what memory holds) stays unknown, or is what a model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Expr, Load, Var, variables_in, walk
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    Attr,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    expressions_of,
    nested_blocks,
    walk_statements,
)
from smemreuse.ir.launch import AXES, tag_of
from smemreuse.semantics.evaluate import (
    Threads,
    Value,
    all_threads,
    axis_index,
    evaluate,
)
from smemreuse.semantics.table import varies_by_thread
from smemreuse.versions.thread_sync import BoundValues
from smemreuse.versions.thread_sync.models import Model, models_of

MAX_LANES = 1 << 14
"""Threads times rounds that are evaluated for one statement."""

Symbols = frozenset[Var | Buffer]

BLOCKS = (0, 1, 2, 3, -1)
"""Blocks that are tried: the index on each axis, or counted from its end."""

ASSUMED = "tl.assume"
"""The key of an annotation that states a condition, which the pass takes to hold."""


@dataclass(frozen=True)
class Frame:
    """A scope around a statement, or a variable bound before it.

    `holds` tells in which arm of a branch it is.
    """

    stmt: Stmt
    holds: bool = True


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition on unknown values, which depends on `symbols`; `is_range`: a loop's range."""

    frame: Frame | None
    symbols: Symbols
    is_range: bool = False


@dataclass(frozen=True, eq=False)
class ActiveThreads:
    """The threads that reach a statement, once for each round of the loops that are `free`.

    `conditions` are those on unknown values that have to hold as well.
    """

    threads: Threads
    free: frozenset[For]
    conditions: tuple[Condition, ...]


_Rounds = tuple[tuple[For, int], ...]
_AtStatement = tuple[Stmt, _Rounds, int, Model | None]
_InFrame = tuple[Frame, _Rounds, int, Model | None]


class PathConditions:
    """The scopes around each statement of a kernel, and the threads of a block that reach it.

    `axes` are the thread axes of its blocks with their extents. `bindings` says whether values are
    known that variables are bound to.
    """

    def __init__(
        self, body: Block, axes: Mapping[str, int], bindings: BoundValues = BoundValues.OWN
    ) -> None:
        self._axes = axes
        self._knows_values = bindings is not BoundValues.UNKNOWN
        self.frames: dict[Stmt, tuple[Frame, ...]] = {}
        self.order: dict[Stmt, int] = {}
        self._everyone = all_threads(axes)
        self._known: dict[_AtStatement, ActiveThreads | None] = {}
        self._inside: dict[_InFrame, ActiveThreads | None] = {}
        self._variables: dict[Stmt, frozenset[Var]] = {}
        self._of_block: set[Var] = set()
        self._block(body, ())
        self._free = _free_variables(body)
        self.models = models_of(body)

    def _block(self, block: Block, frames: tuple[Frame, ...]) -> None:
        """Records the frames around each statement of a block, and the statements' order."""
        for stmt in block:
            self.frames[stmt], self.order[stmt] = frames, len(self.order)
            self._of_block |= self._set_by_block(stmt)
            for number, inner in enumerate(nested_blocks(stmt)):
                self._block(inner, (*frames, Frame(stmt, number == 0)))
            if isinstance(stmt, Bind):
                frames = (*frames, Frame(stmt))

    def _set_by_block(self, stmt: Stmt) -> set[Var]:
        """The variable that a statement sets to a block index, or to what is computed from one."""
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            return set() if tag_of(stmt) in AXES else {stmt.var}
        if isinstance(stmt, Bind) and self.uses_block(stmt.value):
            return {stmt.var}
        return {stmt.var} if isinstance(stmt, For) and self.uses_block(stmt.begin) else set()

    def uses_block(self, expr: Expr) -> bool:
        return not self._of_block.isdisjoint(variables_in(expr))

    def depends_on_block(self, stmt: Stmt) -> bool:
        """Whether the block decides which threads reach a statement, and how often."""
        return any(
            self.uses_block(expr)
            for frame in self.frames[stmt]
            if isinstance(frame.stmt, (If, For, While))
            for expr in expressions_of(frame.stmt)
        )

    def variables(self, stmt: Stmt) -> frozenset[Var]:
        """The variables that the scopes around a statement, and the bindings before it, name."""
        if stmt not in self._variables:
            expressions = (one for frame in self.frames[stmt] for one in expressions_of(frame.stmt))
            self._variables[stmt] = frozenset().union(*map(variables_in, expressions))
        return self._variables[stmt]

    def loops(self, stmt: Stmt) -> tuple[For, ...]:
        """The loops around a statement, outermost first."""
        return tuple(one.stmt for one in self.frames[stmt] if isinstance(one.stmt, For))

    def are_exclusive(self, one: Stmt, two: Stmt) -> bool:
        """Whether two statements are in different arms of a branch."""
        for mine, theirs in zip(self._scopes(one), self._scopes(two), strict=False):
            if mine.stmt is not theirs.stmt:
                return False
            if mine.holds != theirs.holds:
                return True
        return False

    def share_a_binding(self, one: Stmt, two: Stmt) -> bool:
        """Whether a variable that threads may differ in is bound before both statements."""
        theirs = {frame.stmt for frame in self.frames[two]}
        return any(
            isinstance(frame.stmt, Bind) and frame.stmt in theirs and self._may_differ(frame.stmt)
            for frame in self.frames[one]
        )

    def _may_differ(self, bind: Bind) -> bool:
        """Whether the value that a variable is bound to is not surely the same in all threads."""
        found = self.at(bind, {})
        if found is None:
            return True
        value = evaluate(bind.value, found.threads)
        return not isinstance(value, int) and symbols_of(bind.value, found) is None

    def _scopes(self, stmt: Stmt) -> Iterator[Frame]:
        return (one for one in self.frames[stmt] if not isinstance(one.stmt, Bind))

    def at(
        self,
        stmt: Stmt,
        rounds: Mapping[For, int],
        place: int = BLOCKS[0],
        model: Model | None = None,
    ) -> ActiveThreads | None:
        """The threads that reach a statement in these rounds, from 0, of some loops around it; None
        where that is not understood. `place` is one of `BLOCKS`. Without a model, what is unknown
        stays so."""
        mine = tuple((loop, rounds[loop]) for loop in self.loops(stmt) if loop in rounds)
        key = (stmt, mine, place, model)
        if key not in self._known:
            self._known[key] = self._active_at(stmt, dict(mine), place, model)
        return self._known[key]

    def in_branches(self, stmt: Stmt, indices: Set[Var]) -> np.ndarray | None:
        """The threads for which the conditions on their `indices` around a statement hold; None
        where that is not understood."""
        active: ActiveThreads | None = ActiveThreads(self._everyone, frozenset(), ())
        for frame in self.frames[stmt]:
            is_branch = isinstance(frame.stmt, If) and not indices.isdisjoint(
                variables_in(frame.stmt.condition)
            )
            if active is not None and (is_branch or isinstance(frame.stmt, Attr)):
                active = self._within(frame, active, {}, BLOCKS[0], None)
        return None if active is None else active.threads.ids

    def _active_at(
        self, stmt: Stmt, rounds: Mapping[For, int], place: int, model: Model | None
    ) -> ActiveThreads | None:
        """The threads that reach a statement: all threads, restricted frame by frame. What is
        inside of a frame is found once for all statements there."""
        frames, mine = self.frames[stmt], list[tuple[For, int]]()
        keys: list[_InFrame] = []
        for frame in frames:
            if isinstance(frame.stmt, For) and frame.stmt in rounds:
                mine.append((frame.stmt, rounds[frame.stmt]))
            keys.append((frame, tuple(mine), place, model))
        begin = next((at for at in range(len(keys), 0, -1) if keys[at - 1] in self._inside), 0)
        active = self._inside[keys[begin - 1]] if begin else self._outside(model)
        for frame, key in zip(frames[begin:], keys[begin:], strict=True):
            if active is not None:
                active = self._within(frame, active, rounds, place, model)
            self._inside[key] = active
        return active

    def _outside(self, model: Model | None) -> ActiveThreads:
        """All threads, before any frame."""
        threads = self._everyone
        if model is not None:
            values = dict.fromkeys(self._free, model.arguments)
            threads = Threads(threads.ids, values, model.load, threads.row)
        return ActiveThreads(threads, frozenset(), ())

    def _within(
        self,
        frame: Frame,
        active: ActiveThreads,
        rounds: Mapping[For, int],
        place: int,
        model: Model | None,
    ) -> ActiveThreads | None:
        """The threads inside one frame, of those that are `active` outside; None if not
        understood.
        """
        stmt, threads = frame.stmt, active.threads
        if isinstance(stmt, Bind):
            value: Value = None if model is None else model.arguments
            if self._knows_values:
                value = evaluate(stmt.value, threads)
            return _restricted(active, threads.bind(stmt.var, value))
        if isinstance(stmt, For):
            return self._round(frame, stmt, active, rounds)
        if isinstance(stmt, (If, While)):
            return held(active, stmt.condition, frame.holds, frame)
        if isinstance(stmt, Attr) and stmt.key == VIRTUAL_THREAD:
            return None
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            extent = evaluate(stmt.value, threads)
            extent = extent if isinstance(extent, int) else 1
            inside = threads.bind(stmt.var, self._axis(stmt, threads, extent, place))
            return _restricted(active, inside if extent > 0 else _none_of(inside))
        if isinstance(stmt, Attr) and stmt.key == ASSUMED and model is not None:
            return held(active, stmt.node, True, frame)
        return active

    def _axis(self, stmt: Attr, threads: Threads, extent: int, place: int) -> Value:
        """The index along a thread axis, or for a block axis of this extent the index of the block
        to try."""
        tag = tag_of(stmt)
        if tag not in self._axes:
            return min(place, extent - 1) if place >= 0 else max(extent + place, 0)
        return axis_index(tag, self._axes, threads)

    def _round(
        self, frame: Frame, loop: For, active: ActiveThreads, rounds: Mapping[For, int]
    ) -> ActiveThreads | None:
        """The threads inside a loop: in the round that `rounds` names, else once for each round.

        None where the begin or step is unknown, or the extent differs between threads.
        """
        threads = active.threads
        begin, extent, step = (
            evaluate(one, threads) for one in (loop.begin, loop.extent, loop.step)
        )
        if not isinstance(begin, int) or not isinstance(step, int) or step < 1:
            return None
        conditions = active.conditions
        if extent is None:
            symbols = symbols_of(loop.extent, active)
            if symbols is None:
                return None
            conditions = (*conditions, Condition(frame, symbols, is_range=True))
        elif not isinstance(extent, int):
            return None
        count = 1 if extent is None else len(range(begin, begin + extent, step))
        if loop in rounds:
            at = rounds[loop]
            threads = threads.bind(loop.var, begin + at * step)
            goes_so_far = extent is None or at < count
            return ActiveThreads(
                threads if goes_so_far else _none_of(threads), active.free, conditions
            )
        count = min(count, max(MAX_LANES // max(threads.count, 1), 1))
        values = begin + step * np.arange(count)
        return ActiveThreads(threads.repeated(loop.var, values), active.free | {loop}, conditions)


def _free_variables(body: Block) -> frozenset[Var]:
    """The variables that no statement sets: the kernel's arguments."""
    used, bound = set[Var](), set[Var]()
    for stmt in walk_statements(body):
        for expr in expressions_of(stmt):
            used |= variables_in(expr)
        if isinstance(stmt, (Bind, For, Attr)) and stmt.var is not None:
            bound.add(stmt.var)
    return frozenset(used - bound)


def held(
    active: ActiveThreads, condition: Expr, holds: bool, frame: Frame | None
) -> ActiveThreads | None:
    """The threads for which a condition holds, or does not; None where those are not known."""
    if isinstance(condition, Call) and condition.op == "not":
        return held(active, condition.args[0], not holds, frame)
    if isinstance(condition, Call) and condition.op == ("and" if holds else "or"):
        found: ActiveThreads | None = active
        for part in condition.args:
            found = None if found is None else held(found, part, holds, frame)
        return found
    threads = active.threads
    value = evaluate(condition, threads)
    if value is None:
        symbols = symbols_of(condition, active)
        if symbols is None:
            return None
        return ActiveThreads(threads, active.free, (*active.conditions, Condition(frame, symbols)))
    mask = np.broadcast_to(np.equal(value, 0) != holds, threads.ids.shape)
    return active if mask.all() else _restricted(active, threads.where(mask))


def symbols_of(expr: Expr, active: ActiveThreads) -> Symbols | None:
    """What an expression depends on that is not known; None if threads may differ in it."""
    threads, found = active.threads, set[Var | Buffer]()
    rounds = {loop.var for loop in active.free}
    for node in walk(expr):
        if isinstance(node, Var):
            value = threads.values.get(node)
            if isinstance(value, np.ndarray) and node not in rounds:
                return None
            if value is None:
                found.add(node)
        elif isinstance(node, Load):
            found.add(node.buffer.storage)
        elif isinstance(node, Call) and varies_by_thread(node):
            return None
    return frozenset(found)


def known_to_hold(active: ActiveThreads, condition: Expr) -> ActiveThreads:
    """The threads for which a condition is not known to be false."""
    if isinstance(condition, Call) and condition.op == "and":
        for part in condition.args:
            active = known_to_hold(active, part)
        return active
    value = evaluate(condition, active.threads)
    if value is None:
        return active
    mask = np.broadcast_to(np.not_equal(value, 0), active.threads.ids.shape)
    return _restricted(active, active.threads.where(mask))


def _restricted(active: ActiveThreads, threads: Threads) -> ActiveThreads:
    return ActiveThreads(threads, active.free, active.conditions)


def _none_of(threads: Threads) -> Threads:
    return threads.where(np.zeros(threads.count, dtype=bool))
