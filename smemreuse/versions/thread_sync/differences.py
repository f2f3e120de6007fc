"""How far apart two elements are that `ThreadSync` compares, by the terms of their indices.

Terms that both have, of values that are the same for both, cancel out; what a term changes by from
one round of a loop to the next is known by its form, and the rest by interval arithmetic. What is
shown unequal so, the pass's solver shows as well: sums of few terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Expr, Var, constant, same, variables_in, walk
from smemreuse.semantics.bounds import Interval, bounds
from smemreuse.semantics.periodic import growth

_BITWISE = ("bitwise_xor", "bitwise_or", "bitwise_and")
"""Of these the pass's own interval arithmetic knows less than ours."""

MAX_INTERVALS = 2
"""Of sums with more than one remainder or quotient that changes the solver may find no proof in its
time: TileLang 0.1.15 puts barriers between stores to swizzled tiles that never meet."""


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
    left = list(_terms(two.index, two.width))
    for factor, expr in _terms(one.index, one.width):
        at = next(
            (at for at, (by, other) in enumerate(left) if by == factor and same(other, expr)), -1
        )
        if at >= 0 and variables_in(expr) <= shared:
            del left[at]
            changes = {0} if var is None else growth(expr, var)
            found = _sums(found, -factor, None if changes is None else {(by, by) for by in changes})
        else:
            found = _sums(found, factor, _one(reach_of(expr, one.ranges)))
    for factor, expr in left:
        found = _sums(found, -factor, _one(reach_of(expr, ranges)))
    return found


def _terms(expr: Expr, factor: int) -> Iterator[tuple[int, Expr]]:
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


def _one(interval: Interval | None) -> set[Interval] | None:
    return None if interval is None else {interval}
