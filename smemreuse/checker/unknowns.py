"""What expressions are worth in the case that a trace is for, where data decide.

A trace takes for granted what a condition comes to, and how many rounds a loop has, where that is
the same for all threads (`symbols`). It is evaluated alike wherever it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.cases import Case
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.state import State
from smemreuse.checker.symbols import (
    MAX_NODES,
    Key,
    Place,
    Written,
    is_whole,
    key_of,
    parts_of,
    replaced,
)
from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.courses import EACH_ROUND, Course, Courses, NoCourse
from smemreuse.semantics.evaluate import Threads, evaluate, wraps
from smemreuse.semantics.formulas import as_condition, is_condition, negative, operands_of

ONE = Threads(np.arange(1))
"""A thread of which nothing is known."""


@dataclass(frozen=True)
class Length:
    """The rounds of a loop, and which unknown number decides them."""

    rounds: int
    key: Key


class Unknowns:
    """The values that are given in a case. `varying` is what may differ from thread to thread."""

    def __init__(self, relevance: Relevance, state: State, case: Case, varying: set[Var | Buffer]):
        self.case = case
        self._state = state
        self._varying = varying
        self._changing = relevance.written | relevance.escaped
        self._turning = relevance.turning
        self._even = True
        self._uneven: list[np.ndarray] = []
        self._courses: dict[tuple[Key, Key], tuple[Course, Course] | None] = {}

    # Expressions, written out -------------------------------------------------------------------

    def written(self, expr: Expr, threads: Threads) -> Written | None:
        """An expression as one of what is the same for all threads, and for as long as the kernel
        runs; None if there is more in it."""
        self._even = True
        if sum(1 for _ in walk(expr)) > MAX_NODES:
            return None
        found = self._written(expr, threads)
        if found is None or sum(1 for _ in walk(found)) > MAX_NODES:
            return None
        return Written(found, self._even)

    def _written(self, expr: Expr, threads: Threads) -> Expr | None:
        if isinstance(expr, Const):
            return expr
        if isinstance(expr, Var):
            return self._variable(expr, threads)
        if isinstance(expr, Load):
            return self._load(expr, threads)
        operands = operands_of(expr) if isinstance(expr, Call) else None
        if operands is None or not isinstance(expr, Call):
            return None
        found = self._all_written(operands, threads)
        types = expr.args[: len(expr.args) - len(operands)]
        return None if found is None else Call(expr.op, (*types, *found), expr.annotations)

    def _all_written(self, exprs: tuple[Expr, ...], threads: Threads) -> tuple[Expr, ...] | None:
        found = []
        for expr in exprs:
            written = self._written(expr, threads)
            if written is None:
                return None
            found.append(written)
        return tuple(found)

    def _variable(self, var: Var, threads: Threads) -> Expr | None:
        if var in self._varying:
            return None
        value = threads.values.get(var)
        if isinstance(value, int):
            self._even &= var not in self._turning
            return Const(value)
        if var not in self._turning:
            return var if value is None else None  # an argument, or the index of the block
        return self._told(var, threads) if value is None else None

    def _told(self, place: Place, threads: Threads) -> Expr | None:
        told = self._state.memo.get(place, threads.ids)
        if told is None:
            return None
        self._even &= told.even and isinstance(place, Var)
        return told.expr

    def _load(self, load: Load, threads: Threads) -> Expr | None:
        storage = load.buffer.storage
        if load.predicate is not None or storage in self._changing:
            return None
        known = threads.load(load, threads)
        if known is not None:
            self._even = False  # it may be another one in the next round
            return Const(known) if isinstance(known, int) else None
        indices = self._all_written(load.indices, threads)
        if indices is None:
            return None
        if load.buffer.scope.startswith("local"):
            if not is_whole(load.buffer):
                return None
            at = evaluate(indices[0], ONE) if len(indices) == 1 else None
            return self._told((storage, at), threads) if isinstance(at, int) else None
        return Load(load.buffer, indices) if load.buffer.scope == "global" else None

    # What is given ------------------------------------------------------------------------------

    def value(self, expr: Expr, threads: Threads) -> int | None:
        """What an expression is worth by what is given; None if that does not tell."""
        written = self.written(expr, threads) if self.case.given else None
        value = None if written is None else self._follows(written.expr)
        return value if value is None or written is None else self._noted(value, written, threads)

    def truth(self, condition: Expr, threads: Threads) -> int | None:
        """Whether a condition that is not known holds; None if threads may differ in it."""
        written = self.written(condition, threads)
        if written is None:
            return None
        expr = as_condition(written.expr)
        value = self._follows(expr)
        if value is None:
            value = self.case.truth(key_of(expr))
        return self._noted(value, written, threads)

    def length(self, extent: Expr, threads: Threads) -> Length | None:
        """The rounds of a loop of unknown length; None if threads may differ in it."""
        written = self.written(extent, threads)
        if written is None or is_condition(written.expr):
            return None
        key = key_of(written.expr)
        found = self._longer(written.expr) if key not in self.case.given else None
        if found is None:
            found = Length(self.case.length(key), key)
        self._noted(found.rounds, written, threads)
        return found

    def is_uneven(self, since: int, threads: Threads) -> bool:
        """Whether something has been given to these threads for one round of a loop alone."""
        return any(np.isin(ids, threads.ids).any() for ids in self._uneven[since:])

    @property
    def now(self) -> int:
        """What `is_uneven` can be asked about later."""
        return len(self._uneven)

    def _noted(self, value: int, written: Written, threads: Threads) -> int:
        if not written.even:
            self._uneven.append(threads.ids)
        return value

    # What follows from it -----------------------------------------------------------------------

    def _follows(self, written: Expr) -> int | None:
        """What follows from what is given, and is so for all lengths that are not tried."""
        value, lengths = self._replaced(written)
        if value is None or not lengths:
            return value
        both = self._along(written, lengths[0]) if len(lengths) == 1 else None
        if both is None or both[0].step or both[1].step:
            return None
        up, down = both
        self.case.need(lengths[0], up.first, up.period, down.first)
        return value

    def _longer(self, written: Expr) -> Length | None:
        """A length that is as much more, or less, than a given one for all of those."""
        value, lengths = self._replaced(written)
        both = self._along(written, lengths[0]) if len(lengths) == 1 else None
        if value is None or both is None or both[0].step != both[0].period:
            return None
        up, down = both
        apart = abs(value - self.case.given[lengths[0]])
        self.case.need(lengths[0], up.first + apart, up.period, down.first + apart)
        return Length(value, lengths[0])

    def _replaced(self, written: Expr) -> tuple[int | None, list[Key]]:
        """The value with all that is given put in, and the lengths in it."""
        given = self.case.given
        found = [key for key in dict.fromkeys(parts_of(written)) if key in given]
        if not found or wraps(written):
            return None, []
        value = evaluate(replaced(written, {key: Const(given[key]) for key in found}), ONE)
        lengths = [key for key in found if self.case.is_length(key)]
        return (value if isinstance(value, int) else None), lengths

    def _along(self, written: Expr, length: Key) -> tuple[Course, Course] | None:
        """How a value goes on with a length, and with one below zero; None if that is not known."""
        asked = (key_of(written), length)
        if asked not in self._courses:
            given = {key: Const(value) for key, value in self.case.given.items() if key != length}
            number = Var("n")
            up = replaced(written, {**given, length: number})
            down = replaced(written, {**given, length: negative(number)})

            def rows(expr: Expr, count: int) -> np.ndarray | None:
                value = evaluate(expr, Threads(np.arange(count), {number: np.arange(count)}))
                return None if value is None else np.broadcast_to(value, (count,))

            courses = Courses({number: EACH_ROUND}, rows)
            try:
                self._courses[asked] = courses(up), courses(down)
            except NoCourse:
                self._courses[asked] = None
        return self._courses[asked]
