"""Which bytes of an arena are accessed through each typed view of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from smemreuse.audit.ranges import accesses_in_ranges, with_ranges
from smemreuse.audit.separator import Separator
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var, constant
from smemreuse.ir.kernel import (
    Bind,
    Buffer,
    Evaluate,
    Kernel,
    Stmt,
    element_bits,
    expressions_of,
)
from smemreuse.semantics.accesses import Footprint
from smemreuse.semantics.bounds import Interval, bounds
from smemreuse.semantics.elements import is_typed
from smemreuse.semantics.pointers import escaping

_ANY_SIZE = Const(2**40)
"""Elements; of a view in whose bytes nothing is out of reach."""


@dataclass(frozen=True)
class ReachedBytes:
    """The bytes of an arena from `begin` up to `end`, and whether any are read and written."""

    begin: int
    end: int
    read: bool
    written: bool

    def and_(self, other: ReachedBytes) -> ReachedBytes:
        begin, end = min(self.begin, other.begin), max(self.end, other.end)
        return ReachedBytes(begin, end, self.read or other.read, self.written or other.written)

    def meets(self, other: ReachedBytes) -> bool:
        return self.begin < other.end and other.begin < self.end

    def within(self, arena: int, each: int) -> ReachedBytes:
        """What an arena of so many bytes holds of it, in elements of `each` bytes."""
        last = arena - arena % each
        begin = min(max(self.begin, 0), last)
        return replace(self, begin=begin, end=max(min(self.end, last), begin))


def reached_bytes(
    kernel: Kernel, arena: Buffer, views: Sequence[Buffer]
) -> dict[Buffer, ReachedBytes] | None:
    """The bytes of the arena accessed through each view that is used.

    None where they are unknown: an index without bounds, an address taken without a size, or a
    reference passed to a function.
    """
    if not all(
        constant(one.elem_offset) == 0 and element_bits(one.dtype) % 8 == 0 for one in views
    ):
        return None
    apart = {view: Buffer(view.name, view.dtype, (_ANY_SIZE,), arena.scope) for view in views}
    owner = {buffer: view for view, buffer in apart.items()}
    separated = Separator({}, apart, dict.fromkeys(apart, 0)).block(kernel.body)
    reached: dict[Buffer, ReachedBytes] = {}
    for stmt, known in with_ranges(separated):
        if any(one in owner or one is arena for one in _escaping(stmt)):
            return None
        for access, ranges in accesses_in_ranges(stmt, known):
            if access.buffer is arena:
                return None
            if access.buffer not in owner:
                continue
            view = owner[access.buffer]
            found = _bytes_reached(access.claimed or access.footprint, bytes_of(view), ranges)
            if found is None or access.uncovered:
                return None
            read, written = access.access is not Access.WRITE, access.access is not Access.READ
            reach = ReachedBytes(*found, read, written)
            reached[view] = reach.and_(reached.get(view, reach))
    return reached


def _bytes_reached(
    footprint: Footprint, each: int, ranges: Mapping[Var, Interval]
) -> Interval | None:
    """The first byte that a footprint may have and the one after its last, in whole elements."""
    starts = bounds(footprint.start, ranges) if footprint.start is not None else None
    if starts is None:
        return None
    further = footprint.stride * (footprint.count - 1)
    begin, end = starts[0] + min(further, 0), starts[1] + max(further, 0) + footprint.size
    return begin // each * each, -(-end // each) * each


def _escaping(stmt: Stmt) -> Iterator[Buffer | Var]:
    """What a statement hands the address of to a callee that may go anywhere from there."""
    if isinstance(stmt, Bind):
        yield from escaping(stmt)
        return
    for expr in expressions_of(stmt):
        yield from escaping(Evaluate(_without_access_pointers(expr)))


def _without_access_pointers(expr: Expr) -> Expr:
    """The expression with every typed access pointer replaced by 0."""
    if not isinstance(expr, Call):
        return expr
    if is_typed(expr) and len(expr.args) == 5 and isinstance(expr.args[1], Pointer):
        return Const(0)
    return replace(expr, args=tuple(map(_without_access_pointers, expr.args)))


def bytes_of(view: Buffer) -> int:
    """Bytes of one element of a view."""
    return element_bits(view.dtype) // 8
