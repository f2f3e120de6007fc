"""Ranges of variables at each statement, from launches, loops and path conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from smemreuse.ir.expr import Call, Expr, Var, constant
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
    Attr,
    Bind,
    Block,
    For,
    If,
    Stmt,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess, accesses_of
from smemreuse.semantics.bounds import Interval, bounds
from smemreuse.semantics.guards import guards_within
from smemreuse.semantics.pointers import Pointers

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


@dataclass(frozen=True)
class VariableRanges:
    """Ranges of variables, and the values of bound variables, in binding order."""

    ranges: Mapping[Var, Interval] = field(default_factory=dict)
    values: Mapping[Var, Expr] = field(default_factory=dict)

    def within(self, var: Var, found: Interval | None) -> VariableRanges:
        """The same with a range for a variable; None forgets it."""
        ranges = {known: each for known, each in self.ranges.items() if known is not var}
        return VariableRanges(ranges if found is None else {**ranges, var: found}, self.values)

    def binding(self, var: Var, value: Expr) -> VariableRanges:
        known = self.within(var, bounds(value, self.ranges))
        return VariableRanges(known.ranges, {**self.values, var: value})

    def where(self, condition: Expr, *, holds: bool) -> VariableRanges:
        """The ranges in one arm of a branch, narrowed by its comparisons with constants."""
        if not isinstance(condition, Call):
            return self
        if condition.op == ("and" if holds else "or"):
            left, right = condition.args
            return self.where(left, holds=holds).where(right, holds=holds)
        if condition.op in ("likely", "not") and len(condition.args) == 1:
            return self.where(condition.args[0], holds=holds == (condition.op == "likely"))
        if len(condition.args) != 2:
            return self
        op: str | None = condition.op if holds else _NEGATED.get(condition.op)
        var, limit = condition.args
        if not isinstance(var, Var):
            var, limit, op = limit, var, _MIRRORED.get(op or "")
        number = constant(limit)
        known = self.ranges.get(var) if isinstance(var, Var) else None
        if not isinstance(var, Var) or number is None or known is None:
            return self
        return self._narrowed(var, _meet(known, op, number))

    def _narrowed(self, var: Var, found: Interval) -> VariableRanges:
        """The same with less for a variable, and for all that is computed from it."""
        known = self.within(var, found)
        for bound, value in self.values.items():
            again, before = bounds(value, known.ranges), known.ranges.get(bound)
            if again is not None and before is not None and bound is not var:
                both = (max(again[0], before[0]), min(again[1], before[1]))
                known = known.within(bound, both if both[0] <= both[1] else before)
        return known


def _meet(known: Interval, op: str | None, number: int) -> Interval:
    """The part of a range in which `variable op number` holds; all of it if that is empty or
    unknown.
    """
    low, high = known
    if op in ("lt", "le", "eq"):
        high = min(high, number - (op == "lt"))
    if op in ("gt", "ge", "eq"):
        low = max(low, number + (op == "gt"))
    return (low, high) if low <= high else known


def accesses_in_ranges(
    stmt: Stmt, known: VariableRanges
) -> Iterator[tuple[MemoryAccess, Mapping[Var, Interval]]]:
    """The accesses of a statement, each with the ranges under the conditions inside its
    expressions."""
    guards = guards_within(stmt)
    for access in accesses_of(stmt, Pointers()):
        inside = known
        for condition, holds in guards.get(id(access.node), ()):
            inside = inside.where(condition, holds=holds)
        yield access, inside.ranges


def with_ranges(body: Block) -> Iterator[tuple[Stmt, VariableRanges]]:
    """Every statement of a kernel in program order, with the known ranges of variables there.

    Variables that are bound more than once have no range.
    """
    binds = Counter(stmt.var for stmt in walk_statements(body) if isinstance(stmt, Bind))
    yield from _block(body, VariableRanges(), {var for var, count in binds.items() if count == 1})


def _block(
    block: Block, known: VariableRanges, once: Collection[Var]
) -> Iterator[tuple[Stmt, VariableRanges]]:
    """The statements of a block with their ranges; `once` are the variables that are bound only
    once.
    """
    for stmt in block:
        yield stmt, known
        if isinstance(stmt, Bind) and stmt.var in once:
            known = known.binding(stmt.var, stmt.value)
        elif isinstance(stmt, If):
            yield from _block(stmt.then, known.where(stmt.condition, holds=True), once)
            yield from _block(stmt.orelse, known.where(stmt.condition, holds=False), once)
        else:
            inside = _entered(stmt, known)
            for inner in nested_blocks(stmt):
                yield from _block(inner, inside, once)


def _entered(stmt: Stmt, known: VariableRanges) -> VariableRanges:
    """The ranges inside a statement: a loop's variable or a thread axis gets the range of its
    extent.
    """
    if isinstance(stmt, For):
        begin, extent = bounds(stmt.begin, known.ranges), bounds(stmt.extent, known.ranges)
        if begin is None or extent is None or extent[1] <= 0:
            return known.within(stmt.var, None)
        return known.within(stmt.var, (begin[0], begin[1] + extent[1] - 1))
    if isinstance(stmt, Attr) and stmt.key in (THREAD_EXTENT, VIRTUAL_THREAD) and stmt.var:
        count = constant(stmt.value)
        return known.within(stmt.var, (0, count - 1) if count is not None and count > 0 else None)
    return known
