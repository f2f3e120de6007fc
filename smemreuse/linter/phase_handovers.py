"""By which mbarrier one access is ordered before another: the arrival and the wait in the text."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from smemreuse.ir.expr import Load, Var, format_expr, format_index
from smemreuse.ir.kernel import Buffer, For, Stmt, While, walk_statements
from smemreuse.ir.tree import StatementTree, straight_line
from smemreuse.results.sites import Site
from smemreuse.semantics.bounds import Interval, bounds
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import evaluated_call, evaluated_effect, mbarrier_operand

WAITS = frozenset({Signal.WAIT})
ARRIVALS = frozenset({Signal.ARRIVE, Signal.ARRIVE_AND_EXPECT, Signal.ARRIVE_WITH_COPIES})


@dataclass(frozen=True)
class PhaseHandover:
    """The threads of an access arrive at `mbarrier` after it, and those of a later one wait for it.

    `with_copies` tells that the arrival comes when the threads' copies have landed, and
    `in_next_round` that it comes in the next iteration of a loop. `between` are the statements that
    surely come after the first access and before the arrival.
    """

    mbarrier: str
    arrival: Site
    wait: Site
    with_copies: bool
    in_next_round: bool
    between: tuple[Stmt, ...]


def phase_handover(tree: StatementTree, earlier: Stmt, later: Stmt) -> PhaseHandover | None:
    """The first arrival after `earlier` at an mbarrier that is waited for before `later`.

    None where the text leaves open which it is: where the first arrival that may be it stands under
    a condition, or has another index.
    """
    awaited = [slot for stmt in _may_precede(tree, later) for slot in _Slot.of(stmt, WAITS)]
    between: list[Stmt] = []
    for near in tree.after(earlier):
        straight = [*straight_line((near,))]
        for stmt in walk_statements((near,)):
            slot = next(_Slot.of(stmt, ARRIVALS), None)
            if slot is None or not any(map(slot.may_be, awaited)):
                continue
            wait = next((one for one in _precede(tree, later) if slot.is_that_of(one)), None)
            if wait is None or stmt not in straight:
                return None
            between += straight[: straight.index(stmt)]
            return PhaseHandover(
                slot.text,
                Site.of(stmt),
                Site.of(wait),
                slot.signal is Signal.ARRIVE_WITH_COPIES,
                _comes_before(tree, stmt, earlier),
                tuple(between),
            )
        between += straight
    return None


@dataclass(frozen=True)
class _Slot:
    """One mbarrier of an array, by the text of its index and by the values that this may have."""

    signal: Signal
    storage: Buffer | Var
    index: str
    values: Interval | None
    text: str

    @classmethod
    def of(cls, stmt: Stmt, signals: Collection[Signal]) -> Iterator[_Slot]:
        """The mbarrier of a statement that does one of these things to it."""
        call, effect = evaluated_call(stmt), evaluated_effect(stmt)
        signal = None if effect is None else effect.signals
        if call is None or effect is None or signal is None or signal not in signals:
            return
        operand = mbarrier_operand(call, effect)
        if isinstance(operand, Load) and len(operand.indices) == 1:
            (index,) = operand.indices
            text = format_expr(operand)
            storage = operand.buffer.storage
            yield cls(signal, storage, format_index(index), bounds(index, {}), text)

    def may_be(self, other: _Slot) -> bool:
        if self.storage is not other.storage or self.values is None or other.values is None:
            return self.storage is other.storage
        return self.values[0] <= other.values[1] and other.values[0] <= self.values[1]

    def is_that_of(self, wait: Stmt) -> bool:
        """Whether a statement waits for the same mbarrier, by its text."""
        places = [(one.storage, one.index) for one in _Slot.of(wait, WAITS)]
        return (self.storage, self.index) in places


def _comes_before(tree: StatementTree, one: Stmt, other: Stmt) -> bool:
    spots = tree.common(one, other)
    return spots is not None and spots[0].index < spots[1].index


def _precede(tree: StatementTree, stmt: Stmt) -> Iterator[Stmt]:
    """The statements that the threads at `stmt` have surely executed before, the last first."""
    for spot in reversed(tree.path(stmt)):
        yield from reversed([*straight_line(spot.block[: spot.index])])


def _may_precede(tree: StatementTree, stmt: Stmt) -> Iterator[Stmt]:
    """All statements that may come before, those of earlier rounds of the loops around it too."""
    for spot in tree.path(stmt):
        yield from walk_statements(spot.block[: spot.index])
        if isinstance(spot.scope, (For, While)):
            yield from walk_statements(spot.block[spot.index + 1 :])
