"""The threads that reach a statement, and in which rounds of its loops, as `ThreadSync` has it.

The pass keeps for each access the ranges of the loops around it, the conditions of
the branches, and what variables were bound to. Here all of that is evaluated for all threads at
once: in given rounds of some loops, and in any round of the others. What no thread's index decides
(arguments, block indices, what memory holds) stays unknown, or is what a model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

import numpy as np

from smemreuse.ir.expr import Expr, Var, variables_in
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    Assert,
    Attr,
    Bind,
    Block,
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
from smemreuse.versions.thread_sync import BoundValues
from smemreuse.versions.thread_sync.active_threads import (
    ActiveThreads,
    Condition,
    Frame,
    held,
    none_of,
    restricted,
    symbols_of,
)
from smemreuse.versions.thread_sync.models import Model, models_of
from smemreuse.versions.thread_sync.prover_values import prover_value
from smemreuse.versions.thread_sync.unknowns import may_be_large

MAX_LANES = 1 << 14
"""Threads times rounds that are evaluated for one statement."""

BLOCKS = (0, 1, 2, 3, -1)
"""Blocks that are tried: the index on each axis, or counted from its end."""

ASSUMED = "tl.assume"
"""The key of an annotation that states a condition, which the pass takes to hold."""

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
            if isinstance(stmt, (Bind, Assert)):
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
        return (one for one in self.frames[stmt] if not isinstance(one.stmt, (Bind, Assert)))

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
        active: ActiveThreads | None = ActiveThreads(self._everyone)
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
            values = {var: model.argument(var) for var in self._free}
            threads = Threads(threads.ids, values, model.load, threads.row)
        return ActiveThreads(threads)

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
            return self._binding(stmt, active, model)
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
            return restricted(active, inside if extent > 0 else none_of(inside))
        if isinstance(stmt, Attr) and stmt.key == ASSUMED:
            return held(active, stmt.node, True, frame, is_stated=True)
        if isinstance(stmt, Assert):
            return held(active, stmt.condition, True, frame, is_stated=True)
        return active

    def _binding(self, bind: Bind, active: ActiveThreads, model: Model | None) -> ActiveThreads:
        """The same threads with one more variable. Where the pass knows no values, that is one more
        argument."""
        if not self._knows_values:
            if model is None:
                return active
            return restricted(active, active.threads.bind(bind.var, model.arguments))
        value = prover_value(bind.value, active.threads)
        inside = restricted(active, active.threads.bind(bind.var, value))
        return (
            inside
            if value is not None
            else replace(inside, bound={**active.bound, bind.var: bind.value})
        )

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
            prover_value(one, threads) for one in (loop.begin, loop.extent, loop.step)
        )
        if not isinstance(begin, int) or not isinstance(step, int) or step < 1:
            return None
        conditions = active.conditions
        if extent is None:
            symbols = symbols_of(loop.extent, active)
            if symbols is None or not may_be_large(loop.extent, threads, active.bound):
                return None
            conditions = (*conditions, Condition(frame, symbols, is_range=True))
        elif not isinstance(extent, int):
            return None
        count = 1 if extent is None else len(range(begin, begin + extent, step))
        if loop in rounds:
            at = rounds[loop]
            threads = threads.bind(loop.var, begin + at * step)
            goes_so_far = extent is None or at < count
            threads = threads if goes_so_far else none_of(threads)
            return replace(active, threads=threads, conditions=conditions)
        count = min(count, max(MAX_LANES // max(threads.count, 1), 1))
        values = begin + step * np.arange(count)
        inside, free = threads.repeated(loop.var, values), active.free | {loop}
        return replace(active, threads=inside, free=free, conditions=conditions)


def _free_variables(body: Block) -> frozenset[Var]:
    """The variables that no statement sets: the kernel's arguments."""
    used, bound = set[Var](), set[Var]()
    for stmt in walk_statements(body):
        for expr in expressions_of(stmt):
            used |= variables_in(expr)
        if isinstance(stmt, (Bind, For, Attr)) and stmt.var is not None:
            bound.add(stmt.var)
    return frozenset(used - bound)
