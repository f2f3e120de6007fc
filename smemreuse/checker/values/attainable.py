"""Whether there are data for which a loop has so many rounds as a case assumes.

A quotient of a sum in which something that the kernel is given stands by itself is any number. Of
any other expression, such as that of a window, `min(t + 1, n) - max(t - 8, 0)`, some data are
tried: those near the number of rounds and near its multiples by the constants of the expression.
What none of them gives may be attainable all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.checker.values.cases import LARGE
from smemreuse.checker.values.interned import InternedExpr, InternTable, replaced
from smemreuse.checker.values.quotients import Quotient
from smemreuse.ir.expr import Expr, Load, Var, constant, walk
from smemreuse.ir.types import integer_type
from smemreuse.semantics.evaluate import Threads, dtype_of, evaluate, holds

MAX_GIVEN = 12
TRIED = 1 << 15
"""Data in one expression, and how many combinations of numbers are tried for them."""

MAX_FACTOR, MAX_SMALL = 1 << 12, 16


Launched = Mapping[Var, int | None]
"""The indices of threads and blocks, and how many there are; None where data decide that."""


def is_any_number(quotient: Quotient, launched: Launched) -> bool:
    """Whether a quotient is whatever the kernel is given, in a type that holds large numbers."""
    return any(
        isinstance(atom, InternedExpr)
        and isinstance(atom.expr, (Var, Load))
        and atom.expr not in launched
        and holds(dtype_of(atom.expr), LARGE)
        and abs(factor) == 1
        for atom, factor in quotient.dividend.items()
    )


def is_attainable(
    length: InternedExpr, rounds: int, interned: InternTable, launched: Launched
) -> bool:
    """Whether some data are found for which a length is this number of rounds."""
    known = interned.attained.get((length, rounds))
    if known is None:
        known = interned.attained[length, rounds] = _is_found(length, rounds, interned, launched)
    return known


def _is_found(length: InternedExpr, rounds: int, interned: InternTable, launched: Launched) -> bool:
    given = list(dict.fromkeys(map(interned, interned.reading(length.expr).leaves or ())))
    if not 0 < len(given) <= MAX_GIVEN:
        return False
    names = [Var(f"given {at}", dtype_of(leaf.expr)) for at, leaf in enumerate(given)]
    columns = np.random.default_rng(rounds).choice(_near(length.expr, rounds), (len(given), TRIED))
    exists = np.ones(TRIED, dtype=bool)
    for leaf, column in zip(given, columns, strict=True):
        kind = integer_type(dtype_of(leaf.expr))
        if kind is not None:
            exists &= (kind.least <= column) & (column <= kind.most)
        if isinstance(leaf.expr, Var) and leaf.expr in launched:
            extent = launched[leaf.expr]
            exists &= (column >= 0) & (True if extent is None else column < extent)
    data = Threads(np.arange(TRIED), dict(zip(names, columns, strict=True)))
    found = evaluate(replaced(length, dict(zip(given, names, strict=True))), data)
    return found is not None and bool(((np.asarray(found) == rounds) & exists).any())


def _near(expr: Expr, rounds: int) -> np.ndarray:
    """Numbers to be tried for whatever is given."""
    constants = {constant(node) or 0 for node in walk(expr)}
    factors = {1, *(abs(one) for one in constants if 1 < abs(one) <= MAX_FACTOR)}
    found = {factor * (rounds + more) for more in (0, -1, 1) for factor in factors}
    return np.array(sorted(found | {*range(min(rounds, MAX_SMALL))}), dtype=np.int64)
