"""Which bytes a statement accesses, and how: derived from the table of effects (rule 1).

What a statement is handed and does not understand it may read and write, all of it. Contents that
are read to compute an address count where the address is computed; what is there counts where the
address is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import (
    MAX_FOLLOWED,
    Bind,
    Block,
    Buffer,
    Stmt,
    Store,
    element_bits,
    expressions_of,
    is_laid_out,
    walk_statements,
)
from smemreuse.semantics.effects import (
    LANES,
    Effect,
    Engine,
    Extent,
    Fixed,
    Operand,
    OperandKind,
    Proxy,
    Signal,
    Strided,
)
from smemreuse.semantics.elements import (
    byte_offset,
    claimed_bytes,
    flat_index,
    places_in,
)
from smemreuse.semantics.evaluate import Threads, is_unsigned
from smemreuse.semantics.operands import (
    counts_elements,
    is_lazy,
    lanes_of,
    places,
    size_of,
)
from smemreuse.semantics.pointers import (
    ADDRESS_OPS,
    Pointers,
    address_of,
    contents_computing,
    displaced,
    element_address,
    find_pointers,
    let_parts,
    mask_of,
    storage_address,
)
from smemreuse.semantics.table import effect_of, mbarrier_operand


@dataclass(frozen=True, slots=True)
class Footprint:
    """The bytes that each thread accesses: `count` runs of `size` bytes, `stride` bytes apart.

    `start` is the first byte, an expression; None means anywhere in the buffer.
    """

    start: Expr | None
    size: int = 0
    stride: int = 0
    count: int = 1


WHOLE = Footprint(None)


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One access of a statement to an allocation.

    - `node`: the expression that names the bytes.
    - `certain`: False if the access may not happen, or may not cover all of the footprint.
    - `barrier`: the mbarrier that a TMA load reports to.
    - `descriptor`: the local that stands for these bytes from this statement on.
    - `claimed`: the bytes that an access pointer declares, where that is no proof.
    - `swizzled`: the access asks for the alignment of a swizzle (rule 7).
    - `uncovered`: why the effect on the bytes is unknown; empty where it is known.
    - `named`: False if the statement does not name the buffer, and reaches it by an address that
      was kept in memory.
    - `proxy`: the path to memory; between different ones a fence must stand (rule 11).
    - `by_warp`: the lanes of a warp access the bytes together; which lane takes which is not known.
    - `signals`: the bytes are an mbarrier, and it is accessed as one.
    - `pointed`: the byte that its operand points to, where it may access any from there.
    - `lanes`: only so many of each warp, from the first on, access anything.
    - `guards`: conditions on thread indices and loop variables; only threads for which each comes
      out as said access anything.
    """

    buffer: Buffer
    access: Access
    footprint: Footprint
    node: Expr | Stmt
    certain: bool = True
    engine: Engine = Engine.THREAD
    barrier: Load | None = None
    descriptor: Buffer | Var | None = None
    claimed: Footprint | None = None
    swizzled: bool = False
    uncovered: str = ""
    named: bool = True
    proxy: Proxy = Proxy.GENERIC
    by_warp: bool = False
    atomic: bool = False
    signals: bool = False
    pointed: Expr | None = None
    lanes: int = LANES
    guards: tuple[tuple[Expr, bool], ...] = ()

    def who(self, threads: Threads) -> Threads:
        """Those of some threads that access anything."""
        return threads if self.lanes == LANES else threads.where(threads.ids % LANES < self.lanes)


@dataclass(frozen=True, eq=False)
class KernelAccesses:
    """Every access of a kernel by its statement, and the pointers that they go through."""

    pointers: Pointers
    by_statement: Mapping[Stmt, tuple[MemoryAccess, ...]]

    @staticmethod
    def of(body: Block, before: KernelAccesses | None = None) -> KernelAccesses:
        """The accesses of a kernel's body.

        `before` are those of the kernel that it was derived from; unchanged statements keep theirs.
        """
        pointers = find_pointers(body)
        same = before is not None and before.pointers.same_as(pointers)
        known = before.by_statement if before is not None and same else {}
        found = {
            stmt: known[stmt] if stmt in known else tuple(accesses_of(stmt, pointers))
            for stmt in walk_statements(body)
        }
        return KernelAccesses(pointers, found)


def accesses_of(stmt: Stmt, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of a statement itself to allocations, in the order in which it makes them."""
    for expr in expressions_of(stmt):
        if isinstance(stmt, Bind):
            yield from _bound(expr, pointers)
        else:
            yield from _used(expr, pointers)
    if isinstance(stmt, Store):
        for expr in places_in(stmt.buffer, ()):
            yield from _used(expr, pointers)
        yield from _element(stmt, stmt.buffer, stmt.indices, Access.WRITE, pointers, stmt.predicate)


def _bound(expr: Expr, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of evaluating a bound value; an address in it counts where the
    variable is used.
    """
    if isinstance(expr, Call) and expr.op in ADDRESS_OPS:
        yield from _computing(expr, pointers)
    elif isinstance(expr, Call):
        yield from _call(expr, pointers)
    elif isinstance(expr, Load):
        yield from _used(expr, pointers)


def _used(expr: Expr, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of using a value: contents that it reads, and what an address in it
    may lead to.
    """
    if isinstance(expr, Load):
        for child in _children(expr):
            yield from _used(child, pointers)
        yield from _element(expr, expr.buffer, expr.indices, Access.READ, pointers, expr.predicate)
    elif isinstance(expr, Call) and expr.op not in ADDRESS_OPS:
        yield from _call(expr, pointers)
    else:
        yield from _handed(expr, pointers)


def _evaluated(expr: Expr, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of evaluating a value; unlike `_used`, an address in it is not followed."""
    if isinstance(expr, Call) and expr.op in ADDRESS_OPS:
        yield from _computing(expr, pointers)
    elif isinstance(expr, (Load, Call)):
        yield from _used(expr, pointers)


def _computing(pointer: Expr, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The contents that are read to compute an address: its indices and offsets."""
    computed = _children(pointer) if isinstance(pointer, Load) else contents_computing(pointer)
    for operand in computed:
        yield from _used(operand, pointers)


def _children(load: Load) -> tuple[Expr, ...]:
    """What is evaluated to load an element."""
    if load.predicate is None:
        return places_in(load.buffer, load.indices)
    return (*places_in(load.buffer, load.indices), load.predicate)


def _element(
    node: Expr | Stmt,
    buffer: Buffer,
    indices: tuple[Expr, ...],
    access: Access,
    pointers: Pointers,
    predicate: Expr | None,
) -> Iterator[MemoryAccess]:
    """The access to one element of a buffer, or to a vector of elements."""
    base = storage_address(buffer, pointers)
    if base is None:
        for possible in pointers.of_buffer(buffer):
            yield MemoryAccess(possible, access, WHOLE, node, certain=False)
        return
    bits = element_bits(buffer.dtype)
    index = flat_index(buffer, indices)
    stride, lanes = 0, 1
    known = bits % 8 == 0 and is_laid_out(buffer.dtype)
    if isinstance(index, Call) and index.op == "ramp":
        index, step, count = index.args
        distance, number = constant(step), constant(count)
        if distance is None or number is None or abs(distance * number) * bits > 8 * MAX_FOLLOWED:
            known = False
        elif number > 1 and is_unsigned(index):
            known = False  # lanes of it wrap, each for itself
        else:
            stride, lanes = distance * bits // 8, number
    start = displaced(base, byte_offset(index, buffer.dtype))
    if not known or start is None:
        yield MemoryAccess(base.buffer, access, WHOLE, node, certain=False)
        return
    footprint = Footprint(start.offset, bits // 8, stride, lanes)
    yield MemoryAccess(base.buffer, access, footprint, node, predicate is None)


_MBARRIER = Operand(OperandKind.BARRIER, Access.READ_WRITE, Fixed(8), certain=False)
"""What a signal accesses where a row does not say so: an mbarrier may lie in plain memory."""


# Operations -------------------------------------------------------------------------------------


def _call(call: Call, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of an operation by its row: reads of its other operands, then the
    listed ones.
    """
    bound = let_parts(call)
    if bound is not None:
        var, value, body = bound
        yield from _bound(value, pointers)
        yield from _used(body, pointers.binding(var, value))
        return
    effect, operands = effect_of(call), call.args
    listed = {place: operand for operand, place in places(effect, operands, pointers)}
    own: list[MemoryAccess] = []
    mbarrier = mbarrier_operand(call, effect)
    for place, argument in enumerate(operands):
        operand = listed.get(place, _MBARRIER if argument is mbarrier else None)
        found = None if operand is None else _through(argument, operand, effect, call, pointers)
        if found is not None and argument is mbarrier:
            found = [replace(one, signals=True) for one in found]
        if found is not None:
            yield from _computing(argument, pointers)
            own += found
        elif is_lazy(call, place):
            yield from _perhaps(_unlisted(argument, effect, pointers))
        else:
            yield from _unlisted(argument, effect, pointers)
    # One of its operands may lead to what it writes through another, and it may read that first.
    yield from sorted(own, key=lambda access: access.access is Access.WRITE)
    if effect.follows:
        # It may use any pointer that was kept in memory (rule 1).
        for buffer in pointers.kept:
            access = MemoryAccess(buffer, Access.READ_WRITE, WHOLE, call, named=False)
            yield _as_done(access, effect)


def _through(
    argument: Expr, operand: Operand, effect: Effect, call: Call, pointers: Pointers
) -> list[MemoryAccess] | None:
    """The access through an operand that a row lists; None if it is not known where it leads."""
    # An element stands for itself: it is a reference to where the access begins.
    if isinstance(argument, Load):
        place = element_address(argument, pointers)
    else:
        place = address_of(argument, pointers)
    if place is None:
        return None
    operands = call.args
    size, exact = size_of(argument, operand, operands)
    reach = operand.size.reach if isinstance(operand.size, Strided) else size
    known = reach is not None and 0 <= reach <= MAX_FOLLOWED
    footprint = _runs(Footprint(place.offset, size or 0), operand) if known else WHOLE
    lanes = lanes_of(operand, operands)
    certain = (operand.certain and lanes is not None) and (
        operand.size is Extent.WHOLE
        or (known and exact and counts_elements(argument, operand, effect))
    )
    access = operand.access or mask_of(argument)
    if effect.declared and Access.READ_WRITE not in (access, mask_of(argument)):
        if access is not mask_of(argument):  # the kernel and the declaration contradict each other
            access, certain = Access.READ_WRITE, False
    # Where a descriptor stands for all of a buffer, its pointer still tells which part is meant.
    claimed = claimed_bytes(argument) if effect.describes is not None else None
    descriptor = _descriptor(effect, operands)
    # Of a descriptor made in an unknown place it is not known when it is read for the last time.
    unseen = effect.describes is not None and descriptor is None
    return [
        MemoryAccess(
            place.buffer,
            access,
            footprint,
            argument,
            certain,
            Engine.UNKNOWN_ASYNC if unseen else effect.engine,
            _reported_to(effect, call),
            descriptor,
            Footprint(place.offset, claimed[0])
            if claimed is not None and 0 <= claimed[0] <= MAX_FOLLOWED
            else None,
            operand.swizzled,
            _why_uncovered(effect, call),
            proxy=effect.proxy,
            by_warp=operand.by_warp,
            atomic=effect.atomic,
            pointed=None if known else place.offset,
            lanes=lanes or LANES,
        )
    ]


def _runs(footprint: Footprint, operand: Operand) -> Footprint:
    size = operand.size
    if isinstance(size, Strided):
        return replace(footprint, stride=size.stride, count=size.count)
    return footprint


def _reported_to(effect: Effect, call: Call) -> Load | None:
    if effect.signals is not Signal.COMPLETE_WITH_BYTES:
        return None
    barrier = mbarrier_operand(call, effect)
    return barrier if isinstance(barrier, Load) else None


def _descriptor(effect: Effect, operands: tuple[Expr, ...]) -> Buffer | Var | None:
    if effect.describes is None or effect.describes.local >= len(operands):
        return None
    local = operands[effect.describes.local]
    return local.buffer.storage if isinstance(local, Load) else None


def _perhaps(accesses: Iterable[MemoryAccess]) -> Iterator[MemoryAccess]:
    """What a condition may keep from happening: nothing is surely written."""
    for access in accesses:
        yield access if access.access is Access.READ else replace(access, certain=False)


def _unlisted(argument: Expr, effect: Effect, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of an operand that the row does not list: values are read, addresses
    followed.
    """
    if not effect.hands_on:
        yield from _evaluated(argument, pointers)
        return
    if isinstance(argument, Load) and effect.by_reference:
        for child in _children(argument):
            yield from _used(child, pointers)
        for buffer in pointers.of_buffer(argument.buffer):
            access = MemoryAccess(buffer, Access.READ_WRITE, WHOLE, argument, certain=False)
            yield _as_done(access, effect)
        return
    for access in _handed(argument, pointers):
        if access.footprint is WHOLE:
            yield _as_done(access, effect)
        else:
            yield replace(access, swizzled=effect.may_swizzle)


def _as_done(access: MemoryAccess, effect: Effect) -> MemoryAccess:
    """The access as an operation that is not understood makes it: by that operation's engine."""
    return replace(
        access,
        certain=False,
        engine=effect.engine,
        proxy=effect.proxy,
        swizzled=effect.may_swizzle,
        uncovered=effect.unknown or access.uncovered,
        atomic=effect.atomic,
    )


def _why_uncovered(effect: Effect, call: Call) -> str:
    if effect.unknown:
        return effect.unknown
    return f"`{call.op}` reaches another block of the cluster" if effect.remote else ""


def _handed(expr: Expr, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses by a callee that is not understood: it may access all of the addressed
    buffer.
    """
    if isinstance(expr, Load):
        yield from _used(expr, pointers)
        return
    place = address_of(expr, pointers)
    if place is not None:
        yield from _computing(expr, pointers)
        yield MemoryAccess(
            place.buffer, mask_of(expr), WHOLE, expr, certain=False, pointed=place.offset
        )
    elif isinstance(expr, (Var, Pointer)):
        found = (
            pointers.of_variable(expr) if isinstance(expr, Var) else pointers.of_buffer(expr.buffer)
        )
        for buffer in found:
            yield MemoryAccess(buffer, Access.READ_WRITE, WHOLE, expr, certain=False)
    elif isinstance(expr, Call) and (expr.op in ADDRESS_OPS or effect_of(expr).address):
        yield from _carried(expr, pointers)
    elif isinstance(expr, Call):
        yield from _call(expr, pointers)


def _carried(call: Call, pointers: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of an operation whose result may be an address that one of its
    operands holds.
    """
    if call.op not in ADDRESS_OPS and effect_of(call).hands_on:
        yield from _call(call, pointers)
        return
    for place, operand in enumerate(call.args):
        if isinstance(operand, Const):
            continue
        handed = _handed(operand, pointers)
        yield from _perhaps(handed) if is_lazy(call, place) else handed
