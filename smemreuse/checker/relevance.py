"""What of a kernel the byte trace must execute: the rest is skipped, and long loops are cut short.

A statement matters if it touches a buffer that shares bytes, synchronizes, or sets a local counter
on which such a statement depends. A loop that uses its variable only under `% c` behaves the same
every `c` iterations, so a few periods stand for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    While,
    expressions_of,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Signal
from smemreuse.semantics.periodic import is_affine, is_increment, moduli
from smemreuse.semantics.pointers import escaping
from smemreuse.semantics.table import calls_of, deciding_operands, effect_of

BARRIER_SCOPE = "shared.barrier"

MAX_PERIOD = 64


class Relevance:
    """Which statements of a kernel matter to the buffers in `shared`."""

    def __init__(
        self,
        body: Block,
        shared: Set[Buffer],
        accesses: Mapping[Stmt, tuple[MemoryAccess, ...]],
    ):
        self._body = body
        self._shared = shared
        self.accesses: dict[Stmt, tuple[MemoryAccess, ...]] = {}
        self.load_bytes: dict[Stmt, int] = {}
        self._effects: dict[Stmt, tuple[tuple[Call, Effect], ...]] = {}
        self._waits: dict[Stmt, bool] = {}
        for stmt, everything in accesses.items():
            found = tuple(access for access in everything if access.buffer in shared)
            if found:
                self.accesses[stmt] = found
            for access in everything:
                if access.engine is Engine.TMA_LOAD and access.footprint.start is not None:
                    self.load_bytes[stmt] = access.footprint.size
        self.written = {
            stmt.buffer.storage
            for stmt in walk_statements(body)
            if isinstance(stmt, Store) and stmt.buffer.scope == "global"
        }
        self.escaped = {one for stmt in walk_statements(body) for one in escaping(stmt)}
        self._counters: set[object] = set()
        self._relevant: dict[Stmt, bool] = {}
        self._periods: dict[For, int | None] = {}
        self._find_counters(body)

    def __call__(self, stmt: Stmt) -> bool:
        known = self._relevant.get(stmt)
        if known is None:
            known = self._relevant[stmt] = self._matters(stmt) or any(
                self(inner) for block in nested_blocks(stmt) for inner in block
            )
        return known

    def block(self, block: Block) -> bool:
        return any(self(stmt) for stmt in block)

    def waits(self, stmt: Stmt) -> bool:
        """Whether a branch waits for other threads, as the arms of warp specialization do."""
        known = self._waits.get(stmt)
        if known is None:
            known = self._waits[stmt] = any(
                effect.signals is Signal.WAIT
                for inner in walk_statements((stmt,))
                for _, effect in self._synchronizing(inner)
            )
        return known

    def synchronizes(self, block: Block) -> bool:
        """Whether anything in a block orders accesses, or needs its iterations one by one."""
        return any(
            any(effect.orders for _, effect in self._synchronizing(stmt))
            or isinstance(stmt, While)
            or self._sets_counter(stmt)
            for stmt in walk_statements(block)
        )

    def kinds(self, block: Block) -> set[tuple[Buffer, str]]:
        """The buffers accessed in a block, with how."""
        return {
            (access.buffer, access.access.value)
            for stmt in walk_statements(block)
            for access in self.accesses.get(stmt, ())
        }

    def _matters(self, stmt: Stmt) -> bool:
        return bool(stmt in self.accesses or self._synchronizing(stmt) or self._sets_counter(stmt))

    def _synchronizing(self, stmt: Stmt) -> tuple[tuple[Call, Effect], ...]:
        """The operations of a statement itself that the order of accesses depends on."""
        known = self._effects.get(stmt)
        if known is None:
            found = ((call, effect_of(call)) for call in calls_of(stmt))
            known = self._effects[stmt] = tuple(
                (call, effect) for call, effect in found if effect.synchronizes
            )
        return known

    def _sets_counter(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.buffer.storage in self._counters

    def _find_counters(self, body: Block) -> None:
        """Local buffers that decide where, when or whether a relevant statement acts."""
        variables: set[Var] = set()
        while True:
            before = len(self._counters) + len(variables)
            self._relevant.clear()
            for stmt in walk_statements(body):
                bound = (stmt.value,) if isinstance(stmt, Bind) and stmt.var in variables else ()
                for expr in (*bound, *self._deciding(stmt)):
                    for node in walk(expr):
                        if isinstance(node, Load) and node.buffer.scope.startswith("local"):
                            self._counters.add(node.buffer.storage)
                        elif isinstance(node, Var):
                            variables.add(node)
            if len(self._counters) + len(variables) == before:
                return

    def _deciding(self, stmt: Stmt) -> Iterator[Expr]:
        """Expressions whose values matter: places, conditions, barrier operands, counters."""
        if not self(stmt):
            return
        if isinstance(stmt, (If, While)):
            yield stmt.condition
        elif isinstance(stmt, For):
            yield from (stmt.begin, stmt.extent, stmt.step)
        elif isinstance(stmt, Bind):
            yield stmt.value
        elif self._sets_counter(stmt):
            assert isinstance(stmt, Store)
            yield from (stmt.value, *stmt.indices)
        for access in self.accesses.get(stmt, ()):
            if access.footprint.start is not None:
                yield access.footprint.start
            if access.barrier is not None:
                yield from access.barrier.indices
        for call, effect in self._synchronizing(stmt):
            yield from deciding_operands(call, effect)

    def iterations(self, loop: For, count: int) -> Iterable[int]:
        """The iterations to run: all, or as many as show every state that the loop can be in.

        What is left out is a whole number of periods, so that counters end where they would.
        """
        if loop not in self._periods:
            self._periods[loop] = self._period(loop)
        period = self._periods[loop]
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
            if isinstance(stmt, Store) and self._sets_counter(stmt):
                stepped.add(stmt.buffer.storage)
                if not _is_step(stmt):
                    return None
            if isinstance(stmt, (If, While)):
                if any(self._sets_counter(inner) for inner in walk_statements((stmt,))):
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
        for stmt in walk_statements(self._body if stepped else loop.body):
            if self._sets_counter(stmt) or isinstance(stmt, Bind):
                if stmt not in inside and _loads_any(stmt, stepped):
                    return None  # its value goes on under another name
                continue
            for expr in self._deciding(stmt):
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
            for _, effect in self._synchronizing(stmt)
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
            for call, effect in self._synchronizing(stmt)
            if holds(effect)
            for arg in call.args
            if isinstance(arg, Load) and arg.buffer.scope == BARRIER_SCOPE
        }

    def _steps_differ(self, inner: For, varies: Callable[[Expr], bool]) -> bool:
        """Whether an inner loop steps counters, and not equally often every time."""
        rounds = (inner.begin, inner.extent, inner.step)
        return any(varies(node) for expr in rounds for node in walk(expr)) and any(
            self._sets_counter(stmt) for stmt in walk_statements(inner.body)
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
