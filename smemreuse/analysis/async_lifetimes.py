"""How long asynchronous accesses last (rule 5): until a wait that surely retires them.

Only waits for everything count (`ptx_wait_group(0)`, `warpgroup_wait(0)`, `tma_store_wait(0)`), and
for a TMA load a wait on the same mbarrier slot; what no such wait retires lasts to the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Const, format_expr
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Engine, Signal
from smemreuse.semantics.table import effect_of, evaluated_call, leaves, mbarrier_operand, returns

_COMMITTED = (Engine.CP_ASYNC, Engine.TMA_STORE)


@dataclass(frozen=True)
class _Issued:
    """An access on its way; `slot` is a TMA load's mbarrier, as text."""

    buffer: Buffer
    engine: Engine
    committed: bool
    slot: str = ""


@dataclass
class InFlight:
    """For each buffer the statements whose waits retired its accesses, and what was left over."""

    retired_by: dict[Buffer, list[Stmt]]
    carried: set[tuple[Stmt, Buffer]]
    never_retired: set[Buffer]


def in_flight(body: Block, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]]) -> InFlight:
    """Follows every asynchronous access of a kernel to its wait.

    `carried` has the loops at whose end an access may still be in flight: it lands in a later
    iteration.
    """
    walker = _Walker(accesses, surely=not returns(body))
    left = walker.block(body, frozenset())
    walker.found.never_retired = {issued.buffer for issued in left}
    return walker.found


class _Walker:
    def __init__(self, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]], *, surely: bool):
        """`surely` is whether every thread comes by every wait, as none does that has returned."""
        self.found = InFlight({}, set(), set())
        self._accesses = accesses
        self._surely = surely
        self._loops: dict[tuple[Stmt, frozenset[_Issued]], frozenset[_Issued]] = {}

    def block(self, block: Block, pending: frozenset[_Issued]) -> frozenset[_Issued]:
        for stmt in block:
            pending = self._statement(stmt, pending)
        return pending

    def _statement(self, stmt: Stmt, pending: frozenset[_Issued]) -> frozenset[_Issued]:
        if isinstance(stmt, If):
            return self.block(stmt.then, pending) | self.block(stmt.orelse, pending)
        if isinstance(stmt, (For, While)):
            return self._loop(stmt, pending)
        for access in self._accesses.get(stmt, ()):
            if access.engine is not Engine.THREAD:
                slot = format_expr(access.barrier) if access.barrier is not None else ""
                needs_commit = access.engine in _COMMITTED
                pending |= {_Issued(access.buffer, access.engine, not needs_commit, slot)}
        call = evaluated_call(stmt)
        if call is not None:
            pending = self._intrinsic(call, stmt, pending)
        for inner in nested_blocks(stmt):
            pending = self.block(inner, pending)
        return pending

    def _loop(self, stmt: For | While, pending: frozenset[_Issued]) -> frozenset[_Issued]:
        known = self._loops.get((stmt, pending))
        if known is not None:
            return known
        before, self._surely = self._surely, self._surely and not leaves(stmt)
        after = self.block(stmt.body, pending)
        if not after <= pending:  # the next iteration begins with more on its way
            after = self.block(stmt.body, after | pending)
        self._surely = before
        self.found.carried |= {(stmt, issued.buffer) for issued in after}
        runs = isinstance(stmt, For) and isinstance(stmt.extent, Const) and stmt.extent != Const(0)
        result = after if runs else after | pending
        self._loops[stmt, pending] = result
        return result

    def _intrinsic(self, call: Call, stmt: Stmt, pending: frozenset[_Issued]) -> frozenset[_Issued]:
        committing = effect_of(call).commits
        if committing is not None:
            return frozenset(
                _Issued(one.buffer, one.engine, True, one.slot) if one.engine is committing else one
                for one in pending
            )
        if not self._surely:
            return pending  # a `break` may have jumped over this wait
        retired = frozenset(one for one in pending if _retires(call, one))
        for one in retired:
            self.found.retired_by.setdefault(one.buffer, []).append(stmt)
        return pending - retired


def _retires(call: Call, issued: _Issued) -> bool:
    effect = effect_of(call)
    if effect.signals is Signal.WAIT:
        barrier = mbarrier_operand(call, effect)
        named = barrier is not None and issued.slot == format_expr(barrier)
        return issued.engine is Engine.TMA_LOAD and named
    if effect.waits is None or effect.waits.engine is not issued.engine:
        return False
    keep = effect.waits.keep
    everything = keep is None or keep >= len(call.args) or call.args[keep] == Const(0)
    return issued.committed and everything
