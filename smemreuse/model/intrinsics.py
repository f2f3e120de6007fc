"""What TIR's memory intrinsics do to shared memory: which bytes, read or written, and until when.

A table of facts about the hardware and about TileLang's lowering, used by analysis and checker
alike. An intrinsic that is not in it may read and write all of every buffer that it is handed,
unless an access pointer's rw mask says less (rule 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var, children
from smemreuse.model.kernel import (
    Bind,
    Block,
    Buffer,
    Evaluate,
    Stmt,
    Store,
    element_bits,
    expressions_of,
    walk_statements,
)
from smemreuse.model.sequence import Access


class Engine(Enum):
    """What carries an access out, and so what has to be waited for before it is over (rule 5)."""

    THREAD = "thread"
    CP_ASYNC = "cp.async"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    WGMMA = "wgmma"
    UNKNOWN_ASYNC = "asynchronous copy"


@dataclass(frozen=True, slots=True)
class Address:
    """A place in an allocation, `offset` bytes (an expression) behind its first byte."""

    buffer: Buffer
    offset: Expr


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

    `certain` is False where it may not happen at all, or not to all of the footprint. `barrier` is
    the mbarrier that a TMA load reports to, `descriptor` the local that a wgmma descriptor is kept
    in. `claimed` is what an access pointer says of its bytes where that is no proof.
    """

    buffer: Buffer
    access: Access
    footprint: Footprint
    certain: bool = True
    engine: Engine = Engine.THREAD
    barrier: Load | None = None
    descriptor: Buffer | Var | None = None
    claimed: Footprint | None = None


Addresses = Mapping[Var, Address]

_RW_MASK = {1: Access.READ, 2: Access.WRITE, 3: Access.READ_WRITE}
# Pointers made of a pointer: no access by themselves.
_ADDRESS_OPS = frozenset({"tvm_access_ptr", "address_of", "handle_add_byte_offset", "reinterpret"})
# Intrinsics that are given shared buffers which they neither read nor write.
_NO_ACCESS = frozenset({"prefetch_tma_descriptor", "warpgroup_fence_operand"})
_TCGEN05_READS = frozenset({"initialize_tcgen05_descriptor"})


def find_addresses(body: Block) -> dict[Var, Address]:
    """Handle variables bound to one place in an allocation, as `handle_add_byte_offset` binds."""
    found: dict[Var, Address] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, Bind):
            address = address_of(stmt.value, found)
            if address is not None:
                found[stmt.var] = address
    return found


def address_of(expr: Expr, addresses: Addresses) -> Address | None:
    """The place that a pointer-valued expression names; None if it names none that is known."""
    if isinstance(expr, Pointer):
        return _storage_address(expr.buffer, addresses)
    if isinstance(expr, Var):
        return addresses.get(expr)
    if not isinstance(expr, Call) or expr.op not in _ADDRESS_OPS:
        return None
    if expr.op == "reinterpret":
        return address_of(expr.args[-1], addresses)
    if expr.op == "handle_add_byte_offset":
        return _displaced(address_of(expr.args[0], addresses), expr.args[1])
    if expr.op == "address_of":
        load = expr.args[0]
        return _element_address(load, addresses) if isinstance(load, Load) else None
    base = address_of(expr.args[1], addresses)
    return _displaced(base, _scaled(expr.args[2], pointee_bits(expr)))


def _storage_address(buffer: Buffer, addresses: Addresses) -> Address | None:
    storage = buffer.storage
    if isinstance(storage, Var):
        return addresses.get(storage)
    return Address(storage, Const(0))


def _element_address(load: Load, addresses: Addresses) -> Address | None:
    base = _storage_address(load.buffer, addresses)
    index = flat_index(load.buffer, load.indices)
    if isinstance(index, Call) and index.op == "ramp":
        index = index.args[0]
    return _displaced(base, _scaled(index, element_bits(load.buffer.dtype)))


def _displaced(base: Address | None, offset: Expr) -> Address | None:
    if base is None:
        return None
    if base.offset == Const(0):
        return Address(base.buffer, offset)
    return Address(base.buffer, Call("add", (base.offset, offset)))


def _scaled(index: Expr, bits: int) -> Expr:
    """An element index in bytes."""
    if index == Const(0) or bits == 8:
        return index
    if bits % 8 == 0:
        return Call("mul", (index, Const(bits // 8)))
    return Call("floordiv", (Call("mul", (index, Const(bits))), Const(8)))


def pointee_bits(access_ptr: Expr) -> int:
    """Bits of one element behind a `tvm_access_ptr`, from its `type_annotation`."""
    if isinstance(access_ptr, Call) and access_ptr.op == "tvm_access_ptr":
        annotation = access_ptr.args[0]
        if isinstance(annotation, Call) and annotation.args:
            dtype = annotation.args[0]
            if isinstance(dtype, Const):
                return element_bits(str(dtype.value))
    return 8


def flat_index(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The row-major element index of a buffer access; the last index may be a ramp."""
    flat = indices[-1] if indices else Const(0)
    scale: Expr = Const(1)
    for index, extent in zip(reversed(indices[:-1]), reversed(buffer.shape[1:]), strict=True):
        scale = extent if scale == Const(1) else Call("mul", (scale, extent))
        flat = _ramp_add(flat, Call("mul", (index, scale)))
    return flat if buffer.elem_offset == Const(0) else _ramp_add(flat, buffer.elem_offset)


def _ramp_add(index: Expr, more: Expr) -> Expr:
    if isinstance(index, Call) and index.op == "ramp":
        base, stride, lanes = index.args
        return Call("ramp", (Call("add", (base, more)), stride, lanes))
    return Call("add", (index, more))


def accesses_of(stmt: Stmt, addresses: Addresses) -> Iterator[MemoryAccess]:
    """The accesses of a statement itself to allocations, in the order in which it makes them."""
    for expr in expressions_of(stmt):
        if isinstance(stmt, Bind) and address_of(expr, addresses) is not None:
            continue  # an address is computed; whoever uses the variable accesses memory
        yield from _reads(expr, addresses)
    if isinstance(stmt, Store):
        yield from _element_access(
            stmt.buffer, stmt.indices, Access.WRITE, addresses, stmt.predicate
        )


def _reads(expr: Expr, addresses: Addresses) -> Iterator[MemoryAccess]:
    if isinstance(expr, Load):
        for child in children(expr):
            yield from _reads(child, addresses)
        yield from _element_access(
            expr.buffer, expr.indices, Access.READ, addresses, expr.predicate
        )
    elif isinstance(expr, Call):
        yield from _call(expr, addresses)
    elif isinstance(expr, (Pointer, Var)):
        yield from _escaped(expr, addresses)


def _element_access(
    buffer: Buffer,
    indices: tuple[Expr, ...],
    access: Access,
    addresses: Addresses,
    predicate: Expr | None,
) -> Iterator[MemoryAccess]:
    base = _storage_address(buffer, addresses)
    if base is None:
        return
    bits = element_bits(buffer.dtype)
    index = flat_index(buffer, indices)
    stride, lanes = 0, 1
    known = bits % 8 == 0
    if isinstance(index, Call) and index.op == "ramp":
        index, step, count = index.args
        if isinstance(step, Const) and isinstance(count, Const):
            stride, lanes = int(step.value) * bits // 8, int(count.value)
        else:
            known = False
    start = _displaced(base, _scaled(index, bits))
    if not known or start is None:
        yield MemoryAccess(base.buffer, access, WHOLE, certain=False)
        return
    footprint = Footprint(start.offset, bits // 8, stride, lanes)
    yield MemoryAccess(base.buffer, access, footprint, predicate is None)


def _call(call: Call, addresses: Addresses) -> Iterator[MemoryAccess]:
    if call.op in _NO_ACCESS:
        return
    known = _KNOWN.get(call.op)
    if known is not None:
        found = known(call, addresses)
        if found is not None:
            yield from found
            return
    if call.op in _ADDRESS_OPS:
        yield from _escaped(call, addresses)
        return
    for argument in call.args:
        yield from _reads(argument, addresses)


def _escaped(pointer: Expr, addresses: Addresses) -> Iterator[MemoryAccess]:
    """A pointer handed to something that is not understood: all of the buffer may be accessed."""
    if isinstance(pointer, Call):
        indices = pointer.args[2:] if pointer.op == "tvm_access_ptr" else ()
        if pointer.op == "address_of" and isinstance(pointer.args[0], Load):
            indices = pointer.args[0].indices
        for index in indices:
            yield from _reads(index, addresses)
    place = address_of(pointer, addresses)
    if place is not None:
        yield MemoryAccess(place.buffer, _mask_of(pointer), WHOLE, certain=False)


def _mask_of(pointer: Expr) -> Access:
    if isinstance(pointer, Call):
        if pointer.op == "tvm_access_ptr" and isinstance(pointer.args[4], Const):
            return _RW_MASK.get(int(pointer.args[4].value), Access.READ_WRITE)
        if pointer.op == "handle_add_byte_offset":
            return _mask_of(pointer.args[0])
    return Access.READ_WRITE


# The intrinsics that are understood. Each gives None where the call has an unexpected form.


def _rest(call: Call, skip: tuple[int, ...], addresses: Addresses) -> list[MemoryAccess]:
    """Accesses of the arguments that a handler does not treat itself."""
    return [
        access
        for position, argument in enumerate(call.args)
        if position not in skip
        for access in _reads(argument, addresses)
    ]


def _constant(expr: Expr) -> int | None:
    return expr.value if isinstance(expr, Const) and isinstance(expr.value, int) else None


def _run(pointer: Expr, size: int | None, addresses: Addresses) -> tuple[Buffer, Footprint] | None:
    """`size` bytes behind a pointer."""
    place = address_of(pointer, addresses)
    if place is None:
        return None
    return place.buffer, WHOLE if size is None else Footprint(place.offset, size)


def _extent_bytes(pointer: Expr) -> int | None:
    """Bytes that an access pointer claims; None where it claims none that are constant."""
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        extent = _constant(pointer.args[3])
        return None if extent is None else extent * pointee_bits(pointer) // 8
    if isinstance(pointer, Call) and pointer.op == "handle_add_byte_offset":
        return _extent_bytes(pointer.args[0])
    return None


def _cp_async(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """`ptx_cp_async(dst, src, elements[, predicate])`, with access pointers, as TileLang has it."""
    if len(call.args) not in (3, 4):
        return None
    elements = _constant(call.args[2])
    size = None if elements is None else elements * pointee_bits(call.args[0]) // 8
    target = _run(call.args[0], size, addresses)
    if target is None:
        return None
    # A copy whose predicate is off is not taken for a full overwrite (TileLang issue 1937).
    certain = size is not None and len(call.args) == 3
    write = MemoryAccess(target[0], Access.WRITE, target[1], certain, Engine.CP_ASYNC)
    return [*_rest(call, (0,), addresses), write]


def _ldmatrix(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """Each thread names a row of eight 16-bit elements; fewer are read for one or two matrices."""
    if len(call.args) < 4:
        return None
    source = _run(call.args[2], 16, addresses)
    if source is None:
        return None
    return [*_rest(call, (2,), addresses), MemoryAccess(source[0], Access.READ, source[1])]


def _stmatrix(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """As `ldmatrix`, written; only with four matrices does every thread's row count."""
    if len(call.args) < 4:
        return None
    target = _run(call.args[2], 16, addresses)
    if target is None:
        return None
    certain = _constant(call.args[1]) == 4
    write = MemoryAccess(target[0], Access.WRITE, target[1], certain)
    return [*_rest(call, (2,), addresses), write]


def _tma_load(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """`tma_load(descriptor, mbarrier, smem, coordinates...)`; also without a tensor map.

    Out-of-bounds elements are filled with zeros, so the whole box is written.
    """
    barriers = [arg for arg in call.args if isinstance(arg, Load)]
    for position, argument in enumerate(call.args):
        place = address_of(argument, addresses)
        if place is not None and place.buffer.scope in ("shared", "shared.dyn"):
            target = _run(argument, _extent_bytes(argument), addresses)
            if target is None:
                return None
            write = MemoryAccess(
                target[0],
                Access.WRITE,
                target[1],
                target[1] is not WHOLE,
                Engine.TMA_LOAD,
                barriers[0] if barriers else None,
            )
            return [*_rest(call, (position,), addresses), write]
    return None


def _tma_store(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    for position, argument in enumerate(call.args):
        place = address_of(argument, addresses)
        if place is not None and place.buffer.scope in ("shared", "shared.dyn"):
            source = _run(argument, _extent_bytes(argument), addresses)
            if source is None:
                return None
            read = MemoryAccess(source[0], Access.READ, source[1], engine=Engine.TMA_STORE)
            return [*_rest(call, (position,), addresses), read]
    return None


def _wgmma_descriptor(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """The last mention of the buffer: the read comes with the `wgmma`, and may be of all of it."""
    if len(call.args) < 2:
        return None
    place = address_of(call.args[1], addresses)
    if place is None:
        return None
    storage = call.args[0].buffer.storage if isinstance(call.args[0], Load) else None
    claimed = _run(call.args[1], _extent_bytes(call.args[1]), addresses)
    read = MemoryAccess(
        place.buffer,
        Access.READ,
        WHOLE,  # the descriptor is moved on to a stage afterwards
        engine=Engine.WGMMA,
        descriptor=storage,
        claimed=claimed[1] if claimed is not None else None,
    )
    return [*_rest(call, (0, 1), addresses), read]


def _tcgen05_descriptor(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    place = address_of(call.args[1], addresses) if len(call.args) > 1 else None
    if place is None:
        return None
    return [MemoryAccess(place.buffer, Access.READ, WHOLE, engine=Engine.UNKNOWN_ASYNC)]


def _st_bulk(call: Call, addresses: Addresses) -> list[MemoryAccess] | None:
    """`ptx_st_bulk_shared(smem, bytes, value)`: one thread's store of many bytes."""
    if len(call.args) < 2:
        return None
    target = _run(call.args[0], _constant(call.args[1]), addresses)
    if target is None:
        return None
    return [MemoryAccess(target[0], Access.WRITE, target[1], target[1] is not WHOLE)]


_KNOWN = {
    "ptx_cp_async": _cp_async,
    "ptx_ldmatrix": _ldmatrix,
    "ptx_stmatrix": _stmatrix,
    "tma_load": _tma_load,
    "tma_load_im2col": _tma_load,
    "tma_store": _tma_store,
    "initialize_wgmma_descriptor": _wgmma_descriptor,
    "initialize_tcgen05_descriptor": _tcgen05_descriptor,
    "ptx_st_bulk_shared": _st_bulk,
}


def evaluated_call(stmt: Stmt) -> Call | None:
    """The intrinsic that an `Evaluate` statement consists of."""
    if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
        return stmt.value
    return None
