"""How long asynchronous accesses last (rule 5): until a wait that surely retires them.

A state is the set of accesses that may be in flight, ordered by inclusion and joined by union: an
access is in flight where it is on one path. It is finite, as each access of the text is in it once.

- A1 *Issue.* An access to shared memory that no thread carries out itself is in flight after its
  statement.
- A2 *Commit.* Copies that are waited for in groups can be waited for only when committed, be it by
  the operation that waits (`cp.async.wait_all`).
- A3 *Wait.* A wait for everything retires what an engine has in flight (`ptx_wait_group(0)`,
  `warpgroup_wait(0)`, `tma_store_wait(0)`), one for a phase the TMA loads into the same mbarrier
  slot. No other wait surely retires anything.
- A4 *Carried.* What is in flight where a round ends lands in a later one, and so does what threads
  have in flight that leave the loop: the others go round meanwhile.
- A5 *Never retired* is what is in flight where threads end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from smemreuse.analysis.solver import Analysis, Exits, Solver
from smemreuse.facts import KernelFacts
from smemreuse.ir.expr import Const, format_expr
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt, walk_statements
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine, Signal
from smemreuse.semantics.table import effect_of, evaluated_call, evaluated_effect, mbarrier_operand

_COMMITTED = (Engine.CP_ASYNC, Engine.TMA_STORE)
"""Engines whose accesses a wait retires only if they were committed."""


@dataclass(frozen=True)
class AsyncLifetimes:
    """The ends of a kernel's asynchronous accesses.

    `retired_by` lists for each buffer the waits that retire its accesses, in program order.
    `carried` are pairs of a loop and a buffer with accesses that may outlast a round.
    """

    retired_by: Mapping[Buffer, tuple[Stmt, ...]]
    carried: frozenset[tuple[Stmt, Buffer]]
    never_retired: frozenset[Buffer]


@dataclass(frozen=True)
class _InFlight:
    """An access on its way; `slot` is a TMA load's mbarrier, as text."""

    buffer: Buffer
    engine: Engine
    committed: bool
    slot: str


_State = frozenset[_InFlight]


def async_lifetimes(facts: KernelFacts) -> AsyncLifetimes:
    """Follows every asynchronous access of a kernel to its wait."""
    solver = Solver(_Following(facts.accesses))
    outcome = solver.solve(facts.kernel.body, frozenset())
    retired: dict[Buffer, tuple[Stmt, ...]] = {}
    for stmt in walk_statements(facts.kernel.body):
        for buffer in {one.buffer for one in solver.before.get(stmt, ()) if _retires(stmt, one)}:
            retired[buffer] = (*retired.get(buffer, ()), stmt)
    carried = {(loop, one) for loop, end in solver.rounds.items() for one in _flying(end)}  # A4
    return AsyncLifetimes(retired, frozenset(carried), frozenset(_flying(outcome)))  # A5


def _flying(outcome: Exits[_State]) -> Iterator[Buffer]:
    """What is in flight where a block ends, or threads jump out of it."""
    for state in (outcome.end, *outcome.jumps.values()):
        yield from (one.buffer for one in state or ())


class _Following(Analysis[_State]):
    """The analysis of asynchronous accesses in flight: clauses A1 to A3 of this module."""

    def __init__(self, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]]):
        self._accesses = accesses

    def join(self, one: _State, other: _State) -> _State:
        return one | other

    def transfer(self, stmt: Stmt, state: _State) -> _State:
        """Adds what the statement issues (A1), marks commits (A2), and drops what it
        retires (A3).
        """
        issued = {
            _issued(one)
            for one in self._accesses[stmt]
            if one.engine is not Engine.THREAD and one.buffer.scope in SHARED_SCOPES
        }  # A1
        effect = evaluated_effect(stmt)
        committed = effect.commits if effect is not None else None
        flying = {one for one in state | issued if not _retires(stmt, one)}  # A3
        return frozenset(
            replace(one, committed=True) if one.engine is committed else one for one in flying
        )  # A2


def _issued(access: MemoryAccess) -> _InFlight:
    slot = format_expr(access.barrier) if access.barrier is not None else ""
    in_groups = access.engine in _COMMITTED
    return _InFlight(access.buffer, access.engine, not in_groups, slot)


def _retires(stmt: Stmt, one: _InFlight) -> bool:
    """Whether a statement waits until this access in flight is certainly over (A3)."""
    call = evaluated_call(stmt)
    if call is None:
        return False
    effect = effect_of(call)
    if effect.signals is Signal.WAIT:
        barrier = mbarrier_operand(call, effect)
        named = barrier is not None and one.slot == format_expr(barrier)
        return one.engine is Engine.TMA_LOAD and named
    if effect.waits is None or effect.waits.engine is not one.engine:
        return False
    if not (one.committed or effect.commits is one.engine):
        return False
    keep = effect.waits.keep
    if keep is None or keep >= len(call.args):
        return not effect.waits.left
    return call.args[keep] == Const(0)
