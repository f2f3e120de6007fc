"""Privatization: is a buffer's content private to one iteration of a loop? (rule 2)

It is if no byte of it is upward-exposed, that is, read in an iteration that may not have written it
before, and if every iteration writes all bytes in case one is read outside of the loop. A state is
the threads that are there (see `divergence`) and the bytes that were surely written since the
iteration began. Fewer bytes are higher in the lattice; states are joined by intersection.

- P1 *Read.* All bytes that one of the threads may read must have been written, or the proof fails.
- P2 *Write.* One that surely happens adds its bytes, if they are known and the threads exact.
- P3 *Branch.* Arms that are alternatives are joined. Of arms that threads take at the same time
  neither may count on what the other writes (rule 4); after both, what either wrote is written.
- P4 *Loop.* Of a loop with constant bounds the rounds are gone through one by one, or all at once
  where the buffer is only read, or only written, in it, and no data decide in which arm. If the
  loop's variable decides only under `% c`, `c` rounds will do. Any other loop is solved for any
  value of its variable; if threads may count its rounds differently, they are not exact in it.
- P5 *End.* Where an iteration of the loop in question ends, be it by `continue` or `break`, all
  bytes must be written, if one is read outside of the loop. After a `return` nothing is read.
- P6 *While.* It may be left early (rule 3): nothing is private to its iterations.

Footprints are enumerated exactly over all threads of the block. What cannot be enumerated, as it
depends on data or symbols or takes more than the bounds below, is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from smemreuse.analysis.accessed import accessed_within
from smemreuse.analysis.divergence import ThreadGroup, divergence
from smemreuse.analysis.solver import Analysis, Arms, Exits, Solver
from smemreuse.facts import KernelFacts
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Const, Expr, Load, Var, children, walk
from smemreuse.ir.kernel import (
    MAX_FOLLOWED,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    rounds_of,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import LANES, Leaving
from smemreuse.semantics.evaluate import Parted, Threads, evaluate, require_alike
from smemreuse.semantics.periodic import moduli
from smemreuse.semantics.table import leaves

MAX_VALUES = 64
"""Values of a loop variable that are enumerated one by one."""

MAX_RANGE = 1 << 20
"""The largest bounds of a loop whose values are all listed."""

MAX_STEPS = 5_000
"""Statements that one proof may follow, loops iterated."""

MAX_BYTES = 1 << 25
"""Bytes of one access that are enumerated, each once for every place where it begins."""

MAX_LANES = 1 << 16
"""Threads times iterations that are enumerated at once."""


def is_private(facts: KernelFacts, loop: For | While, buffer: Buffer) -> bool:
    """Whether no byte of `buffer` is carried into, across or out of the loop's iterations."""
    group, size = facts.ask(divergence).group_within(loop), buffer.size
    if isinstance(loop, While) or group is None or size is None or size > MAX_FOLLOWED:  # P6
        return False
    needed = _is_read_outside(facts, loop, buffer)
    analysis = _UpwardExposed(facts, buffer)
    try:
        for value in _values(facts, loop, buffer, group.threads):
            begin = _State(group, np.zeros(size, dtype=bool)).bind(loop.var, value)
            found = analysis.solved(loop.body, begin)
            ends = [state for way, state in found.jumps.items() if way is not Leaving.RETURN]
            ends += [found.end] if found.end is not None else []
            if needed and not all(end.written.all() for end in ends):  # P5
                return False
    except _Unproved:
        return False
    return True


class _Unproved(Exception):
    """A byte may be read that the iteration has not written, or the proof takes too long."""


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The threads at a program point, and for each byte of the buffer whether it is
    surely written.
    """

    group: ThreadGroup
    written: np.ndarray

    def bind(self, var: Var, value: int | None) -> _State:
        return _State(self.group.bind(var, value), self.written)


class _UpwardExposed(Analysis[_State]):
    """The analysis of clauses P1 to P4 for one buffer; raises `_Unproved` at an upward-exposed
    read.
    """

    def __init__(self, facts: KernelFacts, buffer: Buffer):
        self._facts = facts
        self._buffer = buffer
        self._groups = facts.ask(divergence)
        self._within = facts.ask(accessed_within)
        self._leaving = facts.ask(_leaving)
        self._steps_left = MAX_STEPS
        self._one_by_one: set[Var] = set()

    def solved(self, block: Block, begin: _State) -> Exits[_State]:
        """How a block ends; loops are gone through round by round if data decide in which arm."""
        while True:
            try:
                return Solver(self, keep=False).solve(block, begin)
            except Parted as found:
                self._one_by_one.update(found.args)

    def join(self, one: _State, other: _State) -> _State:
        group, written = self._groups.join(one.group, other.group), one.written & other.written
        is_same = group is one.group and np.array_equal(written, one.written)
        return one if is_same else _State(group, written)

    def unite(self, one: _State, other: _State) -> _State:
        return _State(one.group, one.written | other.written)  # P3

    def reconverge(self, before: _State, after: _State, complete: bool) -> _State:
        group = self._groups.reconverge(before.group, after.group, complete)
        return _State(group, after.written)

    def opaque(self, stmt: Stmt, state: _State) -> _State | None:
        """What neither concerns the buffer, nor who is there, is passed over."""
        concerns = self._buffer in self._within[stmt] or stmt in self._leaving
        return None if concerns or isinstance(stmt, Bind) else state

    def transfer(self, stmt: Stmt, state: _State) -> _State:
        """Applies the accesses of a statement to the written bytes, and its effect on the threads.

        Raises `_Unproved` at an upward-exposed read, and when the budget of steps is used up.
        """
        if self._buffer in self._within[stmt]:
            self._steps_left -= 1
            if self._steps_left < 0:
                raise _Unproved
        written = state.written
        for access in self._facts.accesses[stmt]:
            if access.buffer is self._buffer:
                written = self._accessed(access, state.group, written)
        group = self._groups.transfer(stmt, state.group)
        if self._rounds_may_differ(stmt, state.group.threads):  # P4
            group = group.inexact()
        return _State(group, written)

    def _accessed(
        self, access: MemoryAccess, group: ThreadGroup, written: np.ndarray
    ) -> np.ndarray:
        """The written bytes after one access: a read must find its bytes written (P1), a write adds
        (P2).
        """
        where = footprint_bytes(access, group.threads, len(written))
        if access.access is not Access.WRITE:
            read = written if where is None else written[where]
            if not read.all():
                raise _Unproved  # P1
        elif access.certain and access.lanes == LANES and group.exact and where is not None:
            written = written.copy()
            written[where] = True  # P2
        return written

    def _rounds_may_differ(self, stmt: Stmt, threads: Threads) -> bool:
        """Whether threads may go through different numbers of rounds of this loop (P4)."""
        if isinstance(stmt, While):
            return self._groups.depends_on_thread(stmt.condition)
        if not isinstance(stmt, For) or _constant_range(stmt, threads) is not None:
            return False
        return self._groups.depends_on_thread(rounds_of(stmt))

    def arms(self, stmt: If, state: _State) -> Arms[_State]:
        """The states of both arms (P3): the threads of each, and the bytes written before the
        branch.
        """
        require_alike(stmt.condition, state.group.threads)  # P4
        arms = self._groups.arms(stmt, state.group)
        then, orelse = (
            _State(group, state.written) if group is not None and group.threads.count else None
            for group in (arms.then, arms.orelse)
        )
        return Arms(then, orelse, arms.concurrent)

    def rounds(
        self, loop: For | While, state: _State
    ) -> list[Callable[[_State], _State]] | None:  # P4
        """The rounds of a loop with constant bounds, each as a function that binds the loop's
        variable (P4).

        A single function stands for all rounds at once where the loop only reads, or only writes,
        the buffer, and no data decide in which arm: each round may take another. None where the
        bounds are not constant or the rounds are too many: then the solver takes any value of the
        variable.
        """
        threads = state.group.threads
        values = None if isinstance(loop, While) else _constant_range(loop, threads)
        if isinstance(loop, While) or values is None:
            return None
        at_once = loop not in self._leaving and 0 < threads.count * len(values) <= MAX_LANES
        at_once = at_once and loop.var not in self._one_by_one
        if at_once and len(self._facts.ask(_kinds, loop, self._buffer)) == 1:
            return [lambda begun: _State(begun.group.repeated(loop.var, values), begun.written)]
        chosen = _chosen(self._facts, loop, self._buffer, values)
        if chosen is None:
            return None
        return [partial(_State.bind, var=loop.var, value=int(value)) for value in chosen]


# The rounds to look at ---------------------------------------------------------------------------


def _values(
    facts: KernelFacts, loop: For, buffer: Buffer, threads: Threads
) -> Iterator[int | None]:
    """The values of a loop's own variable that the proof has to cover, one by one; None means any
    value.
    """
    values = _constant_range(loop, threads)
    if not any(node is loop.var for expr in _deciding(facts, loop, buffer) for node in walk(expr)):
        yield None
    elif values is None:
        period = facts.ask(_period, loop, buffer)
        yield from (None,) if period is None else range(period)
    else:
        chosen = _chosen(facts, loop, buffer, values)
        yield from (None,) if chosen is None else map(int, chosen)


def _chosen(facts: KernelFacts, loop: For, buffer: Buffer, values: np.ndarray) -> np.ndarray | None:
    """The values of the loop's variable to solve the body for; None if there are too many.

    One period is enough if only `variable % period` decides which bytes are accessed.
    """
    period = facts.ask(_period, loop, buffer)
    if period is not None and period < len(values):
        return values[:period] if loop.step == Const(1) else None
    return values if len(values) <= MAX_VALUES else None


def _period(facts: KernelFacts, loop: For, buffer: Buffer) -> int | None:
    """The constant `c` if the loop's variable matters to the accesses only as `variable % c`, else
    None.
    """
    period = 1
    for expr in _deciding(facts, loop, buffer):
        divisors = moduli(expr, lambda node: node is loop.var)
        if divisors is None:
            return None
        period = math.lcm(period, *divisors)
    return period if period <= MAX_VALUES else None


def _deciding(facts: KernelFacts, loop: For, buffer: Buffer) -> Iterator[Expr]:
    """The expressions that decide which bytes a loop accesses, whether, and by which threads.

    What is loaded is not known, in whichever round: of expressions with loads, the parts without.
    """
    for expr in _evaluated(facts, loop, buffer):
        yield from _without_loads(expr)


def _evaluated(facts: KernelFacts, loop: For, buffer: Buffer) -> Iterator[Expr]:
    """The expressions of a loop that the analysis evaluates for a buffer."""
    within, leaving = facts.ask(accessed_within), facts.ask(_leaving)
    for stmt in walk_statements(loop.body):
        if isinstance(stmt, Bind):
            yield stmt.value
        elif buffer in within[stmt] or stmt in leaving:
            if isinstance(stmt, (If, While)):
                yield stmt.condition
            elif isinstance(stmt, For):
                yield from (stmt.begin, stmt.extent, stmt.step)
        for access in facts.accesses[stmt]:
            if access.buffer is buffer and access.footprint.start is not None:
                yield access.footprint.start


def _without_loads(expr: Expr) -> Iterator[Expr]:
    """The largest parts of an expression that load nothing."""
    if not any(isinstance(node, Load) for node in walk(expr)):
        yield expr
    elif not isinstance(expr, Load):
        for child in children(expr):
            yield from _without_loads(child)


def _kinds(facts: KernelFacts, loop: For, buffer: Buffer) -> set[Access]:
    """The kinds of access (read, write, both) that a loop's body makes to the buffer."""
    return {
        access.access
        for stmt in walk_statements(loop.body)
        for access in facts.accesses[stmt]
        if access.buffer is buffer
    }


def _leaving(facts: KernelFacts) -> set[Stmt]:
    """The statements of a kernel in which threads may jump."""
    return {stmt for stmt in walk_statements(facts.kernel.body) if leaves(stmt)}


def _is_read_outside(facts: KernelFacts, loop: Stmt, buffer: Buffer) -> bool:
    """Whether statements outside of the loop may read the buffer."""
    inside = set(walk_statements((loop,)))
    return any(
        access.buffer is buffer and access.access is not Access.WRITE
        for stmt in walk_statements(facts.kernel.body)
        if stmt not in inside
        for access in facts.accesses[stmt]
    )


# Bytes and values --------------------------------------------------------------------------------


def footprint_bytes(access: MemoryAccess, threads: Threads, size: int) -> np.ndarray | None:
    """The byte indices that all `threads` access together, in a buffer of `size` bytes.

    None where they are not known, or where an index lies outside the buffer: such an access proves
    nothing.
    """
    footprint = access.footprint
    if footprint.start is None:
        return None
    start = evaluate(footprint.start, threads)
    if start is None:
        return None
    starts = np.unique(np.asarray(start))
    if len(starts) * footprint.count * footprint.size > MAX_BYTES:
        return None
    runs = np.arange(footprint.count)[:, None] * footprint.stride + np.arange(footprint.size)
    where: np.ndarray = (starts.reshape(-1, 1) + runs.reshape(1, -1)).ravel()
    if len(where) and (where.min() < 0 or where.max() >= size):
        return None
    return where


def _constant_range(loop: For, threads: Threads) -> np.ndarray | None:
    """All values of a loop's variable; None where its bounds are not the same constants for all."""
    begin, extent, step = (evaluate(expr, threads) for expr in (loop.begin, loop.extent, loop.step))
    if isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int) and step > 0:
        if max(abs(begin), extent) <= MAX_RANGE:
            return np.arange(begin, begin + max(extent, 0), step)
    return None
