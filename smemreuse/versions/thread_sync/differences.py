"""How far apart two elements are that `ThreadSync` compares, by the terms of their indices.

Terms that both have, of values that are the same for both, cancel out. From one round of a loop to
the next, what those change by that depend on the round alone is computed round by round; what
others do is known by their form, and the rest by interval arithmetic. What is shown unequal so, the
pass's solver shows as well: sums of few terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Expr, Var, constant, same, variables_in, walk
from smemreuse.semantics.bounds import Interval, bounds
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.periodic import growth

_BITWISE = ("bitwise_xor", "bitwise_or", "bitwise_and")
"""Of these the pass's own interval arithmetic knows less than ours."""

MAX_INTERVALS = 2
"""Of sums with more than one remainder or quotient that changes the solver may find no proof in its
time: TileLang 0.1.15 puts barriers between stores to swizzled tiles that never meet."""


MAX_ROUNDS, MAX_INDEX = 1 << 12, 1 << 40

_Term = tuple[int, Expr]
"""A factor, and what it is multiplied with."""


@dataclass(frozen=True)
class Indexed:
    """The index of an access, in elements of `width` bytes, and the ranges of its variables."""

    index: Expr
    width: int
    ranges: Mapping[Var, Interval]


def differences(
    one: Indexed, two: Indexed, shared: Set[Var], var: Var | None = None
) -> set[Interval] | None:
    """By how many bytes the first element begins after the second; None if that is not known.

    Variables that are `shared` have one value for both, but in the second `var` is one more.
    """
    ranges = dict(two.ranges)
    if var is not None and var in ranges:
        ranges[var] = (ranges[var][0] + 1, ranges[var][1])
    found: set[Interval] | None = {(0, 0)}
    of_round, left = list[_Term](), list(_terms(two.index, two.width))
    for term in _terms(one.index, one.width):
        at = next((at for at, other in enumerate(left) if _are_alike(term, other)), None)
        if at is None or not variables_in(term[1]) <= shared:
            found = _sums(found, term[0], _one(reach_of(term[1], one.ranges)))
            continue
        del left[at]
        if var is not None and variables_in(term[1]) == {var} and var in one.ranges:
            of_round.append(term)
        elif var is not None:
            found = _sums(found, -term[0], _points(growth(term[1], var)))
    for factor, expr in left:
        found = _sums(found, -factor, _one(reach_of(expr, ranges)))
    if found is None or var is None or not of_round:
        return found
    changes = _round_by_round(of_round, var, one.ranges[var])
    if changes is None:
        return None
    return {(low - by, high - by) for low, high in found for by in changes}


def _are_alike(one: _Term, two: _Term) -> bool:
    return one[0] == two[0] and same(one[1], two[1])


def _round_by_round(terms: Iterable[_Term], var: Var, rounds: Interval) -> set[int] | None:
    """What a sum changes by from each value of `var` to the next, all else being no part of it."""
    begin, last = rounds
    if last - begin > MAX_ROUNDS or max(-begin, last) > MAX_INDEX:
        return None
    values = np.arange(begin, last + 1)
    threads, total = Threads(np.arange(len(values)), {var: values}), np.zeros_like(values)
    for factor, expr in terms:
        value = evaluate(expr, threads)
        if value is None:
            return None
        total = total + factor * value
    return {*np.diff(total).tolist()}


def _terms(expr: Expr, factor: int) -> Iterator[_Term]:
    """The terms of which a sum consists, each with its factor."""
    if isinstance(expr, Call) and expr.op in ("add", "sub"):
        yield from _terms(expr.args[0], factor)
        yield from _terms(expr.args[1], factor if expr.op == "add" else -factor)
        return
    if isinstance(expr, Call) and expr.op == "mul":
        for number, other in (expr.args, expr.args[::-1]):
            by = constant(number)
            if by is not None:
                yield from _terms(other, factor * by)
                return
    yield factor, expr


def reach_of(expr: Expr, ranges: Mapping[Var, Interval]) -> Interval | None:
    """The least and the greatest value of an index, as far as the pass knows both."""
    is_bitwise = any(isinstance(node, Call) and node.op in _BITWISE for node in walk(expr))
    return None if is_bitwise else bounds(expr, ranges)


def _sums(
    found: set[Interval] | None, factor: int, more: Set[Interval] | None
) -> set[Interval] | None:
    """The sums of each interval that was found with each one more, times a factor."""
    if found is None or more is None or len(found) * len(more) > MAX_INTERVALS:
        return None
    scaled = [sorted((factor * low, factor * high)) for low, high in more]
    return {(low + least, high + most) for low, high in found for least, most in scaled}


def _points(values: Set[int] | None) -> set[Interval] | None:
    return None if values is None else {(value, value) for value in values}


def _one(interval: Interval | None) -> set[Interval] | None:
    return None if interval is None else {interval}
