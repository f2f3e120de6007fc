"""The slice of a kernel that the byte trace executes; the rest is skipped.

A statement matters if it touches a buffer that shares bytes, synchronizes, may wait for what other
threads write, or sets a local counter on which such a statement depends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, constant, format_expr, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Attr,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Group, Meeting, Signal
from smemreuse.semantics.elements import flat_index, lane_of, lanes_of
from smemreuse.semantics.global_memory import changing_storages
from smemreuse.semantics.pointers import escaping
from smemreuse.semantics.polled import Polled, polled_wait
from smemreuse.semantics.table import (
    calls_of,
    counted,
    deciding_operands,
    effect_of,
    evaluated_call,
    may_meet_unseen,
    may_signal,
    mbarrier_operand,
    returns,
)
from smemreuse.semantics.within import meeting_within
from smemreuse.versions import version_of

Accesses = Mapping[Stmt, tuple[MemoryAccess, ...]]
"""Those of each statement itself."""


class Operations:
    """What the operations of a kernel do, whatever buffers share bytes; whether a wait for all
    groups of cp.async is one for copies of no group, too."""

    def __init__(self, body: Block, *, waits_for_uncommitted: bool = False):
        self.waits_for_uncommitted = waits_for_uncommitted
        statements = list(walk_statements(body))
        self.count = len(statements)
        self.escaped = {one for stmt in statements for one in escaping(stmt)}
        self.written = changing_storages(statements, self.escaped)
        self.turning = {stmt.var for stmt in statements if isinstance(stmt, (For, Bind))}
        self.launched = {
            stmt.var: constant(stmt.value)
            for stmt in statements
            if isinstance(stmt, Attr) and stmt.var
        }
        """The indices of threads and blocks, and how many there are, where that is a number."""
        self._effects: dict[Stmt, tuple[tuple[Call, Effect], ...]] = {}
        self._polled: dict[While, Polled | None] = {}
        self._spins: dict[Stmt, bool] = {}
        self._of_call: dict[Call, Effect] = {}
        self._may_signal: dict[Call, bool] = {}
        self._meeting: dict[Stmt, bool] = {}
        self._flat: dict[Load, Expr] = {}
        self._inside: dict[Stmt, tuple[Call, ...]] = {}

    def synchronizing(self, stmt: Stmt) -> tuple[tuple[Call, Effect], ...]:
        """The operations of a statement itself that the order of accesses depends on."""
        known = self._effects.get(stmt)
        if known is None:
            polled = self.polled(stmt)
            found = [(call, effect_of(call)) for call in calls_of(stmt)]
            found += [] if polled is None else [polled]
            known = self._effects[stmt] = tuple(
                (call, effect)
                for call, effect in found
                if effect.synchronizes or may_signal(call, effect)
            )
        return known

    def polled(self, stmt: Stmt) -> Polled | None:
        """What a loop waits for that only asks an mbarrier until a phase is complete."""
        if not isinstance(stmt, While):
            return None
        if stmt not in self._polled:
            self._polled[stmt] = polled_wait(stmt)
        return self._polled[stmt]

    def may_spin(self, stmt: Stmt) -> bool:
        """Whether a loop may go on until other threads write what it reads: it orders accesses
        then, if those threads release what they have done and it acquires that."""
        if not isinstance(stmt, While):
            return False
        if stmt not in self._spins:
            inside = (node for inner in walk_statements((stmt,)) for node in nodes_of(inner))
            self._spins[stmt] = any(map(self._may_change, inside))
        return self._spins[stmt]

    def _may_change(self, node: Expr) -> bool:
        """Whether an expression names memory that other threads may write."""
        if isinstance(node, Var):
            return node in self.written
        if not isinstance(node, (Load, Pointer)):
            return False
        return node.buffer.scope in SHARED_SCOPES or node.buffer.storage in self.written

    def effect(self, call: Call) -> Effect:
        """What an operation does."""
        known = self._of_call.get(call)
        if known is None:
            known = self._of_call[call] = effect_of(call)
        return known

    def may_signal(self, call: Call) -> bool:
        """Whether an operation may do to an mbarrier what its row does not say."""
        known = self._may_signal.get(call)
        if known is None:
            known = self._may_signal[call] = may_signal(call, self.effect(call))
        return known

    def may_meet_unseen(self, stmt: Stmt) -> bool:
        """Whether threads may meet at barriers inside an operation of a statement itself, of which
        no row tells."""
        known = self._meeting.get(stmt)
        if known is None:
            known = self._meeting[stmt] = any(map(may_meet_unseen, calls_of(stmt)))
        return known

    def flat_index(self, load: Load) -> Expr:
        """The index of an element in its buffer laid out flat: the very same expression each time,
        so that its value can be remembered."""
        known = self._flat.get(load)
        if known is None:
            known = self._flat[load] = flat_index(load.buffer, load.indices)
        return known

    def effects(self, stmt: Stmt) -> Iterator[Effect]:
        """What those operations of a statement do."""
        return (effect for _, effect in self.synchronizing(stmt))

    def inside(self, stmt: Stmt) -> tuple[Call, ...]:
        """The operations that order accesses, or may, and are no statements of their own."""
        known = self._inside.get(stmt)
        if known is None:
            whole = evaluated_call(stmt)
            known = self._inside[stmt] = tuple(
                call
                for call in calls_of(stmt)
                if call is not whole and not self._is_followed(stmt, call)
            )
        return known

    def _is_followed(self, stmt: Stmt, call: Call) -> bool:
        """Whether a trace follows what an operation inside an expression orders: nothing, or that
        threads meet inside it, which all do that come to the statement."""
        effect = effect_of(call)
        if not effect.orders and not may_signal(call, effect):
            return True
        return call is meeting_within(stmt) and not replace(effect, within=()).orders


def without_parity(effect: Effect) -> Effect:
    """A wait for a phase, as if it were the same whatever its parity; any other effect as it
    is."""
    if effect.mbarrier is None or effect.signals is not Signal.WAIT:
        return effect
    return replace(effect, mbarrier=replace(effect.mbarrier, count=None))


def operations_of(kernel: Kernel) -> Operations:
    """Those of a kernel, kept with it."""
    return kernel.memo.once(
        Operations,
        lambda: Operations(
            kernel.body, waits_for_uncommitted=version_of(kernel).waits_for_uncommitted
        ),
    )


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
        accesses: Mapping[Stmt, tuple[MemoryAccess, ...]],
        operations: Operations | None = None,
        seen: Mapping[Stmt, tuple[MemoryAccess, ...]] | None = None,
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
            or self.operations.may_meet_unseen(stmt)
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
