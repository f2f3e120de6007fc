"""Typed views of one arena whose offsets are in the indices, as Apache TVM's merge leaves them.

Which elements of a view are its buffer's is written nowhere; what it accesses is. The bytes between
the least and the greatest element that any access may reach become an allocation again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from smemreuse.analysis.bounds import bounds, variable_ranges
from smemreuse.audit.layout import AppliedLayout, arenas_of, beyond_arena
from smemreuse.audit.separator import Separator
from smemreuse.ir.expr import Const, Expr, Load, constant, walk
from smemreuse.ir.kernel import (
    Buffer,
    Declare,
    Kernel,
    Stmt,
    Store,
    element_bits,
    expressions_of,
    walk_statements,
)
from smemreuse.semantics.elements import flat_index
from smemreuse.semantics.pointers import escaping


def arena_of_views(kernel: Kernel, scope: str) -> Buffer | None:
    """The only allocation of a scope, if it is of bytes and several views begin at it."""
    arenas = arenas_of(kernel, scope)
    if len(kernel.allocations(scope)) != 1 or not arenas:
        return None
    (arena,) = arenas
    return arena if len(_views(kernel, arena)) > 1 else None


def _views(kernel: Kernel, arena: Buffer) -> list[Buffer]:
    declared = (stmt.buffer for stmt in walk_statements(kernel.body) if isinstance(stmt, Declare))
    return list(dict.fromkeys(view for view in declared if view.storage is arena))


def view_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout that the indices into the views of an arena tell.

    None if there is no such arena, or an access may be anywhere in it.
    """
    arena = arena_of_views(kernel, scope)
    if arena is None:
        return None
    reached = _reached(kernel, arena)
    if reached is None:
        return None
    within, beyond = _within(reached, arena.size or 0)
    buffers = {
        view: Buffer(view.name, view.dtype, (Const(end - begin),), scope, line=view.line)
        for view, (begin, end) in within.items()
    }
    origins = {view: begin for view, (begin, _) in within.items()}
    body = Separator({}, buffers, origins).block(kernel.body)
    offsets = {buffers[view]: origins[view] * _bytes_of(view) for view in buffers}
    kernel = replace(kernel, body=body)
    return AppliedLayout(kernel, offsets, arena.size or 0, by_view=True, beyond=tuple(beyond))


def _within(
    reached: Mapping[Buffer, tuple[int, int]], arena: int
) -> tuple[dict[Buffer, tuple[int, int]], list[str]]:
    """The elements of each view that the arena holds, and of which views there may be more."""
    within, beyond = {}, []
    for view, (begin, end) in reached.items():
        each = _bytes_of(view)
        first = min(max(begin, 0), arena // each)
        within[view] = (first, max(min(end, arena // each), first))
        if within[view] != (begin, end):
            beyond.append(beyond_arena(view.name, begin * each, end * each, arena))
    return within, beyond


def _reached(kernel: Kernel, arena: Buffer) -> dict[Buffer, tuple[int, int]] | None:
    """For each view that is used, the first element that is accessed and the one behind the last.

    None where one is not known, or where an address is taken or a reference handed on: what happens
    there is not written.
    """
    ranges, views = variable_ranges(kernel.body), _views(kernel, arena)
    reached: dict[Buffer, tuple[int, int]] = {}
    for stmt in walk_statements(kernel.body):
        if arena in escaping(stmt):
            return None
        for buffer, index in _accesses(stmt):
            if buffer.storage is not arena:
                continue
            found = bounds(index, ranges) if buffer in views else None
            whole_bytes = element_bits(buffer.dtype) % 8 == 0
            if found is None or not whole_bytes or constant(buffer.elem_offset) != 0:
                return None
            begin, end = reached.get(buffer, (found[0], found[1] + 1))
            reached[buffer] = (min(begin, found[0]), max(end, found[1] + 1))
    return reached


def _accesses(stmt: Stmt) -> Iterator[tuple[Buffer, Expr]]:
    """Buffers that a statement accesses, and at which element."""
    if isinstance(stmt, Store):
        yield stmt.buffer, flat_index(stmt.buffer, stmt.indices)
    for node in (node for expr in expressions_of(stmt) for node in walk(expr)):
        if isinstance(node, Load):
            yield node.buffer, flat_index(node.buffer, node.indices)


def _bytes_of(view: Buffer) -> int:
    return element_bits(view.dtype) // 8
