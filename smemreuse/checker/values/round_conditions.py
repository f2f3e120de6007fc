"""Comparisons in loops of unknown length: in which rounds they come out alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from smemreuse.checker.values.interned import InternedExpr
from smemreuse.checker.values.linear import Linear, OfAtom, combined, distance, linear
from smemreuse.checker.values.quotients import Edges, Quotient, edges
from smemreuse.checker.values.unknowns import Begin, Unknowns
from smemreuse.ir.expr import Call, Const, Expr, Load, Var, constant, walk
from smemreuse.ir.kernel import For
from smemreuse.semantics.evaluate import Threads, evaluate, wraps

Ends = tuple[int, int]
"""The least and the largest of some numbers."""


@dataclass(frozen=True)
class RoundCondition:
    """A condition in a loop of unknown length, as `threads` come to it.

    `begin` is what the loop's variable is in its first round, `bound` are the variables that are
    set in the loop, by their values, and `ranges` those of loops within it.
    """

    condition: Expr
    loop: For
    begin: Begin
    bound: Mapping[Var, Expr]
    ranges: Mapping[Var, np.ndarray]
    threads: Threads

    def edges(self, unknowns: Unknowns) -> Edges | None:
        """How many of the first and of the last rounds it may be worth something else in than in
        all between; None if that is not known."""
        quotient = self._quotient(unknowns)
        found = None if quotient is None else self._bounded(unknowns)
        return None if quotient is None or found is None else edges(quotient, *found)

    def _quotient(self, unknowns: Unknowns) -> Quotient | None:
        length = unknowns.written(self.loop.extent, self.threads)
        return None if length is None else unknowns.quotient(length.form)

    def stays_open(self, unknowns: Unknowns) -> bool:
        """Whether no round tells what it is worth, whatever the loop's length: it compares
        something else that is not known, and neither cancels out nor follows from the length. What
        threads or the rounds of loops within this one differ in decides nothing of that."""
        found, quotient = self._distance(unknowns), self._quotient(unknowns)
        if found is not None and quotient is not None:
            found = quotient.within(found).sum
        return any(
            self._is_unknown(atom, unknowns)
            for atom in found or ()
            if isinstance(atom, InternedExpr) or self._differs(atom)
        )

    def _is_unknown(self, part: InternedExpr | Expr, unknowns: Unknowns) -> bool:
        """Whether nothing tells what a part of the condition is worth in any round."""
        if isinstance(part, InternedExpr):
            given, parts = unknowns.case.given, unknowns.interned.parts(part)
            return unknowns.interned.number(part) is None and not any(one in given for one in parts)
        for leaf in unknowns.interned.reading(part).leaves or ():
            if isinstance(leaf, Var) and leaf in self.bound:
                found: InternedExpr | Expr | None = self.bound[leaf]
            else:
                found = None if leaf is self.loop.var else unknowns.form(leaf, self.threads)
            if found is not None and self._is_unknown(found, unknowns):
                return True
        return False

    def _bounded(self, unknowns: Unknowns) -> tuple[Linear, Var, Ends] | None:
        """A multiple of the distance, as a sum that is the same for all threads, and the least and
        the most that one of them may add to it: `d * (p // d)` is `p` and at most `d - 1` less."""
        found, least, most = self._distance(unknowns), 0, 0
        while found is not None:
            part = next((one for one in found if self._differs(one)), None)
            if part is None:
                return found, self.loop.var, (least, most)
            factor = found[part]
            found = {atom: times for atom, times in found.items() if atom is not part}
            ends = self._ends(part)
            if ends is None:
                divided = self._divided(part, unknowns)
                if divided is None:
                    return None
                dividend, divisor = divided
                found = combined(combined({}, found, divisor), dividend, factor)
                least, most, ends = least * divisor, most * divisor, (1 - divisor, 0)
            least += min(factor * end for end in ends)
            most += max(factor * end for end in ends)
        return None

    def _differs(self, part: Hashable) -> TypeGuard[Expr]:
        """Whether a part of a distance is one in which threads, or rounds within, differ."""
        return isinstance(part, (Var, Load, Call)) and part is not self.loop.var

    def _ends(self, part: Expr) -> Ends | None:
        """The least and the largest number that it is for any of them."""
        found = self.ranges.get(part) if isinstance(part, Var) else None
        if found is None and not any(isinstance(one, Load) for one in walk(part)):
            value = evaluate(part, self.threads)
            found = None if value is None else np.atleast_1d(value)
        return None if found is None or not found.size else (int(found.min()), int(found.max()))

    def _divided(self, part: Expr, unknowns: Unknowns) -> tuple[Linear, int] | None:
        """Dividend and divisor of a division by a positive number."""
        if not isinstance(part, Call) or part.op != "floordiv" or wraps(part):
            return None
        divisor = constant(part.args[1])
        if divisor is None or divisor <= 0:
            return None
        of_atom = self._atoms(unknowns)
        dividend = None if of_atom is None else linear(part.args[0], of_atom)
        return None if dividend is None else (dividend, divisor)

    def _distance(self, unknowns: Unknowns) -> Linear | None:
        """The distance of a comparison, in which the loop's variable is the number of the round;
        parts in which threads differ stay as they are written."""
        of_atom = None if wraps(self.condition) else self._atoms(unknowns)
        return None if of_atom is None else distance(self.condition, of_atom)

    def _atoms(self, unknowns: Unknowns) -> OfAtom | None:
        begin, var = self.begin, self.loop.var
        first = linear(Const(begin) if isinstance(begin, int) else begin.expr, unknowns.atoms)
        if first is None:
            return None

        def of_atom(expr: Expr) -> Linear | None:
            if expr is var:
                return combined({var: 1}, first, 1)
            if isinstance(expr, Var) and expr in self.bound:
                return None if wraps(self.bound[expr]) else linear(self.bound[expr], of_atom)
            form = unknowns.form(expr, self.threads)
            if form is None:
                return {expr: 1}
            return None if unknowns.interned.wraps(form) else linear(form.expr, unknowns.atoms)

        return of_atom
