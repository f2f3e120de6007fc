"""Barriers that may keep threads from what others poll memory for (rule 12).

Some threads poll memory, and others write it behind a barrier of all: then neither goes on. No
trace knows what a loop polls for, so this is found by the order of statements, and never certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from smemreuse.checker import waits_of
from smemreuse.checker.operations import Operations, operations_of
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.reach import Reaches
from smemreuse.ir.expr import Load, Pointer, Var
from smemreuse.ir.kernel import Bind, Kernel, Stmt, Store, While, nodes_of, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.collected import Key
from smemreuse.results.hazards import Hazard, HazardKind, HazardOrigin
from smemreuse.results.sites import Site
from smemreuse.results.undecided import Undecided, UndecidedKind
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.pointers import escaping
from smemreuse.semantics.table import calls_of, is_block_barrier, is_foreign


def held_up(
    kernel: Kernel,
    accesses: KernelAccesses,
    axes: Mapping[str, int],
    prediction: Prediction | None,
) -> dict[Key, Hazard]:
    """The barriers of a kernel, and those that are predicted, that may keep threads from what
    others wait for: the first of them for each such wait."""
    if not any(map(operations_of(kernel).hides_wait, walk_statements(kernel.body))):
        return {}  # as nearly everywhere, where the threads that wait need not be found
    hiding = waits_of(kernel, accesses).hiding
    return dict(_HeldUp(kernel, axes, prediction).of(hiding)) if hiding else {}


@dataclass(frozen=True)
class _Barrier:
    """A barrier before or after a statement; `number` is the first statement behind it."""

    stmt: Stmt
    number: int
    is_to_come: bool


class _HeldUp:
    """The search for them in one kernel."""

    def __init__(self, kernel: Kernel, axes: Mapping[str, int], prediction: Prediction | None):
        self._operations = operations_of(kernel)
        self._reaches = Reaches(kernel.body, self._operations, axes)
        self._tree = StatementTree(kernel.body)
        self._numbers = {stmt: at for at, stmt in enumerate(walk_statements(kernel.body))}
        self._pointers = {one.var for one in self._numbers if isinstance(one, Bind)}
        self._barriers = list(self._found(prediction))

    def _found(self, prediction: Prediction | None) -> Iterator[_Barrier]:
        for stmt, at in self._numbers.items():
            if is_block_barrier(stmt):
                yield _Barrier(stmt, at + 1, False)
            elif prediction is not None and prediction.candidates.is_preceded(stmt):
                yield _Barrier(stmt, at, True)
            elif prediction is not None and prediction.candidates.is_followed(stmt):
                yield _Barrier(stmt, at + 1, True)

    def of(self, hiding: tuple[Stmt, ...]) -> Iterator[tuple[Key, Hazard]]:
        for wait in hiding:
            may_end = _may_end(wait, self._operations, self._pointers)
            ending = [one for one in self._numbers if self._by_others(one, wait) and may_end(one)]
            for barrier in self._barriers:
                behind = next((one for one in ending if self._keeps(barrier, wait, one)), None)
                if behind is not None:
                    yield self._hazard(barrier, wait, behind)
                    break

    def _by_others(self, stmt: Stmt, wait: Stmt) -> bool:
        """Whether threads come to a statement that need not be among those who wait."""
        if any(spot.stmt is wait for spot in self._tree.path(stmt)):
            return False
        waiting = self._ids(wait)
        # Where all threads may come to the wait, data choose who does, and others go on.
        is_of_all = len(waiting) == len(self._reaches.everyone)
        return is_of_all or not np.isin(self._ids(stmt), waiting).all()

    def _keeps(self, barrier: _Barrier, wait: Stmt, ending: Stmt) -> bool:
        """Whether whoever comes to `ending` comes to the barrier first, and so do those who wait,
        once they have waited. What comes before the wait in a loop is taken to end it in the same
        round."""
        if not np.isin(self._ids(barrier.stmt), self._ids(wait)).any():
            return False
        if not np.isin(self._ids(ending), self._ids(barrier.stmt)).any():
            return False
        return self._numbers[wait] < barrier.number <= self._numbers[ending]

    def _ids(self, stmt: Stmt) -> np.ndarray:
        return self._reaches[stmt].threads.ids

    def _hazard(self, barrier: _Barrier, wait: Stmt, ending: Stmt) -> tuple[Key, Hazard]:
        one, two, behind = map(Site.of, (wait, barrier.stmt, ending))
        who = words.threads(self._ids(wait))
        where = (
            f"the barrier that the compiler inserts at {two}" if barrier.is_to_come else str(two)
        )
        witness = (
            f"{who} may wait at {one} for what others do at {behind}, who wait for them at {where}"
        )
        hazard = Hazard(
            HazardKind.BARRIER_DIVERGENCE,
            False,
            two,
            (),
            witness,
            mends.signal_before(behind, two),
            other=one,
            agents=(who,),
            origin=HazardOrigin.COMPILER if barrier.is_to_come else HazardOrigin.AUTHOR,
            mechanism=mechanisms.POLLED,
            undecided=Undecided(UndecidedKind.OPERATION, one),
        )
        return (hazard.kind, barrier.stmt, frozenset()), hazard


def _may_end(wait: Stmt, operations: Operations, pointers: set[Var]) -> Callable[[Stmt], bool]:
    """What says of a statement whether it may do what is waited for: write memory that the loop
    reads; where not all is known of that, anything that others see."""
    inside = [*walk_statements((wait,))]
    read = {
        node.buffer.storage
        for stmt in inside
        for node in nodes_of(stmt)
        if isinstance(node, (Load, Pointer)) and not node.buffer.scope.startswith("local")
    }
    calls = [call for stmt in inside for call in calls_of(stmt)]
    asks = any(is_foreign(one) or operations.effect(one).signals for one in calls)
    is_known = isinstance(wait, While) and not asks and not read & pointers

    def may_end(stmt: Stmt) -> bool:
        effects = [(is_foreign(one), operations.effect(one).signals) for one in calls_of(stmt)]
        written = {*escaping(stmt)}
        if isinstance(stmt, Store) and not stmt.buffer.scope.startswith("local"):
            written.add(stmt.buffer.storage)
        if any(foreign for foreign, _ in effects):
            return True
        if not is_known or written & pointers:
            return bool(written) or any(signal for _, signal in effects)
        return not written.isdisjoint(read)

    return may_end
