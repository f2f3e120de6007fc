"""Values of expressions under the assumptions of a case (`values.cases`).

A trace assumes the outcome of a data-dependent condition, and the length of a data-dependent loop,
where that is the same for all threads (`symbols`); every use of it then has the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.errors import Infeasible
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.attainable import are_attainable, free_data
from smemreuse.checker.values.cases import LARGE, Case
from smemreuse.checker.values.forms import SymbolicForms
from smemreuse.checker.values.interned import InternedExpr, InternTable, replaced
from smemreuse.checker.values.linear import ONE, as_comparison, combined, distance, linear
from smemreuse.checker.values.quotients import (
    QUOTIENT,
    Quotient,
    Rest,
    atoms_of,
    decided,
    difference,
)
from smemreuse.checker.values.symbols import Bindings, Key, SymbolicValue
from smemreuse.ir.expr import Call, Const, Expr, Var, literal
from smemreuse.ir.kernel import Buffer, For
from smemreuse.semantics.evaluate import Threads, dtype_of, evaluate
from smemreuse.semantics.formulas import is_condition, negative, parts_of, substituted
from smemreuse.semantics.recurrences import EACH_ROUND, NoRecurrence, Recurrence, Recurrences

MAX_SETTLING = 8
"""The longest loop at whose length a comparison is seen to change."""


@dataclass(frozen=True)
class Length:
    """A number of iterations: `more` than the number that is assumed for a symbolic value."""

    rounds: int
    key: Key
    more: int = 0


Begin = int | InternedExpr
"""What the variable of a loop is in its first round: a number, or what data decide."""


class Unknowns(SymbolicForms):
    """The values assumed in a case."""

    def __init__(
        self,
        program_slice: ProgramSlice,
        state: Bindings,
        case: Case,
        varying: set[Var | Buffer],
        interned: InternTable,
    ):
        super().__init__(program_slice, state, varying, interned)
        self.case = case
        self.atoms = atoms_of(interned)
        self._launched = program_slice.launched
        self._counts_rounds = False
        self._uneven: list[np.ndarray] = []
        self._recurrences: dict[tuple[Key, Key], tuple[Recurrence, Recurrence] | None] = {}
        self._followed: dict[tuple[InternedExpr, int], int | None] = {}
        self._implied_by_length: dict[tuple[InternedExpr, int], int | None] = {}
        self._quotients: dict[InternedExpr, Quotient | None] = {}
        self._derived: dict[Key, Length] = {}
        self.settled: set[Expr] = set()
        """Conditions of which something follows from the length of the loop around them."""

    @property
    def tells_anything(self) -> bool:
        """Whether a value may follow from what is assumed, or from the number of a round."""
        return bool(self.case.given) or self._counts_rounds

    # What is given ------------------------------------------------------------------------------

    def value(self, expr: Expr, threads: Threads) -> int | None:
        """The value of an expression under the assumptions; None if they do not decide it."""
        written = self.written(expr, threads) if self.tells_anything else None
        if written is None:
            return None
        number = self.interned.number(written.form)
        if number is not None:  # nothing is assumed
            return number
        if expr in self.settled:
            by_length = self._by_length(expr, written.form, threads)
            if by_length is not None:
                return by_length
        value = self._follows(written.form)
        return None if value is None else self._noted(value, written, threads)

    def truth(self, expr: Expr, threads: Threads) -> int | None:
        """Whether an unknown condition holds in this case; None if threads may differ in it."""
        written = self.written(expr, threads)
        if written is None:
            return None
        number = self.interned.number(written.form)
        if number is not None:
            return int(bool(number))
        condition = self.interned.condition(written.form)
        if expr in self.settled:
            by_length = self._by_length(expr, condition, threads)
            if by_length is not None:
                return by_length
        value = self._follows(condition)
        if value is None and written.even:
            value = self._settled_by_lengths(condition)
        if value is None:
            value = self.case.truth(condition)
        return self._noted(value, written, threads)

    def length(self, extent: Expr, threads: Threads) -> Length | None:
        """The length of a loop in this case; None if threads may differ in it."""
        written = self.written(extent, threads)
        if written is None or is_condition(written.form.expr):
            return None
        number = self.interned.number(written.form)
        if number is not None:
            return Length(number, written.form)
        key, more = self._without_constant(written.form)
        found = None
        if key not in self.case.given:
            found = self._longer(key) or self._derived.get(key) or self._derive(key)
        if found is None:
            is_new = key not in self.case.given
            found = Length(self.case.length(key), key)
            if is_new:
                self.require_feasible(key)
            if more > 0:
                self.case.need(key, 0, 1, more)
        found = Length(found.rounds + more, found.key, found.more + more)
        self._noted(found.rounds, written, threads)
        return found

    def _without_constant(self, form: InternedExpr) -> tuple[InternedExpr, int]:
        """An expression as another one and a number: lengths that differ by a number are one
        unknown."""
        found = None if self.interned.wraps(form) else linear(form.expr, self.atoms)
        atoms = [atom for atom in found or {} if isinstance(atom, InternedExpr)]
        if found is None or len(atoms) != 1 or found[atoms[0]] != 1:
            return form, 0
        return atoms[0], found.get(ONE, 0)

    def require_feasible(self, *keys: Key) -> None:
        """Raises `Infeasible` if what is given for these lengths, or for any, contradicts the
        outcome of a condition."""
        for key, length in list(self._lengths()):
            for condition, truth in self.case.given.items() if not keys or key in keys else ():
                if not self.case.is_length(condition):
                    value = self._settled(condition, key, length)
                    if value is not None and value != truth:
                        raise Infeasible

    @property
    def supposes_length_alone(self) -> bool:
        """Whether all that the case begins with is that loops are long that may be."""
        return all(map(self.may_be_long, self.case.given))

    def may_be_long(self, key: Key) -> bool:
        """Whether a length is large in this case, or is more than one round and cannot be large,
        and there are data for which it is so, and the other lengths are as the case has them."""
        lengths = self.case.lengths
        if key not in lengths:
            return False
        least = LARGE if self._free_data(key) else 2
        return lengths[key] >= least and are_attainable(
            lengths, self._free_data, self.interned, self._launched
        )

    def _free_data(self, length: Key) -> tuple[InternedExpr, ...]:
        """What alone makes a length any number."""
        quotient = self.quotient(length)
        return () if quotient is None else free_data(quotient, self.interned, self._launched)

    @property
    def supposes_negative(self) -> bool:
        """Whether something of which the case has a quotient is negative: `end - begin`, where
        there are `(end - begin + 63) // 64` rounds and that is less than 0."""
        return any(
            length.rounds < 0 and quotient.offset >= 0 and quotient.dividend.get(ONE, 0) >= 0
            for key, length in self._lengths()
            if (quotient := self.quotient(key)) is not None
        )

    def is_uneven(self, since: int, threads: Threads) -> bool:
        """Whether, since `since` (see `now`), these threads used an assumption about one iteration
        alone."""
        each = {id(ids): ids for ids in self._uneven[since:]}
        return any(np.isin(ids, threads.ids).any() for ids in each.values())

    @property
    def now(self) -> int:
        """A mark to ask `is_uneven` with later."""
        return len(self._uneven)

    def note_uneven(self, threads: Threads) -> None:
        """Notes that these threads used an assumption about one iteration of a loop alone."""
        self._uneven.append(threads.ids)

    def _noted(self, value: int, written: SymbolicValue, threads: Threads) -> int:
        if not written.even:
            self.note_uneven(threads)
        return value

    # What follows from it -----------------------------------------------------------------------

    def _follows(self, written: InternedExpr) -> int | None:
        """The value that the assumptions imply, also for all loop lengths that are not tried."""
        asked = (written, len(self.case.given) + len(self._derived))  # there only ever is more
        if asked not in self._followed:
            self._followed[asked] = self._concluded(written)
        return self._followed[asked]

    def _concluded(self, written: InternedExpr) -> int | None:
        value, lengths = self._replaced(written)
        if value is None or not lengths:
            return value
        both = self._along(written, lengths[0]) if len(lengths) == 1 else None
        if both is None or both[0].step or both[1].step:
            return None
        up, down = both
        self.case.need(lengths[0], up.first, up.period, down.first)
        return value

    def settle(self, condition: Expr, part: Expr) -> None:
        """The length of the loop around it decides a part of a condition alike in all rounds but
        the first and the last ones, which are never left out. What it says of any other condition
        is not asked: it may hold for this length and not for a shorter one that is not tried."""
        self.settled |= {part, *_around(part, condition)}

    def _by_length(self, expr: Expr, written: InternedExpr, threads: Threads) -> int | None:
        """What an assumed length says of a condition in its loop: no round that is left out has
        another value of it, so it is not noted as one iteration's alone."""
        parts = parts_of(expr)
        if parts:
            known = {one: value for one in parts if (value := self.value(one, threads)) is not None}
            found = evaluate(substituted(expr, known), Threads(threads.ids, {}))
            if isinstance(found, int):
                return found
            if as_comparison(expr) is expr:
                return None
        asked = (written, len(self.case.given))
        if asked not in self._implied_by_length:
            self._implied_by_length[asked] = self._implied(written)
        return self._implied_by_length[asked]

    def _implied(self, written: InternedExpr) -> int | None:
        return self._by_any_length(
            lambda key, length: self._comparison(written, key, length.rounds)
        )

    def _settled_by_lengths(self, condition: InternedExpr) -> int | None:
        return self._by_any_length(lambda key, length: self._settled(condition, key, length))

    def _by_any_length(self, says: Callable[[Key, Length], int | None]) -> int | None:
        found = (says(key, length) for key, length in self._lengths())
        return next((one for one in found if one is not None), None)

    def _lengths(self) -> Iterator[tuple[Key, Length]]:
        """The expressions of which it is known how many rounds they are: assumed, or derived."""
        for key, value in self.case.lengths.items():
            yield key, Length(value, key)
        yield from self._derived.items()

    def _comparison(self, condition: InternedExpr, length: Key, number: int) -> int | None:
        """What a comparison is worth where a length is `number`; None if that does not tell. It
        only ever changes once as the number grows."""
        compared = as_comparison(condition.expr)
        if self.interned.wraps(condition) or not isinstance(compared, Call):
            return None
        found, quotient = distance(compared, self.atoms), self.quotient(length)
        if found is None:
            return None
        found = combined(found, {length: -1, ONE: number}, found.get(length, 0))
        rest = Rest(found, 0) if quotient is None else quotient.within(found)
        if rest.sum.keys() - {QUOTIENT, ONE}:
            return None
        more = 0 if quotient is None else quotient.offset
        each = rest.sum.get(QUOTIENT, 0)
        ends = rest.ends(rest.sum.get(ONE, 0) + each * (number - more))
        return decided(compared.op, *ends)

    def _settled(self, condition: InternedExpr, key: Key, length: Length) -> int | None:
        """What a comparison is worth in this case, for all lengths as well that are not tried: the
        lengths are then tried up to where it changes."""
        value = self._comparison(condition, key, length.rounds)
        sign = 1 if length.rounds >= 0 else -1
        far = None if value is None else self._comparison(condition, key, sign * LARGE)
        for near in range(MAX_SETTLING) if far is not None else ():
            if self._comparison(condition, key, sign * near) == far:
                near += abs(length.more)
                self.case.need(length.key, *((near, 1) if sign > 0 else (0, 1, near)))
                return value
        return None

    def begin_round(self, loop: For, begin: InternedExpr, number: int, threads: Threads) -> None:
        """The variable of a loop is `begin` and a number of rounds now, which data decide."""
        self._counts_rounds = True
        form = self.interned(Call("add", (begin.expr, Const(number))))
        self._state.memo.set(loop.var, threads.ids, SymbolicValue(form, False))

    def quotient(self, length: InternedExpr) -> Quotient | None:
        """A length as a quotient; None if it is none."""
        if length not in self._quotients:
            self._quotients[length] = Quotient.of(length, self.interned)
        return self._quotients[length]

    def _longer(self, written: InternedExpr) -> Length | None:
        """A length that differs from an assumed one by a constant, whatever that one is."""
        value, lengths = self._replaced(written)
        both = self._along(written, lengths[0]) if len(lengths) == 1 else None
        if value is None or both is None or both[0].step != both[0].period:
            return None
        up, down = both
        more = value - self.case.given[lengths[0]]
        self.case.need(lengths[0], up.first + abs(more), up.period, down.first + abs(more))
        return Length(value, lengths[0], more)

    def _derive(self, written: InternedExpr) -> Length | None:
        """A length that differs from an assumed one by one of two numbers, as a quotient that is
        rounded up from the same one rounded down. Which of them is a condition of the case."""
        here = self.quotient(written)
        for length in self.case.lengths if here else ():
            there = self.quotient(length)
            ends = None if here is None or there is None else difference(here, there)
            if ends is None:
                continue
            more, most = ends
            if more < most:
                bound = Call("add", (length.expr, literal(most, dtype_of(length.expr))))
                is_less = self.interned(Call("lt", (written.expr, bound)))
                more = more if self.case.truth(self.interned.condition(is_less)) else most
            self.case.need(length, abs(more), 1, max(more, 0))
            self._derived[written] = Length(self.case.given[length] + more, length, more)
            self.require_feasible(written)
            return self._derived[written]
        return None

    def _replaced(self, written: InternedExpr) -> tuple[int | None, list[Key]]:
        """The value with all assumptions substituted, and the assumed lengths in the expression."""
        given, derived, lengths = self.case.given, self._derived, dict[Key, None]()
        numbers = []
        for part in self.interned.parts(written):
            if part in given:
                numbers.append((part, given[part]))
                if self.case.is_length(part):
                    lengths[part] = None
            elif part in derived:
                numbers.append((part, derived[part].rounds))
                lengths[derived[part].key] = None
        if not numbers or self.interned.wraps(written):
            return None, []
        return self.interned.number(written, numbers), list(lengths)

    def _along(self, written: InternedExpr, length: Key) -> tuple[Recurrence, Recurrence] | None:
        """The recurrences of a value as a length grows, and as a negative one shrinks; None if
        unknown."""
        asked = (written, length)
        if asked not in self._recurrences:
            given = {
                key: Const(value, dtype_of(key.expr))
                for key, value in self.case.given.items()
                if key != length
            }
            number = Var("n", dtype_of(length.expr))
            up, down = (
                replaced(written, {**given, **self._with_derived(length, along)})
                for along in (number, negative(number))
            )

            def rows(expr: Expr, count: int) -> np.ndarray | None:
                value = evaluate(expr, Threads(np.arange(count), {number: np.arange(count)}))
                return None if value is None else np.broadcast_to(value, (count,))

            recurrences = Recurrences({number: EACH_ROUND}, rows)
            try:
                self._recurrences[asked] = recurrences(up), recurrences(down)
            except NoRecurrence:
                self._recurrences[asked] = None
        return self._recurrences[asked]

    def _with_derived(self, length: Key, number: Expr) -> dict[InternedExpr, Expr]:
        """A number for a length, and what then stands for those derived from it."""
        found: dict[InternedExpr, Expr] = {length: number}
        for key, derived in self._derived.items():
            if derived.key == length:
                found[key] = Call("add", (number, literal(derived.more, dtype_of(key.expr))))
        return found


def _around(part: Expr, condition: Expr) -> set[Expr]:
    """The conditions that a part of one is in, the whole one among them."""
    if part == condition:
        return {condition}
    inside = [_around(part, one) for one in parts_of(condition)]
    return {condition}.union(*inside) if any(inside) else set()
