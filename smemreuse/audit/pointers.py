"""Pointers into one arena, as TileLang's merge leaves them.

There is `As = handle_add_byte_offset(arena, 512)` where there was an allocation. Here each such
pointer becomes an allocation again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from smemreuse.analysis.alignment import SWIZZLE_ALIGNMENT
from smemreuse.audit.layout import AppliedLayout, arenas_of, beyond_arena, byte_allocations
from smemreuse.audit.ranges import accesses_in_ranges, with_ranges
from smemreuse.audit.separator import Separator
from smemreuse.ir.expr import Call, Const, Load, Var, constant
from smemreuse.ir.kernel import Bind, Block, Buffer, Declare, Kernel, Store, walk_statements
from smemreuse.ir.labels import label
from smemreuse.planner.problem import align_up
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.bounds import Interval, bounds, upper_bound
from smemreuse.semantics.elements import claimed_bytes
from smemreuse.semantics.pointers import Pointers, address_of
from smemreuse.versions import version_of

UNKNOWN_SIZE = 2**40
"""Bytes; stands for a reach that is not known."""

_NUMBERED_POINTER = re.compile(r"_ptr(_\d+)?$")
"""What `smemreuse apply` adds to the name of a buffer, or to that of another one of its name."""


def pointer_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout given by pointers into an arena of `scope`; None if there are no such pointers.

    A buffer is as large as its views declare or its accesses may reach within the arena. Where that
    is unknown it takes all bytes after its offset.
    """
    arenas = _arenas(kernel, scope)
    pointers: dict[Var, tuple[Buffer, int]] = {}
    for var, buffer, offset in _places(kernel, arenas):
        if offset is None:
            return None
        pointers[var] = (buffer, offset)
    if not pointers:
        return None
    declared = _declared(kernel, pointers)
    reached, begins, trusted = _reached(kernel, pointers, declared)
    room = {var: arenas[arena] - offset for var, (arena, offset) in pointers.items()}
    buffers = {
        var: Buffer(
            _NUMBERED_POINTER.sub(r"\1", var.name),
            "uint8",
            # A view's size is the buffer's wherever that ends; a bound on its accesses is not.
            # A byte of what is used nowhere: an extent of 0 would be a pool of unknown size.
            (Const(max(declared[var], min(reached[var], room[var]), 1)),),
            scope,
            line=_line(kernel, var),
        )
        for var in pointers
    }
    by_view = not all(held in arenas_of(kernel, scope) for held, _ in pointers.values())
    bases, arena = _side_by_side({held: arenas[held] for held, _ in pointers.values()})
    body = Separator(buffers).block(kernel.body)
    used = [var for var in pointers if declared[var] or min(reached[var], room[var]) > 0]
    offsets = {buffers[var]: bases[pointers[var][0]] + pointers[var][1] for var in used}
    beyond = tuple(
        beyond_arena(buffers[var].name, offset, _end(offset, reached[var]), arenas[held])
        for var, (held, offset) in pointers.items()
        if _may_leave(reached[var], room[var]) and bases[held] + offset + declared[var] <= arena
    )
    before = tuple(
        f"{buffers[var].name} may be accessed from byte {offset + begins[var]:,} of "
        f"{held.name} on, and begins at byte {offset:,}"
        for var, (held, offset) in pointers.items()
        if begins[var] < 0 or offset < 0
    )
    beside = tuple(_beside(body, {held for held, _ in pointers.values()}))
    return AppliedLayout(
        replace(kernel, body=body),
        offsets,
        arena,
        by_view,
        (*beyond, *before, *beside),
        _inside([buffers[var].name for var in pointers if var in trusted]),
        declared={buffers[var]: size for var, size in declared.items() if size},
    )


def _side_by_side(arenas: Mapping[Buffer, int]) -> tuple[dict[Buffer, int], int]:
    """Where each arena begins, in bytes, and how many they all take: of several none has bytes of
    another one."""
    bases, end = {}, 0
    for arena, size in arenas.items():
        bases[arena] = align_up(end, SWIZZLE_ALIGNMENT)
        end = bases[arena] + size
    return bases, end


def _inside(names: Sequence[str]) -> tuple[str, ...]:
    """The assumption on buffers whose indices are not seen to stay inside the views."""
    return (f"each index stays inside its view of {', '.join(names)}",) if names else ()


def _beside(body: Block, arenas: Collection[Buffer]) -> Iterator[str]:
    """For each arena that is accessed other than through the pointers into it, a clause that says
    so.
    """
    touched = {
        access.buffer: stmt
        for stmt, accesses in KernelAccesses.of(body).by_statement.items()
        for access in accesses
        if access.buffer in arenas
    }
    for arena, stmt in touched.items():
        yield f"{arena.name} is accessed beside the pointers into it: `{label(stmt)}`"


def unplaced_arena(kernel: Kernel, scope: str) -> Buffer | None:
    """An arena of unknown size, or with a view that begins at an unknown byte of it."""
    arenas = {*_arenas(kernel, scope), *byte_allocations(kernel, scope)}
    places = _places(kernel, arenas)
    return next((one for _, one, offset in places if offset is None or one.size is None), None)


def _arenas(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The allocations that a merge may have left, and their sizes."""
    return {**_typed_arena(kernel, scope), **arenas_of(kernel, scope)}


def _typed_arena(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The only allocation of a scope, whatever its type, if several views begin in it."""
    found = {one: one.size for one in kernel.allocations(scope) if one.size is not None}
    views = {var for var, _, _ in _places(kernel, found)} & _storages(kernel)
    return found if len(found) == 1 and len(views) > 1 else {}


def _storages(kernel: Kernel) -> set[Buffer | Var]:
    declared = (stmt.buffer for stmt in walk_statements(kernel.body) if isinstance(stmt, Declare))
    return {view.storage for view in declared}


def _places(kernel: Kernel, arenas: Collection[Buffer]) -> Iterator[tuple[Var, Buffer, int | None]]:
    """The variables that point into an arena, and at which byte; None of a view that moves."""
    storages = _storages(kernel)
    for stmt in walk_statements(kernel.body):
        place = address_of(stmt.value, Pointers()) if isinstance(stmt, Bind) else None
        if isinstance(stmt, Bind) and place is not None and place.buffer in arenas:
            found = bounds(place.offset, {})
            if found is not None and found[0] == found[1]:
                yield stmt.var, place.buffer, found[0]
            elif stmt.var in storages:
                yield stmt.var, place.buffer, None


def _may_leave(reach: int, room: int) -> bool:
    """Of what is known to be nowhere in particular, it is taken that it keeps to the arena."""
    return reach > max(room, 0) and (reach != UNKNOWN_SIZE or room <= 0)


def _end(offset: int, reach: int) -> int | None:
    return offset + reach if reach != UNKNOWN_SIZE else None


def _line(kernel: Kernel, var: Var) -> int | None:
    binds = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, Bind))
    return next((stmt.line for stmt in binds if stmt.var is var), None)


def _declared(kernel: Kernel, pointers: Iterable[Var]) -> dict[Var, int]:
    """Bytes of each buffer that its views declare; 0 where none does."""
    declared = dict.fromkeys(pointers, 0)
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Declare) and isinstance(stmt.buffer.storage, Var):
            var = stmt.buffer.storage
            if var in declared and stmt.buffer.size is not None:
                declared[var] = max(declared[var], stmt.buffer.size)
    return declared


def _reached(
    kernel: Kernel, pointers: Mapping[Var, tuple[Buffer, int]], declared: Mapping[Var, int]
) -> tuple[dict[Var, int], dict[Var, int], set[Var]]:
    """Bytes of each buffer that its accesses may reach, `UNKNOWN_SIZE` where no bound is known; how
    many bytes before its pointer they may begin, as a number below 0; and of which buffers a bound
    leads further than the view, which is then taken for what is right."""
    reach, before = dict.fromkeys(pointers, 0), dict.fromkeys(pointers, 0)
    trusted = set[Var]()
    separator = Separator(
        {
            var: Buffer(var.name, "uint8", (Const(UNKNOWN_SIZE),), arena.scope)
            for var, (arena, _) in pointers.items()
        }
    )
    owner = {buffer: var for var, buffer in separator.pointers.items()}
    into_views = version_of(kernel).merges_into_views
    for stmt, known in with_ranges(separator.block(kernel.body)):
        for access, ranges in accesses_in_ranges(stmt, known):
            var = owner.get(access.buffer)
            if var is not None:
                end, by_view = _end_of(access, ranges, declared[var], into_views)
                reach[var] = max(reach[var], end)
                begin, inside = _begin_of(access, ranges)
                before[var] = min(before[var], begin)
                if by_view or inside:
                    trusted.add(var)
    return reach, before, trusted


def _begin_of(access: MemoryAccess, ranges: Mapping[Var, Interval]) -> tuple[int, bool]:
    """How many bytes before the pointer an access may begin, as a number below 0; and whether it is
    taken to stay inside its view, which some values of its index do."""
    footprint = access.claimed or access.footprint
    found = bounds(footprint.start, ranges) if footprint.start is not None else None
    further = min(footprint.stride * (footprint.count - 1), 0)
    if found is None or found[0] + further >= 0:
        return 0, False
    view = _view_of(access)
    if view is not None and found[1] + further >= 0:
        return 0, True
    return found[0] + further, False


def _end_of(
    access: MemoryAccess, ranges: Mapping[Var, Interval], declared: int, into_views: bool
) -> tuple[int, bool]:
    """How far an access may reach from the pointer on, by the bound of its index, by its view or by
    what views declare; and whether it is the view, within which that bound does not keep it:
    indices are taken to stay inside, as in a kernel that is not merged."""
    footprint, view = access.claimed or access.footprint, _view_of(access)
    first = upper_bound(footprint.start, ranges) if footprint.start is not None else None
    further = footprint.stride * (footprint.count - 1) + footprint.size
    end = UNKNOWN_SIZE if first is None else first + further
    within = view.size if view is not None else None
    if access.claimed is not None and declared:
        within = declared  # a descriptor's claim counts from where its pointer began
    if within is not None and end > within and not _surely_behind(access, ranges, within):
        return within, True
    as_declared = declared and (into_views or _claims(access, declared))
    return (declared if as_declared and first is None else end), False


def _view_of(access: MemoryAccess) -> Buffer | None:
    """The view that an index is in, if that begins at the pointer."""
    view = access.node.buffer if isinstance(access.node, (Load, Store)) else None
    return view if view is not None and constant(view.elem_offset) == 0 else None


def _surely_behind(access: MemoryAccess, ranges: Mapping[Var, Interval], size: int) -> bool:
    """Whether no value of an access's index keeps it within `size` bytes from the pointer on."""
    footprint = access.footprint
    found = bounds(footprint.start, ranges) if footprint.start is not None else None
    return access.claimed is None and found is not None and found[0] + footprint.size > size


def _claims(access: MemoryAccess, size: int) -> bool:
    """Whether an operation that may access any byte is handed a pointer that claims `size` bytes
    from a buffer's begin on: views and accesses then agree on how large it is."""
    if not isinstance(access.node, Call) or access.pointed is None:
        return False
    claimed = claimed_bytes(access.node)
    begins = bounds(access.pointed, {}) == (0, 0)
    return begins and claimed is not None and claimed[0] == size
