"""Expressions written out in terms of symbolic values, as the threads of an agent come to them."""

from __future__ import annotations

from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.interned import MAX_NODES, InternedExpr, InternTable
from smemreuse.checker.values.symbols import Bindings, Place, SymbolicValue
from smemreuse.ir.expr import Const, Expr, Load, Var, literal
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.evaluate import Threads


class SymbolicForms:
    """Writes expressions out. `varying` are variables and locals that may differ between
    threads."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        state: Bindings,
        varying: set[Var | Buffer],
        interned: InternTable,
    ):
        self.interned = interned
        self._state = state
        self._varying = varying
        self._changing = program_slice.written | program_slice.escaped
        self._turning = program_slice.turning
        self._even = True

    def written(self, expr: Expr, threads: Threads) -> SymbolicValue | None:
        """An expression in terms of symbolic values; None if it depends on anything else."""
        self._even = True
        found = self.form(expr, threads)
        is_short = found is not None and found.size <= MAX_NODES
        return SymbolicValue(found, self._even) if found is not None and is_short else None

    def stored(self, dtype: str, expr: Expr, threads: Threads) -> SymbolicValue | None:
        """The symbolic value of an expression after it was stored as an element of type `dtype`."""
        written = self.written(expr, threads)
        if written is None:
            return None
        return SymbolicValue(self.interned.stored(dtype, written.form), written.even)

    def form(self, expr: Expr, threads: Threads) -> InternedExpr | None:
        """As `written`, however long it is."""
        if isinstance(expr, Const):
            return self.interned(expr)
        leaves = self.interned.reading(expr).leaves
        if leaves is None:
            return None
        found = []
        for leaf in leaves:
            one = (
                self._variable(leaf, threads)
                if isinstance(leaf, Var)
                else self._load(leaf, threads)
            )
            if one is None:
                return None
            found.append(one)
        return found[0] if leaves == (expr,) else self.interned.made(expr, tuple(found))

    def _variable(self, var: Var, threads: Threads) -> InternedExpr | None:
        value = threads.values.get(var)
        if isinstance(value, int):
            self._even &= var not in self._turning
            return self.interned(literal(value, var.dtype))
        if value is not None:
            return None
        if var in self._turning:  # set by a statement, by other threads perhaps to something else
            return self._definition(var, threads)
        return None if var in self._varying else self.interned(var)  # an argument, a block's index

    def _definition(self, place: Place, threads: Threads) -> InternedExpr | None:
        symbolic = self._state.memo.get(place, threads.ids)
        if symbolic is None:
            return None
        self._even &= symbolic.even and isinstance(place, Var)
        return symbolic.form

    def _load(self, load: Load, threads: Threads) -> InternedExpr | None:
        storage = load.buffer.storage
        if load.predicate is not None or storage in self._changing:
            return None
        known = threads.load(load, threads)
        if known is not None:
            self._even = False  # it may be another one in the next round
            one = literal(known, load.buffer.dtype) if isinstance(known, int) else None
            return None if one is None else self.interned(one)
        indices = []
        for index in load.indices:
            written = self.form(index, threads)
            if written is None:
                return None
            indices.append(written)
        if load.buffer.scope.startswith("local"):
            if self.interned.whole(load.buffer) is None:
                return None
            at = self.interned.number(indices[0]) if len(indices) == 1 else None
            return None if at is None else self._definition((storage, at), threads)
        return self.interned.load(load, tuple(indices)) if load.buffer.scope == "global" else None
