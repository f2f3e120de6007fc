"""Pointers into one arena, as TileLang's merge leaves them.

There is `As = handle_add_byte_offset(arena, 512)` where there was an allocation. Here each such
pointer becomes an allocation again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smemreuse.analysis.bounds import upper_bound, variable_ranges
from smemreuse.applied.layout import AppliedLayout, arenas_of
from smemreuse.applied.separator import Separator
from smemreuse.model.expr import Const, Var
from smemreuse.model.intrinsics import accesses_of
from smemreuse.model.kernel import Bind, Buffer, Declare, Kernel, walk_statements
from smemreuse.model.pointers import Pointers, address_of

UNKNOWN_SIZE = 2**40
"""Bytes; stands for a reach that is not known until it is cut to what the arena holds."""


def pointer_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout that pointers tell; None if there are none into an arena of `scope`.

    The size of a buffer that no view declares is what its accesses reach, or, where that is not
    known, all of the arena behind its offset.
    """
    arenas = arenas_of(kernel, scope)
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
    arena = max(arenas[buffer] for buffer, _ in pointers.values())
    body = Separator(buffers).block(kernel.body)
    offsets = {buffers[var]: offset for var, (_, offset) in pointers.items()}
    return AppliedLayout(replace(kernel, body=body), offsets, arena)


def _line(kernel: Kernel, var: Var) -> int | None:
    binds = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, Bind))
    return next((stmt.line for stmt in binds if stmt.var is var), None)


def _sizes(
    kernel: Kernel,
    pointers: Mapping[Var, tuple[Buffer, int]],
    arenas: Mapping[Buffer, int],
) -> dict[Var, int]:
    """Bytes of each buffer: what its views declare or its accesses reach, within the arena."""
    ranges = variable_ranges(kernel.body)
    reach = dict.fromkeys(pointers, 0)
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Declare) and isinstance(stmt.buffer.storage, Var):
            var = stmt.buffer.storage
            if var in reach and stmt.buffer.size is not None:
                reach[var] = max(reach[var], stmt.buffer.size)
    separator = Separator(
        {
            var: Buffer(var.name, "uint8", (Const(UNKNOWN_SIZE),), arena.scope)
            for var, (arena, _) in pointers.items()
        }
    )
    owner = {buffer: var for var, buffer in separator.pointers.items()}
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
        var: min(reach[var], arenas[arena] - offset) for var, (arena, offset) in pointers.items()
    }
