"""What the length of a loop says of conditions in it: which of its iterations are whole.

`for i in range((end - begin + 63) // 64)` goes over tiles of 64, of which all but the last are
whole: `begin + 64 * i + 64 <= end`. Nobody knows the numbers, and what `n = p // q` says of them
suffices: `p` is `q * n + r`, where `r` is from 0 to `q - 1`. What is linear in `p` is linear in `n`
and `r` then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from smemreuse.checker.values.interned import InternedExpr, InternTable
from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.types import INT32, INT64, NO_INTEGER, integer_type
from smemreuse.semantics.evaluate import dtype_of

Linear = dict[Hashable, int]
"""A sum: the factor of each atom, and of `ONE` the number that is added."""

ONE = "one"

OfAtom = Callable[[Expr], "Linear | None"]
"""What is to be taken for an expression that is no sum; None if nothing is."""

COMPARISONS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


def linear(expr: Expr, of_atom: OfAtom) -> Linear | None:
    """A signed expression as a sum of atoms; None if one of them is not to be had."""
    if isinstance(expr, Const):
        return {ONE: expr.value} if isinstance(expr.value, int) else None
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return of_atom(expr)
    one, two = expr.args
    if expr.op == "cast" and _holds(one, two):
        return linear(two, of_atom)
    if expr.op in ("add", "sub"):
        left, right = linear(one, of_atom), linear(two, of_atom)
        if left is None or right is None:
            return None
        return combined(left, right, 1 if expr.op == "add" else -1)
    if expr.op == "mul":
        factor, other = (one, two) if isinstance(one, Const) else (two, one)
        if isinstance(factor, Const) and isinstance(factor.value, int):
            found = linear(other, of_atom)
            return None if found is None else combined({}, found, factor.value)
    return of_atom(expr)


def _holds(dtype: Expr, operand: Expr) -> bool:
    """Whether a type has every value of an operand."""
    made = integer_type(str(dtype.value) if isinstance(dtype, Const) else NO_INTEGER)
    inside = integer_type(dtype_of(operand))
    return made in (INT32, INT64) and inside is not None and inside.is_within(made)


def combined(one: Linear, other: Linear, times: int) -> Linear:
    """One sum and a multiple of another."""
    atoms = {**one, **other}
    found = {atom: one.get(atom, 0) + times * other.get(atom, 0) for atom in atoms}
    return {atom: factor for atom, factor in found.items() if factor}


def distance(condition: Expr, of_atom: OfAtom) -> Linear | None:
    """By how much the first operand of a comparison is more than the second."""
    if not isinstance(condition, Call) or condition.op not in COMPARISONS:
        return None
    return linear(Call("sub", condition.args), of_atom)


def atoms_of(interned: InternTable) -> OfAtom:
    """Expressions as atoms: those written alike are one."""
    return lambda expr: {interned(expr): 1}


@dataclass(frozen=True)
class Rest:
    """What is left of a distance once the dividend is `divisor * quotient + r`: a sum, of
    `QUOTIENT` and other atoms, and `spread` more where `r` is at its largest (less, if
    negative)."""

    sum: Linear
    spread: int

    def ends(self, value: int) -> tuple[int, int]:
        """The least and the largest number, where the sum is worth `value`."""
        return value + min(self.spread, 0), value + max(self.spread, 0)


QUOTIENT = "quotient"


@dataclass(frozen=True)
class Quotient:
    """A length that is `dividend // divisor + offset`."""

    dividend: Linear
    divisor: int
    offset: int

    @staticmethod
    def of(length: InternedExpr, interned: InternTable) -> Quotient | None:
        """A length as a quotient; None if it is none by a positive number."""
        if interned.wraps(length):
            return None
        found = linear(length.expr, atoms_of(interned))
        atoms = [atom for atom in found or {} if isinstance(atom, InternedExpr)]
        if found is None or len(atoms) != 1 or found[atoms[0]] != 1:
            return None
        expr = atoms[0].expr
        if not isinstance(expr, Call) or expr.op != "floordiv" or len(expr.args) != 2:
            return None
        divisor = expr.args[1]
        dividend = linear(expr.args[0], atoms_of(interned))
        if dividend is None or not isinstance(divisor, Const):
            return None
        if not isinstance(divisor.value, int) or divisor.value <= 0:
            return None
        return Quotient(dividend, divisor.value, found.get(ONE, 0))

    def within(self, found: Linear) -> Rest | None:
        """A sum with one of the dividend's atoms replaced by what the quotient says of it; None if
        it has none that stands by itself."""
        for atom, sign in self.dividend.items():
            times = found.get(atom, 0) * sign
            if isinstance(atom, InternedExpr) and abs(sign) == 1 and times:
                # dividend = divisor * quotient + r, so `times * dividend` may be put in and out.
                without = combined(found, self.dividend, -times)
                return Rest(
                    combined(without, {QUOTIENT: self.divisor}, times), times * (self.divisor - 1)
                )
        return None


def decided(comparison: str, least: int, most: int) -> int | None:
    """Whether a number in these bounds compares so with 0; None if some do and some do not."""
    one, two = (int(COMPARISONS[comparison](number, 0)) for number in (least, most))
    return one if one == two else None


def tail(quotient: Quotient, found: Linear, var: Hashable, begin: int) -> int | None:
    """How many of a loop's last rounds a comparison may decide otherwise than all before; None if
    that is not known. `found` is its distance, `var` the loop's variable, which is `begin` first.

    In the round before the last `j - 1` the variable is `begin + length - j`.
    """
    rest = quotient.within(found)
    if rest is None or rest.sum.keys() - {var, QUOTIENT, ONE}:
        return None
    each = rest.sum.get(var, 0)
    if not each or rest.sum.get(QUOTIENT, 0) != -each:
        return None
    fixed = rest.sum.get(ONE, 0) + each * (begin + quotient.offset)
    least, most = rest.ends(fixed)
    # `fixed - each * j` is past 0 for every larger j, too.
    nearest = -least if each < 0 else most
    return max(nearest // abs(each), 0)
