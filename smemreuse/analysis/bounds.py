"""Interval arithmetic on index expressions: how far an access may reach."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.model.expr import Call, Expr, Var, constant
from smemreuse.model.kernel import THREAD_EXTENT, Attr, Block, For, walk_statements

Range = tuple[int, int]
"""The least and the greatest value, both inclusive."""


def variable_ranges(body: Block) -> dict[Var, Range]:
    """The values that loop variables and thread axes with constant bounds take."""
    ranges: dict[Var, Range] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and stmt.var is not None:
            extent = constant(stmt.value)
            if extent is not None and extent > 0:
                ranges[stmt.var] = (0, extent - 1)
        elif isinstance(stmt, For):
            begin, extent = constant(stmt.begin), constant(stmt.extent)
            if begin is not None and extent is not None and extent > 0:
                ranges[stmt.var] = (begin, begin + extent - 1)
    return ranges


def upper_bound(expr: Expr, ranges: Mapping[Var, Range]) -> int | None:
    """A value that `expr` never exceeds; None if none is known."""
    found = bounds(expr, ranges)
    return None if found is None else found[1]


def bounds(expr: Expr, ranges: Mapping[Var, Range]) -> Range | None:
    """The least and greatest value that `expr` may have; None where it is not known."""
    value = constant(expr)
    if value is not None:
        return (value, value)
    if isinstance(expr, Var):
        return ranges.get(expr)
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return None
    left, right = (bounds(arg, ranges) for arg in expr.args)
    if expr.op == "floormod" and right is not None and right[0] == right[1] > 0:
        inside = left is not None and left[0] >= 0 and left[1] < right[0]
        return left if inside else (0, right[0] - 1)
    if left is None or right is None:
        return None
    return _combine(expr.op, left, right)


def _combine(op: str, left: Range, right: Range) -> Range | None:
    if op == "add":
        return (left[0] + right[0], left[1] + right[1])
    if op == "sub":
        return (left[0] - right[1], left[1] - right[0])
    if op == "mul":
        products = [a * b for a in left for b in right]
        return (min(products), max(products))
    if op == "floordiv" and right[0] > 0:
        quotients = [a // b for a in left for b in right]
        return (min(quotients), max(quotients))
    if op in ("min", "max"):
        choose = min if op == "min" else max
        return (choose(left[0], right[0]), choose(left[1], right[1]))
    if op in ("bitwise_xor", "bitwise_or") and min(left[0], right[0]) >= 0:
        bits = max(left[1], right[1]).bit_length()
        return (0, (1 << bits) - 1)
    return None
