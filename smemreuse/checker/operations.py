"""What the operations of a kernel's statements do to the order of accesses, whatever is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Attr,
    Bind,
    Block,
    For,
    Kernel,
    Stmt,
    While,
    nodes_of,
    walk_statements,
)
from smemreuse.semantics.effects import Effect, Signal
from smemreuse.semantics.elements import flat_index
from smemreuse.semantics.global_memory import changing_storages, overlapping
from smemreuse.semantics.pointers import escaping
from smemreuse.semantics.polled import Polled, polled_wait
from smemreuse.semantics.table import (
    calls_of,
    effect_of,
    evaluated_call,
    is_foreign,
    may_block_unseen,
    may_meet_unseen,
    may_order_unseen,
    may_signal,
)
from smemreuse.semantics.within import meeting_within
from smemreuse.versions import version_of


class Operations:
    """What the operations of a kernel do, whatever buffers share bytes; whether a wait for all
    groups of cp.async is one for copies of no group, too, and the parameters of which any two may
    overlap."""

    def __init__(
        self,
        body: Block,
        *,
        waits_for_uncommitted: bool = False,
        may_overlap: frozenset[str] = frozenset(),
    ):
        self.waits_for_uncommitted = waits_for_uncommitted
        statements = list(walk_statements(body))
        self.count = len(statements)
        self.escaped = {one for stmt in statements for one in escaping(stmt)}
        self.written = changing_storages(statements, self.escaped, may_overlap)
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
        self._unseen: dict[tuple[Callable[[Call], bool], Stmt], bool] = {}
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
        """Whether an expression names memory that other threads may write, or calls a function that
        may read such."""
        if isinstance(node, Var):
            return node in self.written
        if isinstance(node, Call):
            return is_foreign(node) or self.effect(node).signals is Signal.ASK
        if not isinstance(node, (Load, Pointer)):
            return False
        buffer = node.buffer
        return (
            buffer.scope in SHARED_SCOPES
            or buffer.holds_mbarriers
            or buffer.storage in self.written
        )

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
        return self._any_call(may_meet_unseen, stmt)

    def may_block(self, stmt: Stmt) -> bool:
        """Whether a thread may wait for others inside an operation of a statement itself, of which
        no row tells."""
        return self._any_call(may_block_unseen, stmt)

    def may_order(self, stmt: Stmt) -> bool:
        """Whether such an operation may order what comes before and after it."""
        return self._any_call(may_order_unseen, stmt)

    def _any_call(self, may: Callable[[Call], bool], stmt: Stmt) -> bool:
        known = self._unseen.get((may, stmt))
        if known is None:
            known = self._unseen[may, stmt] = any(map(may, calls_of(stmt)))
        return known

    def hides_wait(self, stmt: Stmt) -> bool:
        """Whether a thread may wait for others in a statement itself, and no row tells for what;
        but in functions of which an answer says that it is assumed that they have no barriers."""
        effects = map(self.effect, calls_of(stmt))
        return self.may_spin(stmt) or any(one.may_wait and not one.may_meet for one in effects)

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


def operations_of(kernel: Kernel) -> Operations:
    """Those of a kernel, kept with it."""
    return kernel.memo.once(
        Operations,
        lambda: Operations(
            kernel.body,
            waits_for_uncommitted=version_of(kernel).waits_for_uncommitted,
            may_overlap=overlapping(kernel.attrs),
        ),
    )
