"""Evaluation of expressions in a trace: for its threads, its block index, and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.cases import Case
from smemreuse.checker.values.counters import Counters
from smemreuse.checker.values.given import NOTHING_GIVEN, GivenInputs
from smemreuse.checker.values.interned import InternedExpr
from smemreuse.checker.values.symbols import Bindings, Definitions, SymbolicValue
from smemreuse.checker.values.unknowns import Unknowns
from smemreuse.checker.values.vectors import Key, Vectors
from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import SHARED_SCOPES, Bind, Block, Buffer, Store, element_bits
from smemreuse.semantics.evaluate import Threads, Value, holds, is_integer
from smemreuse.semantics.formulas import operands_of, substituted

_SHARED_BY_ALL = ("global", *SHARED_SCOPES)

Slot = tuple[Buffer | Var, int]
"""One mbarrier: an element of a barrier buffer."""

Decision = tuple[Expr, Threads, Value]


@dataclass(frozen=True, slots=True)
class _Now:
    """A cache of values that is valid as long as the same threads, locals and assumptions are."""

    threads: Threads
    counters: Counters
    memo: Definitions
    versions: tuple[int, ...]
    """Version counters of what may change in place, which only grow."""
    decided: dict[InternedExpr, tuple[Value, bool]] = field(default_factory=dict)
    slots: dict[Load, tuple[Slot | None, bool]] = field(default_factory=dict)

    def is_valid(self, threads: Threads, state: Bindings, versions: tuple[int, ...]) -> bool:
        """Whether nothing has changed."""
        own = self.threads
        return (
            (own is threads or (own.ids is threads.ids and own.values is threads.values))
            and self.counters is state.counters
            and self.memo is state.memo
            and self.versions == versions
        )


class Values:
    """Evaluates expressions in the present state; records the decisions that depend on the block
    index. `of_block`: what is accessed is such a decision, too, not only whether it is."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        vectors: Vectors,
        state: Bindings,
        block: Mapping[Var, int],
        case: Case | None = None,
        given: GivenInputs = NOTHING_GIVEN,
        *,
        of_block: bool = False,
    ):
        self._given = given
        self._of_block = of_block
        self._elements: dict[Load, Expr] = {}
        self.decisions: list[Decision] = []
        self._decided: set[Key] = set()
        self.program_slice = program_slice
        self.vectors = vectors
        self._state = state
        self.block = block
        self._varying: set[Var | Buffer] = set()
        self._changing = program_slice.written | program_slice.escaped
        self._interned = vectors.interned
        self.unknowns = Unknowns(
            program_slice, state, case or Case(), self._varying, self._interned
        )
        self._now = self._asked_by(self.everyone(), self._versions())
        self._substituted: dict[tuple[object, ...], Expr] = {}

    def everyone(self) -> Threads:
        """All threads of the block, at the beginning of the kernel."""
        numbers: dict[Var, Value] = {**self._given.numbers}
        return Threads(self.vectors.everyone, numbers, self._loaded, self.vectors.row)

    def __call__(self, expr: Expr, threads: Threads) -> Value:
        value = self.vectors.evaluate(expr, threads)
        if value is None and self._of_block:
            value = self._here(expr, threads)
        if value is None:
            value = self.unknowns.value(expr, threads)
        return self._given_in_part(expr, threads) if value is None else value

    def _given_in_part(self, expr: Expr, threads: Threads) -> Value:
        """The value of an expression that threads differ in, where assumptions decide the rest."""
        if not self.unknowns.tells_anything or self._interned.reading(expr).leaves is None:
            return None
        parts: dict[Expr, int] = {}
        self._find_given(expr, threads, parts)
        if not parts:
            return None
        key = (expr, *parts.items())
        if key not in self._substituted:
            self._substituted[key] = substituted(expr, parts)
        return self.vectors.evaluate(self._substituted[key], threads)

    def _find_given(self, expr: Expr, threads: Threads, found: dict[Expr, int]) -> None:
        """Adds the largest parts of an expression whose values the assumptions decide."""
        for part in operands_of(expr) or () if isinstance(expr, Call) else ():
            if isinstance(part, Const) or (
                isinstance(part, Var) and isinstance(threads.values.get(part), int)
            ):
                continue  # known without any assumption
            value = self.unknowns.value(part, threads)
            if value is None:
                self._find_given(part, threads, found)
            else:
                found[part] = value

    def decide(self, expr: Expr, threads: Threads) -> Value:
        """The value of an expression that decides control flow. Where it depends on the block
        index, it is evaluated for this block, and the decision is recorded."""
        if not self._interned.reading(expr).loads:
            return self.vectors.uniform(self._decide(expr, threads))
        self._stay_or_move(threads)
        form, before = self._interned(expr), self.unknowns.now
        known = self._now.decided.get(form)
        if known is None:
            value = self.vectors.uniform(self._decide(expr, threads))
            known = self._now.decided[form] = (value, self.unknowns.now > before)
        elif known[1]:
            self.unknowns.note_uneven(threads)
        return known[0]

    def _stay_or_move(self, threads: Threads) -> None:
        """Drops the cache if it is no longer valid."""
        versions = self._versions()
        if not self._now.is_valid(threads, self._state, versions):
            self._now = self._asked_by(threads, versions)

    def _asked_by(self, threads: Threads, versions: tuple[int, ...]) -> _Now:
        return _Now(threads, self._state.counters, self._state.memo, versions)

    def _versions(self) -> tuple[int, ...]:
        counters, memo = self._state.counters, self._state.memo
        return counters.version, memo.version, len(self.unknowns.case.given), len(self._varying)

    def _decide(self, expr: Expr, threads: Threads) -> Value:
        value = self.vectors.evaluate(expr, threads)
        if value is None:
            value = self._here(expr, threads)
        return self.unknowns.value(expr, threads) if value is None else value

    def _here(self, expr: Expr, threads: Threads) -> Value:
        """The value of an expression in this block, if it depends on that; which is noted."""
        if not self._depends_on_block(expr):
            return None
        here = replace(threads, values={**threads.values, **self.block})
        value = self.vectors.evaluate(expr, here)
        if value is not None:
            self._note_decision(expr, threads, value)
        return value

    def _depends_on_block(self, expr: Expr) -> bool:
        return bool(self.block) and not self.vectors.interned.reading(expr).variables.isdisjoint(
            self.block
        )

    def _note_decision(self, expr: Expr, threads: Threads, value: Value) -> None:
        key = self.vectors.key(expr, threads)
        if key is None:
            self.decisions.append((expr, _frozen(expr, threads), value))
        elif key not in self._decided:
            self._decided.add(key)
            self.decisions.append((expr, threads, value))

    def slot(self, load: Expr | None, threads: Threads) -> Slot | None:
        """The mbarrier that an operand names, if it is the same for all threads."""
        if not isinstance(load, Load):
            return None
        self._stay_or_move(threads)
        known, before = self._now.slots.get(load), self.unknowns.now
        if known is None:
            slot = self._slot(load, threads)
            known = self._now.slots[load] = (slot, self.unknowns.now > before)
        elif known[1]:
            self.unknowns.note_uneven(threads)
        return known[0]

    def _slot(self, load: Load, threads: Threads) -> Slot | None:
        if element_bits(load.buffer.dtype) != 64:
            return None  # an element is no mbarrier
        index = self.decide(self.program_slice.operations.flat_index(load), threads)
        return (load.buffer.storage, index) if isinstance(index, int) else None

    def bind(self, stmt: Bind, threads: Threads) -> Threads:
        """The threads with a variable bound to its value (None if unknown)."""
        value = self.vectors.evaluate(stmt.value, threads)
        if value is None and self.varies(stmt.value, threads):
            self._varying.add(stmt.var)
        if stmt.var in self.program_slice.variables:
            written = self.unknowns.written(stmt.value, threads) if value is None else None
            self._state.memo.set(stmt.var, threads.ids, written)
        return threads.bind(stmt.var, value)

    def store(self, stmt: Store, threads: Threads) -> None:
        """A local scalar is set, or several of them by a vector."""
        storage, ids = stmt.buffer.storage, threads.ids
        lanes = self._lanes(stmt, threads)
        if not lanes or self._interned.whole(stmt.buffer) is None:
            self._state.counters.forget(storage, ids)
            self._state.memo.forget(storage, ids)
            self._varying.add(storage)
            return
        known = []
        for index, source in lanes:
            value, written = self._definition(stmt, source, threads)
            is_uneven = value is None and self._sets_unevenly(source, threads)
            known.append((index, value, written, is_uneven))
        for index, value, written, is_uneven in known:
            self._state.counters.set(storage, index, ids, value)
            self._state.memo.set((storage, index), ids, written)
            if is_uneven:
                self._varying.add(storage)

    def _sets_unevenly(self, source: Expr, threads: Threads) -> bool:
        """Whether an unknown value that is set now, which may be made of what the element holds, is
        another one for some threads than what others have there."""
        return threads.count < len(self.vectors.everyone) or self.varies(source, threads)

    def _lanes(self, stmt: Store, threads: Threads) -> list[tuple[int, Expr]]:
        """The elements that are set, each with what to; none if it is not known which."""
        if len(stmt.indices) != 1:
            return []
        lanes = self.program_slice.lanes(stmt) if is_integer(stmt.buffer.dtype) else []
        found = []
        for at, source in lanes or [(stmt.indices[0], stmt.value)]:
            place = self(at, threads)
            if not isinstance(place, int):
                return []
            found.append((place, source))
        return found

    def _definition(
        self, stmt: Store, source: Expr, threads: Threads
    ) -> tuple[Value, SymbolicValue | None]:
        """What an element is set to: the value, or how it is written if that is not known."""
        if stmt.predicate is not None:
            return None, None
        value = self(source, threads)
        if holds(stmt.buffer.dtype, value):
            return value, None
        if value is not None:
            return None, None
        return None, self.unknowns.stored(stmt.buffer.dtype, source, threads)

    def _loaded(self, load: Load, threads: Threads) -> Value:
        """What an element holds: of a buffer that is given, or a local scalar."""
        row = self._given.rows.get(load.buffer.storage)
        if row is None:
            return None if load.buffer.scope == "global" else self._counter(load, threads)
        if load.predicate is not None:
            return None
        if load not in self._elements:
            flat = self.program_slice.operations.flat_index(load)
            self._elements[load] = row.element(flat)
        return self(self._elements[load], threads)

    def _counter(self, load: Load, threads: Threads) -> Value:
        """A local scalar, if its value is known for all the threads that ask."""
        storage = self._interned.whole(load.buffer)
        if storage is None or len(load.indices) != 1 or storage in self.program_slice.escaped:
            return None
        index = self(load.indices[0], threads)
        if not isinstance(index, int):
            return None
        return self._state.counters.get(storage, index, threads.ids)

    def varies(self, expr: Expr, threads: Threads) -> bool:
        """Whether an unknown value may differ from thread to thread.

        Variables without a value are block indices, symbols and loop variables, the same for all,
        unless a `Bind` made them. What memory holds is the same for all who read one element of it,
        if it is a local that was set alike for all, or a buffer that the kernel does not write.
        What a call answers that is no arithmetic may depend on who asks.
        """
        reading = self._interned.reading(expr)
        return (
            reading.varies
            or any(self._variable_varies(var, threads) for var in reading.variables)
            or any(self._load_varies(load, threads) for load in reading.all_loads)
        )

    def _variable_varies(self, var: Var, threads: Threads) -> bool:
        return isinstance(threads.values.get(var), np.ndarray) or var in self._varying

    def _load_varies(self, load: Load, threads: Threads) -> bool:
        if isinstance(threads.load(load, threads), np.ndarray):
            return True
        scope, storage = load.buffer.scope, load.buffer.storage
        if scope not in _SHARED_BY_ALL and not scope.startswith("local"):
            return True  # registers, perhaps
        if storage in self._varying or storage in self._changing:
            return True
        if not scope.startswith("local"):
            return False
        is_whole = self._interned.whole(load.buffer) is not None and len(load.indices) == 1
        index = self(load.indices[0], threads) if is_whole else None
        at = index if isinstance(index, int) else None
        return self._state.counters.may_differ(storage, at, threads.ids)

    def note_varying(self, var: Var) -> None:
        """A variable without a known value may differ from thread to thread."""
        self._varying.add(var)

    def mark_divergent(self, *blocks: Block) -> None:
        """Some threads have executed these blocks, and others not: the counters that are set there
        may differ among them."""
        for block in blocks:
            self._varying |= {one.buffer.storage for one in self.program_slice.counters_set(block)}


def _frozen(expr: Expr, threads: Threads) -> Threads:
    """The threads with what `expr` loads as it is now, for when it is asked again later."""
    loaded = {
        id(node): threads.load(node, threads) for node in walk(expr) if isinstance(node, Load)
    }

    def load(node: Load, asking: Threads) -> Value:
        value = loaded.get(id(node))
        if isinstance(value, np.ndarray):
            return np.repeat(value, asking.count // len(value))
        return value

    return replace(threads, load=load)
