"""What the length of a loop says of conditions in it: which of its iterations are whole.

`for i in range((end - begin + 63) // 64)` goes over tiles of 64, of which all but the last are
whole: `begin + 64 * i + 64 <= end`. Nobody knows the numbers, and what `n = p // q` says of them
suffices: `p` is `q * n + r`, where `r` is from 0 to `q - 1`. What is linear in `p` is linear in `n`
and `r` then.
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


def tail(quotient: Quotient, found: Linear, var: Hashable) -> int | None:
    """How many of a loop's last rounds a comparison may decide otherwise than all before; None if
    that is not known. `found` is its distance, `var` the number of the round, from 0.

    The round before the last `j - 1` has number `length - j`.
    """
    rest = quotient.within(found)
    if rest is None or rest.sum.keys() - {var, QUOTIENT, ONE}:
        return None
    each = rest.sum.get(var, 0)
    if not each or rest.sum.get(QUOTIENT, 0) != -each:
        return None
    fixed = rest.sum.get(ONE, 0) + each * quotient.offset
    least, most = rest.ends(fixed)
    # `fixed - each * j` is past 0 for every larger j, too.
    nearest = -least if each < 0 else most
    return max(nearest // abs(each), 0)
