"""Which iterations of a loop the byte trace executes: as many as show all its states.

A loop that uses its variable only under `% c` behaves the same every `c` iterations, so a few
periods stand for all. What else it may depend on, counters and phases of mbarriers, must repeat
itself too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set

from smemreuse.checker.relevance import Relevance
from smemreuse.ir.expr import Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    Bind,
    Block,
    For,
    If,
    Stmt,
    Store,
    While,
    expressions_of,
    walk_statements,
)
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.periodic import is_affine, is_increment, moduli
from smemreuse.semantics.table import is_mbarrier

MAX_PERIOD = 64
"""The longest period that is looked for, in iterations."""


class Periods:
    """Answers for the loops of one kernel."""

    def __init__(self, relevance: Relevance):
        self._relevance = relevance
        self._known: dict[For, int | None] = {}

    def iterations(self, loop: For, count: int) -> Iterable[int]:
        """The iterations to run: all, or as many as show every state that the loop can be in.

        What is left out is a whole number of periods, so that counters end where they would.
        """
        if loop not in self._known:
            self._known[loop] = self._period(loop)
        period = self._known[loop]
        if period is None or count <= 3 * period:
            return range(count)
        return range(2 * period + count % period)

    def _period(self, loop: For) -> int | None:
        """After how many iterations a loop repeats itself; None if it never may.

        What varies is its variable, and counters that it steps by a constant. Both must decide
        only under a modulus by a constant; the period is then the common one.
        """
        arrives = self._arrives(loop)
        if arrives and self._completes_phases(loop):
            return None
        stepped: set[object] = set()
        for stmt in walk_statements(loop.body):
            if isinstance(stmt, Store) and self._relevance.sets_counter(stmt):
                stepped.add(stmt.buffer.storage)
                if not _is_step(stmt):
                    return None
            if isinstance(stmt, (If, While)):
                if any(self._relevance.sets_counter(inner) for inner in walk_statements((stmt,))):
                    return None  # not a step in every iteration
        tainted: set[Var] = {loop.var}

        def varies(node: Expr) -> bool:
            if isinstance(node, Load):
                return node.buffer.storage in stepped
            return node in tainted

        crooked: set[Var] = set()
        for stmt in walk_statements(loop.body):
            if isinstance(stmt, Bind) and any(varies(node) for node in walk(stmt.value)):
                tainted.add(stmt.var)
                if not is_affine(stmt.value, varies) or crooked & set(walk(stmt.value)):
                    crooked.add(stmt.var)  # `k // 4` has another period than `k`
            elif isinstance(stmt, For) and self._steps_differ(stmt, varies):
                return None
        period = 1
        # A counter that the loop steps decides elsewhere too, with the value that it is left with.
        inside = set(walk_statements(loop.body))
        for stmt in walk_statements(self._relevance.body if stepped else loop.body):
            if self._relevance.sets_counter(stmt) or isinstance(stmt, Bind):
                if stmt not in inside and _loads_any(stmt, stepped):
                    return None  # its value goes on under another name
                continue
            for expr in self._relevance.deciding(stmt):
                divisors = moduli(expr, varies)
                if divisors is None or crooked & set(walk(expr)):
                    return None
                period = math.lcm(period, *divisors)
        if arrives:
            period *= 2  # whose phases are even
        return period if period <= MAX_PERIOD else None

    def _arrives(self, loop: For) -> bool:
        return any(
            effect.arrives
            for stmt in walk_statements(loop.body)
            for _, effect in self._relevance.synchronizing(stmt)
        )

    def _completes_phases(self, loop: For) -> bool:
        """Whether a loop that arrives at mbarriers does so at some for which it does not wait."""
        arrived = self._slots(loop.body, lambda effect: effect.arrives)
        waited = self._slots(loop.body, lambda effect: effect.signals is Signal.WAIT)
        if not waited or not {one for one, _ in arrived} <= {one for one, _ in waited}:
            return True
        fixed = all(isinstance(index, Const) for _, index in arrived | waited)
        return fixed and not arrived <= waited

    def _slots(self, block: Block, holds: Callable[[Effect], bool]) -> set[tuple[object, object]]:
        """The mbarriers that operations name: their storage and slot, a constant or just some."""
        return {
            (arg.buffer.storage, arg.indices[0] if isinstance(arg.indices[0], Const) else None)
            for stmt in walk_statements(block)
            for call, effect in self._relevance.synchronizing(stmt)
            if holds(effect)
            for arg in call.args
            if isinstance(arg, Load) and is_mbarrier(arg)
        }

    def _steps_differ(self, inner: For, varies: Callable[[Expr], bool]) -> bool:
        """Whether an inner loop steps counters, and not equally often every time."""
        rounds = (inner.begin, inner.extent, inner.step)
        return any(varies(node) for expr in rounds for node in walk(expr)) and any(
            self._relevance.sets_counter(stmt) for stmt in walk_statements(inner.body)
        )


def _loads_any(stmt: Stmt, storages: Set[object]) -> bool:
    return any(
        isinstance(node, Load) and node.buffer.storage in storages
        for expr in expressions_of(stmt)
        for node in walk(expr)
    )


def _is_step(store: Store) -> bool:
    """`counter[i] = counter[i] + constant`, of a type that does not wrap."""
    value = store.value
    if store.buffer.dtype not in ("int32", "int64") or store.predicate is not None:
        return False
    if not all(isinstance(index, Const) for index in store.indices):
        return False
    return is_increment(
        value,
        lambda node: (
            isinstance(node, Load)
            and node.buffer.storage is store.buffer.storage
            and node.indices == store.indices
        ),
    )
