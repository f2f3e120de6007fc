"""The slice of a kernel that the byte trace executes; the rest is skipped.

A statement matters if it touches a buffer that shares bytes, synchronizes, may wait for what other
threads write, or sets a local counter on which such a statement depends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from smemreuse.checker.operations import Operations
from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, format_expr, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Attr,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    While,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Group, Meeting, Signal
from smemreuse.semantics.elements import lane_of, lanes_of
from smemreuse.semantics.table import counted, deciding_operands, mbarrier_operand, returns

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]
"""Those of each statement itself."""


def without_parity(effect: Effect) -> Effect:
    """A wait for a phase, as if it were the same whatever its parity; any other effect as it
    is."""
    if effect.mbarrier is None or effect.signals is not Signal.WAIT:
        return effect
    return replace(effect, mbarrier=replace(effect.mbarrier, count=None))


def _is_of_block(call: Call, meeting: Meeting) -> bool:
    """Whether those who meet are a warp, or all threads of the block."""
    if meeting.group is Group.NAMED:
        return counted(call, meeting) is None
    return meeting.group in (Group.NOBODY, Group.WARP, Group.BLOCK)


class ProgramSlice:
    """Which statements of a kernel matter to the buffers in `shared`."""

    def __init__(
        self,
        body: Block,
        shared: Set[Buffer],
        accesses: Accesses,
        operations: Operations | None = None,
        seen: Accesses | None = None,
    ):
        """`seen` are the accesses as a later pass finds them, where those are others."""
        self.body = body
        self.accesses: dict[Stmt, tuple[MemoryAccess, ...]] = {}
        self.load_bytes: dict[Stmt, int] = {}
        self._waits: dict[Stmt, bool] = {}
        self._touches: dict[Stmt, bool] = {}
        self._everything = accesses if seen is None else seen
        self._signals: dict[Stmt, bool] = {}
        self._returns: dict[Stmt, bool] = {}
        for stmt, everything in accesses.items():
            found = tuple(access for access in everything if access.buffer in shared)
            if found:
                self.accesses[stmt] = found
            for access in everything:
                if access.engine is Engine.TMA_LOAD and access.footprint.start is not None:
                    self.load_bytes[stmt] = access.footprint.size
        self.untraced_data = {
            access.buffer
            for everything in accesses.values()
            for access in everything
            if access.buffer.scope in SHARED_SCOPES
            and access.buffer not in shared
            and not access.signals
        }
        self.operations = operations or Operations(body)
        self.written, self.escaped = self.operations.written, self.operations.escaped
        self.synchronizing = self.operations.synchronizing
        self.turning, self.launched = self.operations.turning, self.operations.launched
        self._counters: set[object] = set()
        self.variables: set[Var] = set()
        self._lanes: dict[Store, list[tuple[Expr, Expr]]] = {}
        self._sets: dict[Block, list[Store]] = {}
        self._relevant: dict[Stmt, bool] = {}
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
                for _, effect in self.synchronizing(inner)
            )
        return known

    def touches_shared(self, stmt: Stmt) -> bool:
        """Whether a statement, or one inside it, accesses any shared memory: a barrier may have to
        stand before it."""
        known = self._touches.get(stmt)
        if known is None:
            known = self._touches[stmt] = any(map(self._touches_itself, walk_statements((stmt,))))
        return known

    def _touches_itself(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Store) and stmt.buffer.scope in SHARED_SCOPES:
            return True
        named = (one.buffer for one in nodes_of(stmt) if isinstance(one, (Load, Pointer)))
        accessed = (one.buffer for one in self._everything.get(stmt, ()))
        return any(buffer.scope in SHARED_SCOPES for buffer in (*named, *accessed))

    def signals(self, stmt: Stmt) -> bool:
        """Whether there is anything in a statement that is done to an mbarrier."""
        known = self._signals.get(stmt)
        if known is None:
            known = self._signals[stmt] = any(
                effect.mbarrier is not None
                for inner in walk_statements((stmt,))
                for _, effect in self.synchronizing(inner)
            )
        return known

    def meets_in_blocks_alone(self, stmt: Stmt) -> bool:
        """Whether threads hand on in a statement what they have done by barriers of the block, or
        of warps, alone."""
        return all(
            effect.mbarrier is None and (meeting is None or _is_of_block(call, meeting))
            for inner in walk_statements((stmt,))
            for call, effect in self.synchronizing(inner)
            for meeting in (effect.meeting,)
        )

    def decides_again(self) -> bool:
        """Whether one condition on more than threads, blocks and rounds stands at several branches,
        one of which orders accesses."""
        inside = list(walk_statements(self.body))
        numbers = {one.var for one in inside if isinstance(one, (For, Attr))}
        found: dict[str, list[If]] = {}
        for one in inside:
            if isinstance(one, If) and self(one):
                leaves = [node for node in walk(one.condition) if isinstance(node, (Var, Load))]
                if not numbers.issuperset(leaves):
                    found.setdefault(format_expr(one.condition), []).append(one)
        return any(len(alike) > 1 and self.synchronizes(tuple(alike)) for alike in found.values())

    def returns(self, stmt: Stmt) -> bool:
        """Whether threads may return early in a statement."""
        known = self._returns.get(stmt)
        if known is None:
            known = self._returns[stmt] = returns((stmt,))
        return known

    def synchronizes(self, block: Block) -> bool:
        """Whether anything in a block orders accesses, or needs its iterations one by one."""
        return any(
            any(effect.orders for _, effect in self.synchronizing(stmt))
            or isinstance(stmt, While)
            or self.sets_counter(stmt)
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
        return bool(
            stmt in self.accesses
            or self.synchronizing(stmt)
            or self.sets_counter(stmt)
            or self.operations.may_order(stmt)
            or self.operations.may_spin(stmt)
        )

    def sets_counter(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and stmt.buffer.storage in self._counters

    def lanes(self, stmt: Store) -> list[tuple[Expr, Expr]]:
        """The elements that a store sets by a vector, each with what to: none if it is none."""
        if stmt not in self._lanes:
            count = lanes_of(stmt.indices[0]) if len(stmt.indices) == 1 else None
            self._lanes[stmt] = [
                (lane_of(stmt.indices[0], lane), lane_of(stmt.value, lane))
                for lane in range(count or 0)
            ]
        return self._lanes[stmt]

    def counters_set(self, block: Block) -> list[Store]:
        """The statements of a block that set counters."""
        if block not in self._sets:
            self._sets[block] = [
                stmt
                for stmt in walk_statements(block)
                if isinstance(stmt, Store) and self.sets_counter(stmt)
            ]
        return self._sets[block]

    def _find_counters(self, body: Block) -> None:
        """Locals and variables that decide where, when or whether a relevant statement acts."""
        variables = self.variables
        while True:
            before = len(self._counters) + len(variables)
            self._relevant.clear()
            for stmt in walk_statements(body):
                bound = (stmt.value,) if isinstance(stmt, Bind) and stmt.var in variables else ()
                for expr in (*bound, *self.deciding(stmt)):
                    for node in walk(expr):
                        if isinstance(node, Load) and node.buffer.scope.startswith("local"):
                            self._counters.add(node.buffer.storage)
                        elif isinstance(node, Var):
                            variables.add(node)
            if len(self._counters) + len(variables) == before:
                return

    def deciding(self, stmt: Stmt) -> Iterator[Expr]:
        """Expressions whose values matter: places, conditions, barrier operands, counters."""
        if not self(stmt):
            return
        if isinstance(stmt, (If, While)):
            yield stmt.condition
        elif isinstance(stmt, For):
            yield from (stmt.begin, stmt.extent, stmt.step)
        elif isinstance(stmt, Bind) and stmt.var in self.variables:
            yield stmt.value
        elif self.sets_counter(stmt):
            assert isinstance(stmt, Store)
            yield from (stmt.value, *stmt.indices)
        yield from self.acting(stmt)

    def acting(self, stmt: Stmt) -> Iterator[Expr]:
        """Expressions that say what a statement itself does: places, operands of barriers."""
        yield from self.placing(stmt)
        yield from self.awaited(stmt)

    def awaited(self, stmt: Stmt) -> Iterator[Expr]:
        """The parities of phases that a statement itself waits for."""
        for call, effect in self.synchronizing(stmt):
            at = None if effect.mbarrier is None else effect.mbarrier.count
            if effect.signals is Signal.WAIT and at is not None and at < len(call.args):
                yield call.args[at]

    def placing(self, stmt: Stmt) -> Iterator[Expr]:
        """Those expressions but for the parities of phases that it waits for."""
        for access in self.accesses.get(stmt, ()):
            if access.footprint.start is not None:
                yield access.footprint.start
            elif access.pointed is not None:
                yield access.pointed
            yield from (condition for condition, _ in access.guards)
            if access.barrier is not None:
                yield from access.barrier.indices
                yield from self._beside_indices(access.barrier)
        for call, effect in self.synchronizing(stmt):
            yield from deciding_operands(call, without_parity(effect))
            barrier = mbarrier_operand(call, effect)
            if isinstance(barrier, Load):
                yield from self._beside_indices(barrier)

    def _beside_indices(self, load: Load) -> Iterator[Expr]:
        """What else says which element it is: of a view, its shape and where it begins."""
        flat = self.operations.flat_index(load)
        if flat not in load.indices:
            yield flat
