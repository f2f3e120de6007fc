"""Which pairs of buffers that share bytes are separated by the order of statements alone.

In the smallest scope that holds all accesses of both, all of the one's come before all of the
other's. On every path from one to the other, across back edges as well, all threads that reach that
scope meet, after the wait for whatever is asynchronous. And in a loop no read is upward-exposed:
each finds what the same iteration wrote. Nothing is executed, and only conditions on thread indices
are evaluated: a branch on data changes nothing. What is not shown so is left to the trace; nothing
is refuted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.checker.budget import STATEMENT, Work
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.operations import Operations, operations_of
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.compared import Compared
from smemreuse.checker.separation.facts import Accesses, Facts
from smemreuse.checker.separation.gaps import Gap, Gaps
from smemreuse.checker.separation.ground import Ground
from smemreuse.checker.separation.privacy import Exposed, Privacy
from smemreuse.checker.separation.tree import Scope
from smemreuse.checker.separation.waiting import WaitsInPart, waits_anywhere, waits_in_part
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer, For, Kernel, Stmt
from smemreuse.ir.launch import UnknownThreads, thread_axes
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.evaluate import evaluate

MAX_BODY = 3_000
"""Statements of a kernel that are looked at."""


class Separation:
    """The pairs of a kernel's buffers that are separated; each is looked at once."""

    def __init__(
        self,
        kernel: Kernel,
        accesses: Mapping[Stmt, tuple[MemoryAccess, ...]],
        operations: Operations,
        work: Work,
        prediction: Prediction | None,
    ):
        self._work = work
        self._prediction = prediction
        self._facts: Facts | None = None
        self._leaving: dict[Buffer, bool] = {}
        try:
            work.do(STATEMENT * operations.count)
            self._facts = _facts_of(kernel, accesses, operations)
        except Uncovered:
            pass  # nothing is separated
        self.waits = _waits_of(kernel, operations, self._facts)
        if self.waits.for_outside:
            self._prediction = None  # a barrier that is yet to come may never be passed

    def remaining(self, layout: ByteLayout) -> ByteLayout:
        """A layout in which only those buffers are partners that are not separated."""
        rest = ByteLayout(layout.offsets, layout.sizes, layout.names)
        for one, partners in layout.partners.items():
            for two in partners:
                if two in rest.partners.get(one, ()) and self._is_separated(layout, one, two):
                    rest.partners[one].remove(two)
                    rest.partners[two].remove(one)
        for one in [one for one, partners in rest.partners.items() if not partners]:
            del rest.partners[one]
        return rest

    def _is_separated(self, layout: ByteLayout, one: Buffer, two: Buffer) -> bool:
        facts = self._facts
        if facts is None or {one, two} & facts.not_understood:
            return False
        try:
            return self._has_proof(facts, layout, one, two)
        except (Gap, Exposed, Uncovered):
            return False

    def _has_proof(self, facts: Facts, layout: ByteLayout, one: Buffer, two: Buffer) -> bool:
        accesses = tuple(facts.by_buffer.get(one, ())), tuple(facts.by_buffer.get(two, ()))
        if not all(accesses):
            return True
        region = facts.tree.region(stmt for found in accesses for stmt, _ in found)
        if not _one_after_the_other(facts, region, accesses):
            return False
        reach = facts.reaches[region.statements[0]]
        if not reach.together:
            return False
        if any(self._may_leave(facts, buffer, layout) for buffer in (one, two)):
            return False
        self._work.do(STATEMENT * len(region.statements))
        prediction = self._prediction
        if (
            prediction is not None
            and not Compared(facts, prediction, region, reach, accesses).everywhere()
        ):
            prediction = None
        ground = Ground(facts, accesses, reach, prediction)
        loop = region.loop
        Gaps(ground).require_none((loop or region).statements, loop is not None)
        if loop is not None:
            for buffer, other, found in ((one, two, accesses[0]), (two, one, accesses[1])):
                by_statement: dict[Stmt, list[MemoryAccess]] = {}
                for stmt, access in found:
                    by_statement.setdefault(stmt, []).append(access)
                size = layout.sizes[buffer]
                privacy = Privacy(facts, by_statement, size, reach, self._prediction, self._work)
                privacy.require(
                    region.statements, reach.threads, slice(*layout.common(buffer, other))
                )
        return True

    def _may_leave(self, facts: Facts, buffer: Buffer, layout: ByteLayout) -> bool:
        """Whether a write is seen to go beyond its buffer, in the first or last rounds of its
        loops."""
        if buffer not in self._leaving:
            self._leaving[buffer] = any(
                _leaves(facts, stmt, access, layout.sizes[buffer], last)
                for stmt, access in facts.by_buffer[buffer]
                if access.access is not Access.READ
                for last in (False, True)
            )
        return self._leaving[buffer]


def _facts_of(
    kernel: Kernel, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]], operations: Operations
) -> Facts | None:
    """Those of a kernel, kept with it; None where it is too large, or not all is followed."""
    if operations.count > MAX_BODY:
        return None
    try:
        found = kernel.memo.once(
            Facts, lambda: Facts(kernel.body, accesses, operations, thread_axes(kernel.body))
        )
    except UnknownThreads:
        return None
    return found if found.follows_all else None


def _waits_of(kernel: Kernel, operations: Operations, facts: Facts | None) -> WaitsInPart:
    """Those of a kernel, kept with it where it is known which threads come to them."""
    if facts is None:
        return waits_anywhere(kernel.body, operations)
    return kernel.memo.once(WaitsInPart, lambda: waits_in_part(kernel.body, facts, operations))


def waits_of(kernel: Kernel, accesses: KernelAccesses) -> WaitsInPart:
    """Where some threads of a kernel wait for what others do."""
    operations = operations_of(kernel)
    facts = _facts_of(kernel, accesses.by_statement, operations)
    return _waits_of(kernel, operations, facts)


def _one_after_the_other(facts: Facts, region: Scope, accesses: tuple[Accesses, Accesses]) -> bool:
    """Whether in a scope everything that is done to one buffer comes before the other's."""
    one, two = ({facts.tree.index_in(region, stmt) for stmt, _ in found} for found in accesses)
    return max(one) < min(two) or max(two) < min(one)


def _leaves(facts: Facts, stmt: Stmt, access: MemoryAccess, size: int, last: bool) -> bool:
    threads, footprint = access.who(facts.reaches[stmt].threads), access.footprint
    scope: Scope | None = facts.tree.places[stmt][0]
    while scope is not None:
        if isinstance(scope.owner, For):
            begin, extent = (
                evaluate(one, threads) for one in (scope.owner.begin, scope.owner.extent)
            )
            if isinstance(begin, int) and isinstance(extent, int):
                threads = threads.bind(scope.owner.var, begin + (extent - 1 if last else 0))
        scope = scope.parent
    start = None if footprint.start is None else evaluate(footprint.start, threads)
    if start is None or threads.count == 0:
        return False
    runs = np.array([0, (footprint.count - 1) * footprint.stride])
    first, end = int(np.min(start) + runs.min()), int(np.max(start) + runs.max()) + footprint.size
    return first < 0 or end > size
