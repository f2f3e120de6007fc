"""Typed views of one arena whose offsets are in the indices, as Apache TVM's merge leaves them.

Which bytes of the arena are a view's is written nowhere; what is accessed through it is. The bytes
between the first and the last that any access may reach become an allocation again, one for all
views that are of one buffer (`same_buffer.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smemreuse.audit.layout import AppliedLayout, beyond_arena, byte_allocations
from smemreuse.audit.reach import ReachedBytes, bytes_of, reached_bytes
from smemreuse.audit.same_buffer import Groups, one_buffer_each
from smemreuse.audit.separator import Separator
from smemreuse.ir.expr import Call, Const, Pointer
from smemreuse.ir.kernel import Buffer, Declare, Kernel, nodes_of, walk_statements
from smemreuse.semantics.elements import is_typed, pointee_bits


def arena_of_views(kernel: Kernel, scope: str) -> Buffer | None:
    """The only allocation of a scope, if it is of bytes and several views begin at it."""
    arenas = byte_allocations(kernel, scope)
    if len(kernel.allocations(scope)) != 1 or not arenas:
        return None
    (arena,) = arenas
    return arena if len(_views(kernel, arena)) > 1 else None


def _views(kernel: Kernel, arena: Buffer) -> list[Buffer]:
    declared = (stmt.buffer for stmt in walk_statements(kernel.body) if isinstance(stmt, Declare))
    return list(dict.fromkeys(view for view in declared if view.storage is arena))


def view_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout implied by the accesses through the views of an arena.

    None if there is no such arena, its size is not known, or an access may be anywhere in it.
    """
    arena = arena_of_views(kernel, scope)
    if arena is None or arena.size is None:
        return None
    reached = reached_bytes(kernel, arena, _views(kernel, arena))
    if reached is None:
        return None
    size = arena.size
    within = {view: reach.within(size, bytes_of(view)) for view, reach in reached.items()}
    beyond = tuple(
        beyond_arena(view.name, reach.begin, reach.end, size)
        for view, reach in reached.items()
        if (within[view].begin, within[view].end) != (reach.begin, reach.end)
    )

    def separated(groups: Groups) -> AppliedLayout | None:
        return _separated(kernel, scope, size, groups, within)

    found = one_buffer_each(within, scope, separated)
    if found is None:
        return None
    return replace(found.layout, beyond=(*beyond, *found.doubts), assumed=found.assumed)


def _separated(
    kernel: Kernel, scope: str, arena: int, groups: Groups, within: Mapping[Buffer, ReachedBytes]
) -> AppliedLayout | None:
    """The kernel with a buffer for each group of views; None where they do not fit together."""
    buffers: dict[Buffer, Buffer] = {}
    origins: dict[Buffer, int] = {}
    for views in groups:
        begin = min(within[view].begin for view in views)
        end = max(within[view].end for view in views)
        first, each = views[0], bytes_of(views[0])
        if end % each or any(begin % bytes_of(view) for view in views):
            return None
        shape = (Const((end - begin) // each),)
        buffer = Buffer(first.name, first.dtype, shape, scope, line=first.line)
        buffers |= dict.fromkeys(views, buffer)
        origins |= dict.fromkeys(views, begin)
    if not _pointers_reach(kernel, origins):
        return None
    body = Separator({}, buffers, origins).block(kernel.body)
    offsets = {buffers[view]: origin for view, origin in origins.items()}
    return AppliedLayout(replace(kernel, body=body), offsets, arena, by_view=True)


def _pointers_reach(kernel: Kernel, origins: Mapping[Buffer, int]) -> bool:
    """Whether every view begins at a multiple of the elements that its access pointers count."""
    return all(
        origins[node.args[1].buffer] * 8 % pointee_bits(node) == 0
        for stmt in walk_statements(kernel.body)
        for node in nodes_of(stmt)
        if isinstance(node, Call) and is_typed(node) and isinstance(node.args[1], Pointer)
        if node.args[1].buffer in origins
    )
