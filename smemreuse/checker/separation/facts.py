"""Facts of a kernel that separation needs, independent of the plan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from smemreuse.checker.operations import Operations
from smemreuse.checker.separation.reach import Reach, Reaches, aligned_barriers
from smemreuse.checker.separation.tree import Tree
from smemreuse.checker.values.descriptors import Holders
from smemreuse.ir.access import Access
from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    VIRTUAL_THREAD,
    Attr,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    walk_statements,
)
from smemreuse.semantics.accesses import WHOLE, MemoryAccess
from smemreuse.semantics.effects import Engine, Group, Leaving, Proxy, Signal
from smemreuse.semantics.evaluate import evaluate
from smemreuse.semantics.table import calls_of, effect_of, evaluated_effect

_UNDERSTOOD = (Engine.THREAD, Engine.CP_ASYNC, Engine.TMA_STORE, Engine.WGMMA)
"""Engines whose accesses are over after a wait for groups, if at all."""

Accesses = tuple[tuple[Stmt, MemoryAccess], ...]


class Facts:
    """The statements of a kernel: which threads reach them, what they access, where all threads
    meet.

    `accesses` are those of all statements; `axes` the extents of the axes of a block's threads.
    """

    def __init__(
        self,
        body: Block,
        accesses: Mapping[Stmt, tuple[MemoryAccess, ...]],
        operations: Operations,
        axes: Mapping[str, int],
    ):
        self.tree = Tree(body)
        self.reaches = Reaches(body, operations, axes)
        self.barriers = aligned_barriers(body, self.reaches)
        self._operations = operations
        self._accesses = accesses
        self._within: dict[Stmt, frozenset[Stmt]] = {}
        self._assumed: dict[tuple[Hashable, Hashable], bool] = {}
        self._meeting: dict[Hashable, set[Stmt]] = {}
        self._splits: dict[Stmt, bool] = {}
        self._may_meet: dict[Stmt, bool] = {}
        self.follows_all = all(map(self._is_followed, walk_statements(body)))
        self.by_buffer: dict[Buffer, list[tuple[Stmt, MemoryAccess]]] = {}
        self.not_understood: set[Buffer] = set()
        self._collect(body)

    # What is accessed ----------------------------------------------------------------------------

    def _collect(self, body: Block) -> None:
        """Where each buffer is accessed; what a descriptor stands for is where that is read."""
        holders = Holders(body, self._accesses)
        described: dict[object, set[Buffer]] = {}
        for access in (one for found in self._accesses.values() for one in found):
            if access.descriptor is not None:
                described.setdefault(access.descriptor, set()).add(access.buffer)
                if holders.lost(access.descriptor):
                    self.not_understood.add(access.buffer)
        for stmt in walk_statements(body):
            for access in self._accesses.get(stmt, ()):
                if access.descriptor is None or access.engine is Engine.UNKNOWN_ASYNC:
                    self._note(stmt, access)
            for call in calls_of(stmt):
                effect = effect_of(call)
                for made in holders.in_expr(call) if effect.reads_described else ():
                    for buffer in described.get(made, ()):
                        read = MemoryAccess(buffer, Access.READ, WHOLE, call, False, effect.engine)
                        self._note(stmt, read)

    def _note(self, stmt: Stmt, access: MemoryAccess) -> None:
        self.by_buffer.setdefault(access.buffer, []).append((stmt, access))
        by_async_proxy = access.proxy is Proxy.ASYNC and access.access is not Access.READ
        unclear = access.uncovered or access.signals or access.engine not in _UNDERSTOOD
        if unclear or by_async_proxy:
            self.not_understood.add(access.buffer)  # rules 1, 5, 8, 10 and 11

    def touches(self, stmt: Stmt) -> bool:
        """Whether a statement itself accesses any shared memory."""
        return any(one.buffer.scope in SHARED_SCOPES for one in self._accesses.get(stmt, ()))

    # What may order accesses ---------------------------------------------------------------------

    def may_meet(self, stmt: Stmt) -> bool:
        """Whether threads may meet at a statement, or before it once a later pass is done."""
        known = self._may_meet.get(stmt)
        if known is None:
            known = self._may_meet[stmt] = self.touches(stmt) or any(
                bool(effect.meetings) or effect.mbarrier is not None or effect.fence
                for _, effect in self._operations.synchronizing(stmt)
            )
        return known

    def acting(self, stmt: Stmt) -> frozenset[Stmt]:
        """Those in a statement, itself included, that access shared memory or may order that."""
        known = self._within.get(stmt)
        if known is None:
            known = self._within[stmt] = frozenset(
                inner
                for inner in walk_statements((stmt,))
                if self.touches(inner)
                or self._operations.synchronizing(inner)
                or self._operations.may_order(inner)
                or self._operations.may_spin(inner)
            )
        return known

    def splits(self, stmt: Stmt) -> bool:
        """Whether a branch may be divergent for threads that reach it together."""
        if not isinstance(stmt, If):
            return False
        if stmt not in self._splits:
            threads = self.reaches[stmt].threads
            self._splits[stmt] = any(
                not known or arm.count not in (0, threads.count)
                for _, arm, known in self.reaches.arms(stmt, threads)
            )
        return self._splits[stmt]

    def parts_for_sure(self, stmt: If) -> bool:
        """Whether threads part at a branch, and it is known which take which arm."""
        value = evaluate(stmt.condition, self.reaches[stmt].threads)
        return isinstance(value, np.ndarray) and self.splits(stmt)

    def blocks(self, stmt: Stmt) -> bool:
        """Whether a thread may have to wait at a statement for one that is not there with it."""
        if isinstance(stmt, While) or stmt in self.barriers:
            return isinstance(stmt, While)
        return self._operations.may_block(stmt) or any(
            effect.signals is Signal.WAIT
            or any(meeting.group is not Group.WARP for meeting in effect.meetings)
            or effect.engine is Engine.UNKNOWN_ASYNC
            or bool(effect.unknown)
            for _, effect in self._operations.synchronizing(stmt)
        )

    def _is_followed(self, stmt: Stmt) -> bool:
        """Whether control flow after a statement is as the statements say: no unknown exits."""
        if isinstance(stmt, Attr) and stmt.key == VIRTUAL_THREAD and constant(stmt.value) != 1:
            return False
        if isinstance(stmt, For) and stmt.kind == "thread_binding":
            return False
        if self._operations.inside(stmt):
            return False
        effect = evaluated_effect(stmt)
        if effect is None:
            return True
        if effect.leaves not in (None, Leaving.RETURN):
            return False
        alone = effect.leaves is not None or effect.engine is Engine.UNKNOWN_ASYNC or effect.unknown
        return not alone or self.reaches.are_all(self.reaches[stmt])

    # The threads ---------------------------------------------------------------------------------

    def assumed_for(self, stmt: Stmt, group: Reach) -> bool:
        """Whether all of a group come to a statement, in whole warps, so that a barrier can stand
        there."""
        key = (self.reaches[stmt].key, group.key)
        if key not in self._assumed:
            reach = self.reaches[stmt]
            whole = self.reaches.has_whole_warps(reach)
            self._assumed[key] = whole and reach.includes(group)
        return self._assumed[key]

    def meeting(self, group: Reach) -> set[Stmt]:
        """The barriers at which all of a group meet."""
        if group.key not in self._meeting:
            self._meeting[group.key] = {
                stmt
                for stmt, reach in self.barriers.items()
                if reach.includes(group) and self._is_barrier(stmt)
            }
        return self._meeting[group.key]

    def _is_barrier(self, stmt: Stmt) -> bool:
        """Whether threads meet behind all that a statement accesses, and not inside an operation
        that may access more behind that."""
        effect = evaluated_effect(stmt)
        return effect is not None and effect.meeting is not None
