"""Which barrier `ThreadSync` puts into a branch: one of the threads there, or the block's.

TileLang's pass takes the bounds of threadIdx.x in the branch from the arithmetic analyzer. Where it
finds none, the barrier stays one of all threads, in a branch that only some of them enter. Of a
condition that holds the analyzer uses comparisons of the index itself with a constant. One that
does not hold is negated and simplified first, which also solves what is linear in the index or a
quotient of it. Found with the pass of TileLang 0.1.15, condition by condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from enum import Enum

from smemreuse.ir.expr import Call, Expr, Var, constant, variables_in

_ORDERED = frozenset({"lt", "le", "gt", "ge"})
_MONOTONE = frozenset({"add", "sub", "mul", "floordiv"})


class Participants(Enum):
    """Who has to come to a barrier of the pass."""

    ALL = "all threads, where neither is in a branch of some, or not in the same one"
    BRANCH = "the threads of the branch that both are in"
    ALL_IN_BRANCH = "all threads, in a branch that only some may enter"


def participants_in(branches: Iterable[tuple[Expr, bool]], indices: Set[Var]) -> Participants:
    """Who has to come to a barrier inside of branches, each with its condition and whether that
    holds there; `indices` are those of the threads."""
    found = Participants.ALL
    for condition, holds in branches:
        if indices.isdisjoint(variables_in(condition)):
            continue
        if not are_recognized(condition, holds, indices):
            return Participants.ALL_IN_BRANCH
        found = Participants.BRANCH
    return found


def are_recognized(condition: Expr, holds: bool, indices: Set[Var]) -> bool:
    """Whether the pass surely knows the threads for which a condition on their `indices` holds, or
    does not.

    Each part of a conjunction must be recognized: of a named barrier that one part is recognized
    for, the others may keep threads away. A `not` that is written there is simplified no further
    than to its own comparison.
    """
    if not isinstance(condition, Call):
        return False
    if condition.op == ("and" if holds else "or"):
        return all(are_recognized(part, holds, indices) for part in condition.args)
    negated = condition.op == "not"
    compared = condition.args[0] if negated else condition
    if not isinstance(compared, Call) or len(compared.args) != 2:
        return False
    if negated and compared.op not in _ORDERED:
        return False
    return _bounds_index(compared, indices) if holds else _is_solved(compared, indices)


def _bounds_index(comparison: Call, indices: Set[Var]) -> bool:
    """Whether the analyzer takes a bound of an index from a comparison as it stands. Of those with
    the number first it knows all but `number >= index`."""
    left, right = comparison.args
    if constant(left) is not None:
        return comparison.op in {*_ORDERED, "eq"} - {"ge"} and right in indices
    return constant(right) is not None and comparison.op in {*_ORDERED, "eq"} and left in indices


def _is_solved(comparison: Call, indices: Set[Var]) -> bool:
    """Whether the simplifier makes bounds of an index of a comparison that does not hold."""
    left, right = comparison.args
    if constant(left) is not None:
        left, right = right, left
    number = constant(right)
    if number is None or not _is_monotone(left, indices):
        return False
    is_quotient = isinstance(left, Call) and left.op == "floordiv"
    return (
        comparison.op in _ORDERED
        or (comparison.op == "eq" and number == 0)
        or (comparison.op == "ne" and number == 0 and is_quotient)
    )


def _is_monotone(expr: Expr, indices: Set[Var]) -> bool:
    """Whether an expression grows, or falls, with one index alone."""
    if isinstance(expr, Var):
        return expr in indices
    if not isinstance(expr, Call) or expr.op not in _MONOTONE or len(expr.args) != 2:
        return False
    left, right = expr.args
    if constant(left) is not None and expr.op != "floordiv":
        left, right = right, left
    return constant(right) is not None and _is_monotone(left, indices)
