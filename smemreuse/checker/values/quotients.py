"""What the length of a loop says of conditions in it: which of its iterations are whole.

`for i in range((end - begin + 63) // 64)` goes over tiles of 64, of which all but the last are
whole: `begin + 64 * i + 64 <= end`. Nobody knows the numbers, and what `n = p // q` says of them
suffices: `p` is `q * n + r`, where `r` is from 0 to `q - 1`. What is linear in `p` is linear in `n`
and `r` then. A loop that goes over the tiles from the last one on has a first that is not whole.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from smemreuse.checker.values.interned import InternedExpr, InternTable
from smemreuse.checker.values.linear import COMPARISONS, ONE, Linear, OfAtom, combined, linear
from smemreuse.ir.expr import Call, Const


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
    """A length that is `dividend // divisor + offset`; `atom` is the division, where there is
    one."""

    dividend: Linear
    divisor: int
    offset: int
    atom: InternedExpr | None = None

    @staticmethod
    def of(length: InternedExpr, interned: InternTable) -> Quotient | None:
        """A length as a quotient by a positive number, which may be 1; None if it is none."""
        if interned.wraps(length):
            return None
        found = linear(length.expr, atoms_of(interned))
        if found is None:
            return None
        atoms = [atom for atom in found if isinstance(atom, InternedExpr)]
        expr = atoms[0].expr if len(atoms) == 1 and found[atoms[0]] == 1 else None
        if not isinstance(expr, Call) or expr.op != "floordiv" or len(expr.args) != 2:
            by_itself: Linear = {atom: found[atom] for atom in atoms}
            return Quotient(by_itself, 1, found.get(ONE, 0))
        divisor = expr.args[1]
        dividend = linear(expr.args[0], atoms_of(interned))
        if dividend is None or not isinstance(divisor, Const):
            return None
        if not isinstance(divisor.value, int) or divisor.value <= 0:
            return None
        return Quotient(dividend, divisor.value, found.get(ONE, 0), atoms[0])

    def within(self, found: Linear) -> Rest:
        """A sum with the quotient in place of the division, and one of the dividend's atoms, if it
        has one that stands by itself, replaced by what the quotient says of it."""
        if self.atom in found:
            others = {atom: factor for atom, factor in found.items() if atom != self.atom}
            found = combined(others, {QUOTIENT: 1}, found[self.atom])
        for atom, sign in self.dividend.items():
            times = found.get(atom, 0) * sign
            if isinstance(atom, InternedExpr) and abs(sign) == 1 and times:
                # dividend = divisor * quotient + r, so `times * dividend` may be put in and out.
                without = combined(found, self.dividend, -times)
                return Rest(
                    combined(without, {QUOTIENT: self.divisor}, times), times * (self.divisor - 1)
                )
        return Rest(found, 0)


def difference(one: Quotient, other: Quotient) -> tuple[int, int] | None:
    """The least and the largest number that one is more than the other; None if that is unknown.
    `(p + c) // q` is `c // q` more than `p // q`, or one more than that."""
    found = combined(one.dividend, other.dividend, -1)
    if one.divisor != other.divisor or found.keys() - {ONE}:
        return None
    whole, rest = divmod(found.get(ONE, 0), one.divisor)
    least = whole + one.offset - other.offset
    return least, least + (1 if rest else 0)


def decided(comparison: str, least: int, most: int) -> int | None:
    """Whether a number in these bounds compares so with 0; None if some do and some do not."""
    one, two = (int(COMPARISONS[comparison](number, 0)) for number in (least, most))
    return one if one == two else None


@dataclass(frozen=True)
class Edges:
    """How many of a loop's first rounds, and of its last, a comparison may decide otherwise than
    all between them."""

    head: int = 0
    tail: int = 0

    def __or__(self, other: Edges) -> Edges:
        """Those of two comparisons."""
        return Edges(max(self.head, other.head), max(self.tail, other.tail))


def edges(
    quotient: Quotient, found: Linear, var: Hashable, more: tuple[int, int] = (0, 0)
) -> Edges | None:
    """Those of a comparison; None if they are not known. `found` is its distance, to which threads
    may add what lies in `more`; `var` is the number of the round, from 0.

    The round before the last `j - 1` has number `length - j`.
    """
    rest = quotient.within(found)
    each, of_all = rest.sum.get(var, 0), rest.sum.get(QUOTIENT, 0)
    if rest.sum.keys() - {var, QUOTIENT, ONE} or not each:
        return None
    if of_all == -each:
        # `fixed - each * j` is past 0 for every larger j, too.
        least, most = rest.ends(rest.sum.get(ONE, 0) + each * quotient.offset)
        farthest = -(least + more[0]) if each < 0 else most + more[1]
        return Edges(tail=max(farthest // abs(each), 0))
    if not of_all:
        least, most = rest.ends(rest.sum.get(ONE, 0))
        farthest = -(least + more[0]) if each > 0 else most + more[1]
        return Edges(head=max(farthest // abs(each) + 1, 0))
    return None
