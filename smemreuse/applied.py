"""Recovers the plan that a compiler already applied: one arena, and pointers into it.

TileLang's merge leaves `As = handle_add_byte_offset(arena, 512)` where there was an allocation.
Here each such pointer becomes an allocation again, so that the checker can audit the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from smemreuse.analysis.bounds import upper_bound, variable_ranges
from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.model.intrinsics import accesses_of
from smemreuse.model.kernel import (
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    walk_statements,
)
from smemreuse.model.pointers import Pointers, address_of

_BYTES = ("uint8", "int8")
UNKNOWN_SIZE = 2**40
"""Bytes; stands for a reach that is not known until it is cut to what the arena holds."""


@dataclass(frozen=True)
class AppliedLayout:
    """A merged kernel with its buffers apart again, and where the compiler had put them (bytes)."""

    kernel: Kernel
    offsets: Mapping[Buffer, int]
    arena: int


def applied_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout found in a merged kernel; None if nothing of `scope` is merged in it.

    The size of a buffer that no view declares is what its accesses reach, or, where that is not
    known, all of the arena behind its offset.
    """
    arenas = {
        buffer: buffer.size
        for buffer in kernel.allocations(scope)
        if buffer.dtype in _BYTES and buffer.size is not None
    }
    pointers: dict[Var, tuple[Buffer, int]] = {}
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Bind):
            place = address_of(stmt.value, Pointers())
            if place is not None and place.buffer in arenas and isinstance(place.offset, Const):
                pointers[stmt.var] = (place.buffer, int(place.offset.value))
    if not pointers:
        return None
    sizes = _sizes(kernel, pointers, arenas)
    buffers = {
        var: Buffer(
            var.name.removesuffix("_ptr"),  # as `smemreuse apply` names its pointers
            "uint8",
            (Const(sizes[var]),),
            scope,
            line=_line(kernel, var),
        )
        for var in pointers
    }
    arena = max(arenas[buffer] or 0 for buffer, _ in pointers.values())
    body = _Separator(buffers).block(kernel.body)
    offsets = {buffers[var]: offset for var, (_, offset) in pointers.items()}
    return AppliedLayout(replace(kernel, body=body), offsets, arena)


def inseparable_arenas(kernel: Kernel, scope: str) -> list[Buffer]:
    """Allocations of bytes that several typed views start at: a merge with the offsets in indices.

    TVM before 2026 merged so; which elements belonged to which buffer is not written there.
    """
    views: dict[Buffer | Var, set[str]] = {}
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Declare) and stmt.buffer.dtype not in _BYTES:
            views.setdefault(stmt.buffer.storage, set()).add(stmt.buffer.name)
    return [
        buffer
        for buffer in kernel.allocations(scope)
        if buffer.dtype in _BYTES and len(views.get(buffer, ())) > 1
    ]


def _line(kernel: Kernel, var: Var) -> int | None:
    binds = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, Bind))
    return next((stmt.line for stmt in binds if stmt.var is var), None)


def _sizes(
    kernel: Kernel,
    pointers: Mapping[Var, tuple[Buffer, int]],
    arenas: Mapping[Buffer, int | None],
) -> dict[Var, int]:
    """Bytes of each buffer: what its views declare or its accesses reach, within the arena."""
    ranges = variable_ranges(kernel.body)
    reach = dict.fromkeys(pointers, 0)
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Declare) and isinstance(stmt.buffer.storage, Var):
            var = stmt.buffer.storage
            if var in reach and stmt.buffer.size is not None:
                reach[var] = max(reach[var], stmt.buffer.size)
    separator = _Separator(
        {
            var: Buffer(var.name, "uint8", (Const(UNKNOWN_SIZE),), arena.scope)
            for var, (arena, _) in pointers.items()
        }
    )
    owner = {buffer: var for var, buffer in separator.buffers.items()}
    for stmt in walk_statements(separator.block(kernel.body)):
        for access in accesses_of(stmt, Pointers()):
            reached = owner.get(access.buffer)
            if reached is None:
                continue
            footprint = access.claimed or access.footprint
            start = footprint.start
            first = upper_bound(start, ranges) if start is not None else None
            if first is None:
                # In Apache TVM the view is the buffer's definition; elsewhere it may be of a part.
                if kernel.dialect != "tvm" or not reach[reached]:
                    reach[reached] = UNKNOWN_SIZE
            else:
                last = first + footprint.stride * (footprint.count - 1) + footprint.size
                reach[reached] = max(reach[reached], last)
    return {
        var: min(reach[var], (arenas[arena] or 0) - offset)
        for var, (arena, offset) in pointers.items()
    }


class _Separator:
    """Puts allocations in the place of pointers into an arena."""

    def __init__(self, buffers: Mapping[Var, Buffer]):
        self.buffers = buffers
        self._views: dict[Buffer, Buffer] = {}

    def block(self, block: Block) -> Block:
        return tuple(self._statement(stmt) for stmt in block)

    def _statement(self, stmt: Stmt) -> Stmt:
        expr = self._expr
        if isinstance(stmt, Bind) and stmt.var in self.buffers:
            return Allocate(self.buffers[stmt.var], stmt.line)
        if isinstance(stmt, Declare):
            return replace(stmt, buffer=self._buffer(stmt.buffer))
        if isinstance(stmt, (Bind, Evaluate)):
            return replace(stmt, value=expr(stmt.value))
        if isinstance(stmt, Store):
            return replace(
                stmt,
                buffer=self._buffer(stmt.buffer),
                indices=tuple(map(expr, stmt.indices)),
                value=expr(stmt.value),
            )
        if isinstance(stmt, (While, Assert)):
            return replace(stmt, condition=expr(stmt.condition), body=self.block(stmt.body))
        if isinstance(stmt, For):
            return replace(stmt, extent=expr(stmt.extent), body=self.block(stmt.body))
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then), self.block(stmt.orelse)
            return replace(stmt, condition=expr(stmt.condition), then=then, orelse=orelse)
        if isinstance(stmt, Attr):
            return replace(stmt, value=expr(stmt.value), body=self.block(stmt.body))
        return stmt

    def _buffer(self, buffer: Buffer) -> Buffer:
        if isinstance(buffer.data, Var) and buffer.data in self.buffers:
            known = self._views.get(buffer)
            if known is None:
                known = self._views[buffer] = replace(buffer, data=self.buffers[buffer.data])
            return known
        if isinstance(buffer.data, Buffer):
            known = self._views.get(buffer)
            if known is None:
                data = self._buffer(buffer.data)
                changed = data is not buffer.data
                known = self._views[buffer] = replace(buffer, data=data) if changed else buffer
            return known
        return buffer

    def _expr(self, expr: Expr) -> Expr:
        rebuild: Callable[[Expr], Expr] = self._expr
        if isinstance(expr, Var):
            return Pointer(self.buffers[expr]) if expr in self.buffers else expr
        if isinstance(expr, Pointer):
            return Pointer(self._buffer(expr.buffer))
        if isinstance(expr, Load):
            predicate = rebuild(expr.predicate) if expr.predicate is not None else None
            indices = tuple(map(rebuild, expr.indices))
            return Load(self._buffer(expr.buffer), indices, predicate)
        if isinstance(expr, Call):
            return Call(expr.op, tuple(map(rebuild, expr.args)))
        return expr
