"""Waits of some threads for what others do behind a barrier that is not there yet (rule 12).

A later pass puts barriers between accesses to bytes that buffers share. Where the threads of one
branch wait for what others do after it, such a barrier in between is never passed, though the
kernel without the plan has none there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smemreuse.checker.operations import Operations
from smemreuse.checker.separation.facts import Facts
from smemreuse.ir.expr import Load
from smemreuse.ir.kernel import Block, Buffer, Stmt, walk_statements
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import mbarrier_operand

Phases = set[Buffer | None]
"""The arrays of some mbarriers; None is any."""


@dataclass(frozen=True)
class WaitsInPart:
    """The waits in branches that some threads take, others not.

    `hidden` is a statement in which they may wait, and nothing tells for what. `for_outside`: they
    may wait for what others do outside of the branch, for a phase of an mbarrier, too.
    """

    hidden: Stmt | None
    for_outside: bool


def waits_in_part(body: Block, facts: Facts, operations: Operations) -> WaitsInPart:
    """Those of a kernel."""
    statements = [*walk_statements(body)]
    signalling = [(stmt, found) for stmt in statements if (found := _signalled(operations, stmt))]
    hidden, for_outside = None, False
    for branch in statements:
        if not facts.splits(branch) or _is_inside(facts, branch):
            continue
        inside = [*walk_statements((branch,))]
        hidden = hidden or next(filter(operations.hides_wait, inside), None)
        awaited, within = _awaited(operations, inside), set(inside)
        for_outside = for_outside or any(
            _may_meet(awaited, found) for stmt, found in signalling if stmt not in within
        )
    return WaitsInPart(hidden, for_outside or hidden is not None)


def _is_inside(facts: Facts, branch: Stmt) -> bool:
    """Whether a branch is in another one that different threads take: what these wait for is asked
    of that."""
    return any(one is not branch and facts.splits(one) for one in facts.tree.around(branch))


def _may_meet(awaited: Phases, signalled: Phases) -> bool:
    return bool(awaited) and (None in awaited | signalled or not awaited.isdisjoint(signalled))


def _awaited(operations: Operations, statements: Iterable[Stmt]) -> Phases:
    return {one for stmt in statements for one in _phases(operations, stmt, arriving=False)}


def _signalled(operations: Operations, stmt: Stmt) -> Phases:
    return set(_phases(operations, stmt, arriving=True))


def _phases(operations: Operations, stmt: Stmt, *, arriving: bool) -> Iterator[Buffer | None]:
    """The mbarriers that a statement itself waits for, or arrives at."""
    for call, effect in operations.synchronizing(stmt):
        if effect.arrives if arriving else effect.signals is Signal.WAIT:
            barrier = mbarrier_operand(call, effect)
            yield barrier.buffer if isinstance(barrier, Load) else None
