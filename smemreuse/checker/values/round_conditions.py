"""Comparisons in loops of unknown length: in which rounds they come out alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.checker.values.interned import InternedExpr
from smemreuse.checker.values.linear import Linear, combined, distance, linear
from smemreuse.checker.values.quotients import Edges, edges
from smemreuse.checker.values.unknowns import Begin, Unknowns
from smemreuse.ir.expr import Const, Expr, Var
from smemreuse.ir.kernel import For
from smemreuse.semantics.evaluate import Threads, wraps


@dataclass(frozen=True)
class RoundCondition:
    """A condition in a loop of unknown length, as `threads` come to it.

    `begin` is what the loop's variable is in its first round, `bound` are the variables that are
    set in the loop, by their values.
    """

    condition: Expr
    loop: For
    begin: Begin
    bound: Mapping[Var, Expr]
    threads: Threads

    def edges(self, unknowns: Unknowns) -> Edges | None:
        """How many of the first and of the last rounds it may be worth something else in than in
        all between; None if that is not known."""
        length = unknowns.written(self.loop.extent, self.threads)
        quotient = None if length is None else unknowns.quotient(length.form)
        found = self._distance(unknowns)
        return None if quotient is None or found is None else edges(quotient, found, self.loop.var)

    def stays_open(self, unknowns: Unknowns) -> bool:
        """Whether no round tells what it is worth, whatever the loop's length: it compares
        something else that is not known, and does not cancel out."""
        given = unknowns.case.given
        return any(
            isinstance(atom, InternedExpr)
            and unknowns.interned.number(atom) is None
            and not any(part in given for part in unknowns.interned.parts(atom))
            for atom in self._distance(unknowns) or ()
        )

    def _distance(self, unknowns: Unknowns) -> Linear | None:
        """The distance of a comparison, in which the loop's variable is the number of the round."""
        begin, var = self.begin, self.loop.var
        first = linear(Const(begin) if isinstance(begin, int) else begin.expr, unknowns.atoms)
        if first is None or wraps(self.condition):
            return None

        def of_atom(expr: Expr) -> Linear | None:
            if expr is var:
                return combined({var: 1}, first, 1)
            if isinstance(expr, Var) and expr in self.bound:
                return None if wraps(self.bound[expr]) else linear(self.bound[expr], of_atom)
            form = unknowns.form(expr, self.threads)
            if form is None or unknowns.interned.wraps(form):
                return None
            return linear(form.expr, unknowns.atoms)

        return distance(self.condition, of_atom)
