"""Whether there are data for which loops have so many rounds as a case assumes.

A quotient of a sum in which something that the kernel is given stands by itself, and nowhere else,
is any number. Of any other expression, such as that of a window, `min(t + 1, n) - max(t - 8, 0)`,
some data are tried: those near the number of rounds and near its multiples by the constants of the
expression. What none of them gives may be attainable all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

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


def free_data(
    quotient: Quotient, interned: InternTable, launched: Launched
) -> tuple[InternedExpr, ...]:
    """What the kernel is given that alone makes a quotient any number: it stands by itself, in a
    type that holds large numbers, and is in nothing else of the dividend."""
    atoms = [atom for atom in quotient.dividend if isinstance(atom, InternedExpr)]
    return tuple(
        atom
        for atom in atoms
        if isinstance(atom.expr, (Var, Load))
        and atom.expr not in launched
        and holds(dtype_of(atom.expr), LARGE)
        and abs(quotient.dividend[atom]) == 1
        and not any(atom in interned.parts(other) for other in atoms if other is not atom)
    )


def are_attainable(
    lengths: Mapping[InternedExpr, int],
    free: Callable[[InternedExpr], Collection[InternedExpr]],
    interned: InternTable,
    launched: Launched,
) -> bool:
    """Whether some data are found for which each of some lengths is its number of rounds.

    `free`: what alone makes a length any number. A length is so whatever the others are, if it has
    something free that is in none of them.
    """
    left = dict(lengths)
    while bound := [one for one in left if not _is_free(one, free(one), left, interned)]:
        if len(bound) == len(left):
            return _is_attainable(left, interned, launched)
        left = {one: left[one] for one in bound}
    return True


def _is_free(
    length: InternedExpr,
    free: Collection[InternedExpr],
    among: Collection[InternedExpr],
    interned: InternTable,
) -> bool:
    others = {part for one in among if one is not length for part in interned.parts(one)}
    return any(one not in others for one in free)


def _is_attainable(
    lengths: Mapping[InternedExpr, int], interned: InternTable, launched: Launched
) -> bool:
    asked = frozenset(lengths.items())
    known = interned.attained.get(asked)
    if known is None:
        known = interned.attained[asked] = _is_found(lengths, interned, launched)
    return known


def _is_found(
    lengths: Mapping[InternedExpr, int], interned: InternTable, launched: Launched
) -> bool:
    read = (leaf for one in lengths for leaf in interned.reading(one.expr).leaves or ())
    given = list(dict.fromkeys(map(interned, read)))
    if not 0 < len(given) <= MAX_GIVEN:
        return False
    names = [Var(f"given {at}", dtype_of(leaf.expr)) for at, leaf in enumerate(given)]
    near = np.array([0])
    for length, rounds in lengths.items():  # one datum may be in several, so sums are tried, too
        its = _near(length.expr, rounds)
        near = np.unique(np.concatenate((near, its, np.add.outer(near, its).ravel())))
    columns = np.random.default_rng([*lengths.values()]).choice(near, (len(given), TRIED))
    exists = np.ones(TRIED, dtype=bool)
    for leaf, column in zip(given, columns, strict=True):
        kind = integer_type(dtype_of(leaf.expr))
        if kind is not None:
            exists &= (kind.least <= column) & (column <= kind.most)
        if isinstance(leaf.expr, Var) and leaf.expr in launched:
            extent = launched[leaf.expr]
            exists &= (column >= 0) & (True if extent is None else column < extent)
    data = Threads(np.arange(TRIED), dict(zip(names, columns, strict=True)))
    values = dict(zip(given, names, strict=True))
    for length, rounds in lengths.items():
        found = evaluate(replaced(length, values), data)
        if found is None:
            return False
        exists &= np.asarray(found) == rounds
    return bool(exists.any())


def _near(expr: Expr, rounds: int) -> np.ndarray:
    """Numbers to be tried for whatever is given."""
    constants = {constant(node) or 0 for node in walk(expr)}
    factors = {1, *(abs(one) for one in constants if 1 < abs(one) <= MAX_FACTOR)}
    found = {factor * (rounds + more) for more in (0, -1, 1) for factor in factors}
    return np.array(sorted(found | {*range(min(rounds, MAX_SMALL))}), dtype=np.int64)
