"""Statements without nested ones (leaves): what a trace needs of each, computed once.

Most operations order nothing: a trace then only performs their accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from smemreuse.checker.slice import ProgramSlice
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Assert, Attr, Block, For, If, Stmt, Store, While
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.table import evaluated_call
from smemreuse.semantics.within import AroundMeeting, meeting_within

_SCOPES = (Attr, For, If, While, Assert)


@dataclass(frozen=True, slots=True)
class Leaf:
    """`touches`: it accesses shared memory. `sets`: it stores to a local. `effect` is that of its
    operation; where it `orders` nothing, a trace only performs the accesses. `around` are the
    accesses before and behind the operation in it that threads meet inside of, if any."""

    touches: bool
    sets: bool
    call: Call | None
    effect: Effect | None
    orders: bool
    around: AroundMeeting | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for a phase of an mbarrier."""
        return self.effect is not None and self.effect.signals is Signal.WAIT


class BlockRow(NamedTuple):
    """A statement of a block: its leaf, if it is one, and whether it is in the slice. `branches`:
    it is a branch in which threads wait for others."""

    stmt: Stmt
    leaf: Leaf | None
    matters: bool
    branches: bool


class Leaves:
    """The leaves in the slice of one kernel and plan, by statement."""

    def __init__(self, program_slice: ProgramSlice, renamed: Mapping[Stmt, Call]):
        """`renamed`: what a later pass makes of barriers that the kernel has."""
        self._slice = program_slice
        self._renamed = renamed
        self._known: dict[Stmt, Leaf | None] = {}
        self._rows: dict[Block, tuple[BlockRow, ...]] = {}

    def rows(self, block: Block) -> tuple[BlockRow, ...]:
        """The statements of a block."""
        known = self._rows.get(block)
        if known is None:
            known = self._rows[block] = tuple(map(self._row, block))
        return known

    def _row(self, stmt: Stmt) -> BlockRow:
        matters = self._slice(stmt)
        branches = isinstance(stmt, If) and self._slice.waits(stmt)
        return BlockRow(stmt, self(stmt) if matters else None, matters, branches)

    def __call__(self, stmt: Stmt) -> Leaf | None:
        """The leaf of a statement; None for one with nested statements."""
        if stmt not in self._known:
            self._known[stmt] = None if isinstance(stmt, _SCOPES) else self._leaf(stmt)
        return self._known[stmt]

    def _leaf(self, stmt: Stmt) -> Leaf:
        call, operations = self._renamed.get(stmt, evaluated_call(stmt)), self._slice.operations
        effect = operations.effect(call) if call is not None else None
        orders = False
        if call is not None and effect is not None:
            orders = effect.synchronizes or operations.may_signal(call)
        sets = isinstance(stmt, Store) and stmt.buffer.scope.startswith("local")
        within, around = meeting_within(stmt), None
        if within is not None:
            around = AroundMeeting.of(within, self._slice.accesses.get(stmt, ()))
        return Leaf(self._slice.touches_shared(stmt), sets, call, effect, orders, around)
