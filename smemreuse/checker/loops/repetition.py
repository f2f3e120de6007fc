"""What decides the iterations of a loop, evaluated for all of them at once.

One pass over the loop's body, in which the loop's variable and the counters that the loop sets are
columns: arrays with an entry for each iteration. What an expression is worth in an iteration
depends on nothing that varies but its columns. So iterations that agree in all columns found do the
same, as far as expressions decide what they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.loops.stored import Storage
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.counters import Local
from smemreuse.checker.values.interned import is_whole
from smemreuse.ir.expr import Call, Expr, Load, Var, children, constant, walk
from smemreuse.ir.kernel import Assert, Attr, Bind, Block, For, If, Stmt, Store, While
from smemreuse.semantics.evaluate import NOBODY, Threads, Value, evaluate, holds
from smemreuse.semantics.pointers import let_parts

MAX_ENUMERATED = 1 << 20
"""Iterations times threads and rounds of inner loops that an expression is evaluated for."""

MAX_INNER = 64
"""Rounds of an inner loop that sets counters."""

MAX_SPAN, MAX_KINDS = 1 << 24, 1 << 60
"""Between the numbers of a column, and kinds of iterations, that are combined as they are."""

ELSEWHERE = np.iinfo(np.int64).min
"""In a column: the iteration does not reach the expression."""

Columns = list[np.ndarray]


class Unclear(Exception):
    """The iterations of a loop cannot be predicted."""


class Repetition:
    """The columns of a loop's iterations. Raises `Unclear` where they cannot be predicted.

    `variables` is what the loop's variable holds in each iteration, `counters` what the locals that
    the loop sets hold at its beginning; `after` is what they hold at its end. `threads` come to
    the loop. Where the parts of an expression are not `settled`, which the numbers of iterations
    tell, it is evaluated as a whole. `stored` are the locals that the loop sets to what is not
    known: to the same in iterations that agree. With `turning` iterations agree, too, that wait for
    the other parity of a phase than those they are compared with, all of them: then `turns`.
    """

    def __init__(
        self,
        program_slice: ProgramSlice,
        variables: Mapping[Var, np.ndarray],
        threads: Threads,
        counters: Mapping[Local, np.ndarray],
        length: int,
        work: Work,
        settled: Callable[[np.ndarray], bool] | None = None,
        stored: Set[Storage] = frozenset(),
        *,
        turning: bool = False,
    ):
        self._settled = settled or repeats
        self._turning = turning
        self._turns: Columns = []
        self.columns: Columns = []
        self.after: dict[Local, np.ndarray] = dict(counters)
        self._slice = program_slice
        self._threads = threads
        self._length = length
        self._work = work
        self._storages = {storage for storage, _ in counters}
        self._stored = stored
        known = {var: one for var, one in threads.values.items() if isinstance(one, int)}
        self._rounds = Threads(np.arange(length), {**known, **variables}, self._local, NOBODY)
        self._deciding: dict[Var, Columns] = {var: [one] for var, one in variables.items()}
        self._bound: dict[Var, Expr] = {}
        self._ranges: dict[Var, np.ndarray] = {}
        self._mask: np.ndarray | None = None

    @property
    def turns(self) -> bool:
        """Whether parities that are waited for may turn."""
        return bool(self._turns)

    def kinds(self) -> np.ndarray:
        """A number for each iteration, the same for those that agree."""
        found = numbered(self.columns, self._length)
        if not self._turns:
            return found
        again = np.flatnonzero(found[1:] == found[:1])
        for column in self._turns if len(again) else ():
            column[0] = column[again[0] + 1]  # there is none before it: as where it comes again
        return numbered([found, *self._turns], self._length)

    # Expressions --------------------------------------------------------------------------------

    def _local(self, load: Load, asking: Threads) -> Value:
        storage = load.buffer.storage
        if storage in self._stored:
            return None
        if storage not in self._storages:
            value = self._threads.load(load, self._threads) if _fixed(load) else None
            return value if isinstance(value, int) else None  # threads are no iterations
        value = self.after[self._element(load)]
        if asking.count != self._length:
            return np.repeat(value, asking.count // self._length)
        return value

    def _element(self, load: Load | Store) -> Local:
        index = constant(load.indices[0]) if len(load.indices) == 1 else None
        if not is_whole(load.buffer) or (load.buffer.storage, index) not in self.after:
            raise Unclear
        assert index is not None
        return load.buffer.storage, index

    def _varies(self, expr: Expr) -> bool:
        return any(
            node in self._deciding
            if isinstance(node, Var)
            else isinstance(node, Load) and node.buffer.storage in self._storages
            for node in walk(expr)
        )

    def _value(self, expr: Expr) -> Value:
        value = evaluate(expr, self._rounds)
        return None if isinstance(value, np.ndarray) and len(value) != self._length else value

    def _parts(self, expr: Expr) -> Columns:
        """Columns that decide what `expr` is worth, whatever its other variables are."""
        if not self._varies(expr):
            return []
        value = self._value(expr)
        if value is not None:
            return [value] if isinstance(value, np.ndarray) else []
        if isinstance(expr, Var):
            return self._deciding[expr]
        if isinstance(expr, Load):
            if expr.buffer.storage in self._storages:
                raise Unclear
            if expr.buffer.storage not in self._stored and not _is_local(expr):
                return []  # whatever element it is: what memory holds is not known
        bound = let_parts(expr) if isinstance(expr, Call) else None
        if bound is not None:
            self._deciding[bound[0]] = self._parts(bound[1])
            return [*self._deciding[bound[0]], *self._parts(bound[2])]
        return [column for child in children(expr) for column in self._parts(child)]

    def _decides(self, expr: Expr) -> None:
        """Notes the columns of an expression that decides what an iteration does."""
        self._work.do(1_000)
        parts = self._parts(expr)
        self._work.do(20 * self._length * len(parts))
        if len(parts) and not self._settled(numbered(parts, self._length)):
            whole = self._enumerated(expr)
            parts = parts if whole is None else [whole]
        for column in parts:
            self.columns.append(
                column if self._mask is None else np.where(self._mask, column, ELSEWHERE)
            )

    def _awaits(self, parity: Expr) -> None:
        """Notes the column of a parity that is waited for: if that may turn, whether it is another
        one than in the iteration before. Where this comes again, the parity does, or its opposite.

        It is noted for iterations that do not reach the wait as well: a parity may turn there.
        """
        value = self._value(parity) if self._turning else None
        if not isinstance(value, np.ndarray) or not np.isin(value, (0, 1)).all():
            self._decides(parity)
            return
        self._work.do(20 * self._length)
        self._turns.append(np.abs(np.diff(value, prepend=value[:1])))

    def _enumerated(self, expr: Expr) -> np.ndarray | None:
        """A number for what an expression is worth in an iteration, to all threads and in all
        rounds of the loops inside; None if it is not known, or would be too much."""
        found = enumerated(expr, self._rounds, self._threads, self._ranges, self._bound, self._work)
        if not isinstance(found, np.ndarray):
            return None
        seen: dict[bytes, int] = {}
        table = found.reshape(self._length, -1)
        return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in table])

    # Statements ---------------------------------------------------------------------------------

    def visit(self, block: Block) -> None:
        """One pass over a block, in program order."""
        for stmt in block:
            if isinstance(stmt, Bind):
                self._bind(stmt)
            if isinstance(stmt, Attr) or self._slice(stmt):
                self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        for expr in self._slice.placing(stmt):
            self._decides(expr)
        for expr in self._slice.awaited(stmt):
            self._awaits(expr)
        if isinstance(stmt, If):
            self._if(stmt)
        elif isinstance(stmt, For):
            self._for(stmt)
        elif isinstance(stmt, While):
            self._decides(stmt.condition)
            self._without_counters(stmt.body)
            self.visit(stmt.body)
        elif isinstance(stmt, (Attr, Assert)):
            self.visit(stmt.body)
        elif isinstance(stmt, Store) and self._slice.sets_counter(stmt):
            self._set(stmt)

    def _bind(self, stmt: Bind) -> None:
        if self._varies(stmt.value):
            self._deciding[stmt.var] = self._parts(stmt.value)
            value = self._value(stmt.value)
            if value is not None:
                self._rounds = self._rounds.bind(stmt.var, value)
                return
        if not any(isinstance(node, Load) for node in walk(stmt.value)):
            self._bound[stmt.var] = stmt.value  # what is loaded may be another value later

    def _set(self, stmt: Store) -> None:
        if stmt.buffer.storage in self._stored:
            for expr in (stmt.value, *stmt.indices):
                self._decides(expr)
            return
        element, value = self._element(stmt), self._value(stmt.value)
        if stmt.predicate is not None or value is None or not holds(stmt.buffer.dtype, value):
            raise Unclear
        mask = True if self._mask is None else self._mask
        self.after[element] = np.where(mask, value, self.after[element])

    def _if(self, stmt: If) -> None:
        value, before = self._value(stmt.condition), self._mask
        if value is None:
            self._without_counters(stmt.then)
            self._without_counters(stmt.orelse)
        self._decides(stmt.condition)
        for block, wanted in ((stmt.then, True), (stmt.orelse, False)):
            if value is not None:
                taken = np.broadcast_to(np.not_equal(value, 0) == wanted, (self._length,))
                if not taken.any():
                    continue
                self._mask = taken if before is None else taken & before
            self.visit(block)
            self._mask = before

    def _for(self, stmt: For) -> None:
        for expr in (stmt.begin, stmt.extent, stmt.step):
            self._decides(expr)
        begin, extent, step = (self._value(one) for one in (stmt.begin, stmt.extent, stmt.step))
        rounds = None
        if isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int) and step:
            rounds = range(begin, begin + extent, step)
        if self._sets_counters(stmt.body):
            if rounds is None or len(rounds) > MAX_INNER:
                raise Unclear
            for number in rounds:
                self._rounds = self._rounds.bind(stmt.var, number)
                self.visit(stmt.body)
            return
        if rounds is not None and len(rounds) <= MAX_ENUMERATED:
            self._ranges[stmt.var] = np.array(rounds, dtype=np.int64)
        self.visit(stmt.body)

    def _without_counters(self, block: Block) -> None:
        """Raises `Unclear` if a block sets counters, of which it is not known when it is run."""
        if self._sets_counters(block):
            raise Unclear

    def _sets_counters(self, block: Block) -> bool:
        return any(
            one.buffer.storage not in self._stored for one in self._slice.counters_set(block)
        )


def enumerated(
    expr: Expr,
    iterations: Threads,
    threads: Threads,
    ranges: Mapping[Var, np.ndarray],
    bound: Mapping[Var, Expr],
    work: Work,
) -> Value:
    """The value of an expression in each of `iterations`, for all `threads` and all rounds of the
    loops inside, whose variables have `ranges`; None if it is unknown, or there are too many.

    `bound` are the values of variables that are bound inside. An array has the values of one
    iteration next to each other, as many for each.
    """
    names = list(dict.fromkeys(node for node in walk(expr) if isinstance(node, Var)))
    for name in names:  # grows: what is bound to a name counts for it
        inside = walk(bound[name]) if name in bound else ()
        names += [one for one in inside if isinstance(one, Var) and one not in names]
    own = {
        name: value for name in names if isinstance(value := threads.values.get(name), np.ndarray)
    }
    inner = {name: ranges[name] for name in names if name in ranges}
    count = iterations.count * (threads.count if own else 1)
    count *= math.prod(map(len, inner.values()))
    if count > MAX_ENUMERATED:
        return None
    work.do(40 * count)
    rows = iterations
    if own:
        rows = rows.repeated(Var("thread"), np.arange(threads.count))
        for name, value in own.items():
            rows = rows.bind(name, np.tile(value, iterations.count))
    for name, numbers in inner.items():
        rows = rows.repeated(name, numbers)
    for name, value_of in bound.items():
        if name in names:
            rows = rows.bind(name, evaluate(value_of, rows))
    return evaluate(expr, rows)


def _is_local(load: Load) -> bool:
    return load.buffer.scope.startswith("local")


def _fixed(load: Load) -> bool:
    return all(constant(index) is not None for index in load.indices)


def numbered(columns: Columns, length: int) -> np.ndarray:
    """A number for each iteration, the same for those that agree in all columns."""
    numbers, kinds = np.zeros(length, dtype=np.int64), 1
    for column in columns if length else ():
        low, high = int(column.min()), int(column.max())
        if high - low >= MAX_SPAN:
            column = np.unique(column, return_inverse=True)[1].astype(np.int64)
            low, high = 0, length - 1
        if kinds * (high - low + 1) >= MAX_KINDS:
            numbers, kinds = np.unique(numbers, return_inverse=True)[1].astype(np.int64), length
        numbers, kinds = numbers * (high - low + 1) + (column - low), kinds * (high - low + 1)
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def repeats(numbers: np.ndarray) -> bool:
    """Whether there are fewer kinds of iterations than iterations."""
    return bool(numbers.max(initial=0) < len(numbers) - 1)
