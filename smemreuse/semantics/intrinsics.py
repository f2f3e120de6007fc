"""What TIR's memory intrinsics do to shared memory: which bytes, read or written, and until when.

A table of facts about the hardware and about TileLang's lowering, used by analysis and checker
alike. An intrinsic that is not in it may read and write all of every buffer that it is handed,
unless an access pointer's rw mask says less (rule 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, children, constant
from smemreuse.ir.kernel import (
    MAX_FOLLOWED,
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
from smemreuse.semantics.foreign import FOREIGN, is_over_at_return, takes_values
from smemreuse.semantics.pointers import (
    ADDRESS_OPS,
    Pointers,
    address_of,
    displaced,
    flat_index,
    pointee_bits,
    scaled,
    storage_address,
)


class Engine(Enum):
    """What carries an access out, and so what has to be waited for before it is over (rule 5)."""

    THREAD = "thread"
    CP_ASYNC = "cp.async"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    WGMMA = "wgmma"
    UNKNOWN_ASYNC = "asynchronous copy"


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


_RW_MASK = {1: Access.READ, 2: Access.WRITE, 3: Access.READ_WRITE}
# Operators on numbers: a variable among their operands is used as one.
_ARITHMETIC = frozenset(
    (
        *("add", "sub", "mul", "div", "mod", "floordiv", "floormod", "ceildiv", "min", "max"),
        *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "cast", "ramp", "broadcast"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
    )
)
# Intrinsics that are given shared buffers which they neither read nor write.
_NO_ACCESS = frozenset({"prefetch_tma_descriptor", "warpgroup_fence_operand"})
_TCGEN05_READS = frozenset({"initialize_tcgen05_descriptor"})


def accesses_of(stmt: Stmt, addresses: Pointers) -> Iterator[MemoryAccess]:
    """The accesses of a statement itself to allocations, in the order in which it makes them."""
    for expr in expressions_of(stmt):
        if isinstance(stmt, Bind) and address_of(expr, addresses) is not None:
            # An address is computed; whoever uses the variable accesses what is there.
            yield from _computing(expr, addresses)
        else:
            yield from _reads(expr, addresses)
    if isinstance(stmt, Store):
        yield from _element_access(
            stmt.buffer, stmt.indices, Access.WRITE, addresses, stmt.predicate
        )


def _reads(expr: Expr, addresses: Pointers) -> Iterator[MemoryAccess]:
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
    addresses: Pointers,
    predicate: Expr | None,
) -> Iterator[MemoryAccess]:
    base = storage_address(buffer, addresses)
    if base is None:
        for possible in addresses.of_buffer(buffer):
            yield MemoryAccess(possible, access, WHOLE, certain=False)
        return
    bits = element_bits(buffer.dtype)
    index = flat_index(buffer, indices)
    stride, lanes = 0, 1
    known = bits % 8 == 0
    if isinstance(index, Call) and index.op == "ramp":
        index, step, count = index.args
        apart, number = constant(step), constant(count)
        if apart is None or number is None or abs(apart * number) * bits > 8 * MAX_FOLLOWED:
            known = False
        else:
            stride, lanes = apart * bits // 8, number
    start = displaced(base, scaled(index, bits))
    if not known or start is None:
        yield MemoryAccess(base.buffer, access, WHOLE, certain=False)
        return
    footprint = Footprint(start.offset, bits // 8, stride, lanes)
    yield MemoryAccess(base.buffer, access, footprint, predicate is None)


def _call(call: Call, addresses: Pointers) -> Iterator[MemoryAccess]:
    if call.op in _NO_ACCESS:
        return
    yield from _by_operands(call, addresses)
    if call.op not in _WITHOUT_POINTERS:
        # Whoever finds a pointer that was kept in memory may use it (rule 1).
        engine = _engine(call)
        for buffer in addresses.kept:
            yield MemoryAccess(buffer, Access.READ_WRITE, WHOLE, certain=False, engine=engine)


def _by_operands(call: Call, addresses: Pointers) -> Iterator[MemoryAccess]:
    """What a call accesses of what it is handed."""
    known = _KNOWN.get(call.op)
    if known is not None:
        found = known(call, addresses)
        if found is not None:
            yield from found
            return
    if call.op in FOREIGN:
        yield from _by_foreign_arguments(call, addresses)
        return
    engine = _engine(call)
    if engine is not Engine.THREAD:
        # Of a form that is not known, but no less in flight.
        for access in _by_arguments(call, addresses):
            yield replace(access, certain=False, engine=engine)
        return
    yield from _by_arguments(call, addresses)


def _by_foreign_arguments(call: Call, addresses: Pointers) -> Iterator[MemoryAccess]:
    """What a function written in CUDA may access: all that it has the address of (rule 1)."""
    engine, by_value = _engine(call), takes_values(call)
    for argument in call.args:
        if isinstance(argument, Load) and by_value:
            yield from _reads(argument, addresses)
        elif isinstance(argument, Load):
            for child in children(argument):
                yield from _reads(child, addresses)
            for buffer in addresses.of_buffer(argument.buffer):
                yield MemoryAccess(buffer, Access.READ_WRITE, WHOLE, certain=False, engine=engine)
        else:
            handed = _escaped if isinstance(argument, Var) else _reads
            for access in handed(argument, addresses):
                is_value = access.footprint is not WHOLE
                yield access if is_value else replace(access, certain=False, engine=engine)


def _by_arguments(call: Call, addresses: Pointers) -> Iterator[MemoryAccess]:
    """What a call may access that is known by its arguments alone."""
    if call.op in ADDRESS_OPS:
        yield from _escaped(call, addresses)
        return
    for argument in call.args:
        if isinstance(argument, Var) and call.op not in _ARITHMETIC:
            yield from _escaped(argument, addresses)
        else:
            yield from _reads(argument, addresses)


def _escaped(pointer: Expr, addresses: Pointers) -> Iterator[MemoryAccess]:
    """A pointer handed to something that is not understood: all of the buffer may be accessed."""
    yield from _computing(pointer, addresses)
    place = address_of(pointer, addresses)
    if place is not None:
        yield MemoryAccess(place.buffer, _mask_of(pointer), WHOLE, certain=False)
    elif isinstance(pointer, Var):
        for buffer in addresses.of_variable(pointer):
            yield MemoryAccess(buffer, Access.READ_WRITE, WHOLE, certain=False)
    elif isinstance(pointer, Call):
        for operand in pointer.args:
            if not isinstance(operand, Const):
                yield from _escaped(operand, addresses)


def _computing(pointer: Expr, addresses: Pointers) -> Iterator[MemoryAccess]:
    """The contents that are read to compute an address: its indices and offsets."""
    if not isinstance(pointer, Call):
        return
    if pointer.op == "tvm_access_ptr":
        yield from _computing(pointer.args[1], addresses)
        for operand in pointer.args[2:]:
            yield from _reads(operand, addresses)
    elif pointer.op == "address_of" and isinstance(pointer.args[0], Load):
        for index in pointer.args[0].indices:
            yield from _reads(index, addresses)
    elif pointer.op == "handle_add_byte_offset":
        yield from _computing(pointer.args[0], addresses)
        yield from _reads(pointer.args[1], addresses)
    elif pointer.op == "reinterpret":
        yield from _computing(pointer.args[-1], addresses)


def _mask_of(pointer: Expr) -> Access:
    if isinstance(pointer, Call):
        if pointer.op == "tvm_access_ptr" and len(pointer.args) == 5:
            mask = constant(pointer.args[4])
            return Access.READ_WRITE if mask is None else _RW_MASK.get(mask, Access.READ_WRITE)
        if pointer.op == "handle_add_byte_offset":
            return _mask_of(pointer.args[0])
    return Access.READ_WRITE


# The intrinsics that are understood. Each gives None where the call has an unexpected form.


def _rest(call: Call, skip: tuple[int, ...], addresses: Pointers) -> list[MemoryAccess]:
    """Accesses of the arguments that a handler does not treat itself, and of their addresses."""
    return [
        access
        for position, argument in enumerate(call.args)
        for access in (_computing if position in skip else _reads)(argument, addresses)
    ]


def _run(pointer: Expr, size: int | None, addresses: Pointers) -> tuple[Buffer, Footprint] | None:
    """`size` bytes behind a pointer."""
    place = address_of(pointer, addresses)
    if place is None:
        return None
    if size is None or not 0 <= size <= MAX_FOLLOWED:
        return place.buffer, WHOLE
    return place.buffer, Footprint(place.offset, size)


def _extent_bytes(pointer: Expr) -> int | None:
    """Bytes that an access pointer claims; None where it claims none that are constant."""
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        extent = constant(pointer.args[3])
        return None if extent is None else extent * pointee_bits(pointer) // 8
    if isinstance(pointer, Call) and pointer.op == "handle_add_byte_offset":
        return _extent_bytes(pointer.args[0])
    return None


def _cp_async(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    """`ptx_cp_async(dst, src, elements[, predicate])`, with access pointers, as TileLang has it."""
    if len(call.args) not in (3, 4):
        return None
    elements = constant(call.args[2])
    size = None if elements is None else elements * pointee_bits(call.args[0]) // 8
    target = _run(call.args[0], size, addresses)
    if target is None:
        return None
    # A copy whose predicate is off is not taken for a full overwrite (TileLang issue 1937); nor is
    # one to a plain address, as some versions count bytes there, and others elements.
    typed = isinstance(call.args[0], Call) and call.args[0].op == "tvm_access_ptr"
    certain = typed and size is not None and len(call.args) == 3
    write = MemoryAccess(target[0], Access.WRITE, target[1], certain, Engine.CP_ASYNC)
    return [*_rest(call, (0,), addresses), write]


def _ldmatrix(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    """Each thread names a row of eight 16-bit elements; fewer are read for one or two matrices."""
    if len(call.args) < 4:
        return None
    source = _run(call.args[2], 16, addresses)
    if source is None:
        return None
    return [*_rest(call, (2,), addresses), MemoryAccess(source[0], Access.READ, source[1])]


def _stmatrix(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    """As `ldmatrix`, written; only with four matrices does every thread's row count."""
    if len(call.args) < 4:
        return None
    target = _run(call.args[2], 16, addresses)
    if target is None:
        return None
    certain = constant(call.args[1]) == 4
    write = MemoryAccess(target[0], Access.WRITE, target[1], certain)
    return [*_rest(call, (2,), addresses), write]


def _tma_load(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
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


def _tma_store(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    for position, argument in enumerate(call.args):
        place = address_of(argument, addresses)
        if place is not None and place.buffer.scope in ("shared", "shared.dyn"):
            source = _run(argument, _extent_bytes(argument), addresses)
            if source is None:
                return None
            read = MemoryAccess(source[0], Access.READ, source[1], engine=Engine.TMA_STORE)
            return [*_rest(call, (position,), addresses), read]
    return None


def _wgmma_descriptor(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
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


def _tcgen05_descriptor(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    place = address_of(call.args[1], addresses) if len(call.args) > 1 else None
    if place is None:
        return None
    read = MemoryAccess(place.buffer, Access.READ, WHOLE, engine=Engine.UNKNOWN_ASYNC)
    return [*_rest(call, (0, 1), addresses), read]


def _st_bulk(call: Call, addresses: Pointers) -> list[MemoryAccess] | None:
    """`ptx_st_bulk_shared(smem, bytes, value)`: one thread's store of many bytes."""
    if len(call.args) < 2:
        return None
    target = _run(call.args[0], constant(call.args[1]), addresses)
    if target is None:
        return None
    write = MemoryAccess(target[0], Access.WRITE, target[1], target[1] is not WHOLE)
    return [*_rest(call, (0,), addresses), write]


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


_ASYNCHRONOUS = {
    "ptx_cp_async": Engine.CP_ASYNC,
    "ptx_cp_async_bulk": Engine.UNKNOWN_ASYNC,
    "tma_load": Engine.TMA_LOAD,
    "tma_load_im2col": Engine.TMA_LOAD,
    "tma_store": Engine.TMA_STORE,
    "initialize_wgmma_descriptor": Engine.WGMMA,
    "initialize_tcgen05_descriptor": Engine.UNKNOWN_ASYNC,
}

# Of Apache TVM's own names for instructions, `ptx.cp`, `cuda.wgmma.encode_matrix_descriptor`, these
# are over when the thread goes on. Any other may start something that nothing here waits for.
_SYNCHRONOUS = (
    "cuda.printf",
    "ptx.ld",
    "ptx.ldmatrix",
    "ptx.stmatrix",
    "ptx.mma",
)


def _engine(call: Call) -> Engine:
    """What carries out an intrinsic whose operands are not understood (rule 5)."""
    op = call.op
    if op in _ASYNCHRONOUS:
        return _ASYNCHRONOUS[op]
    if op in FOREIGN:
        return Engine.THREAD if is_over_at_return(call) else Engine.UNKNOWN_ASYNC
    is_instruction = "." in op and not op.startswith("call_")
    return Engine.UNKNOWN_ASYNC if is_instruction and op not in _SYNCHRONOUS else Engine.THREAD


WAITS = {
    "ptx_wait_group": Engine.CP_ASYNC,
    "tma_store_wait": Engine.TMA_STORE,
    "warpgroup_wait": Engine.WGMMA,
    "wait_wgmma": Engine.WGMMA,
}
"""What waits for groups of an engine's accesses, all but the last few."""

WAIT_PARITY = "mbarrier_wait_parity"
"""Waits for a phase of an mbarrier."""

RETURNING_OPS = frozenset({"thread_return", "ret", "return"})
"""Calls behind which a thread does nothing more."""

LEAVING_OPS = RETURNING_OPS | {"break_loop", "loop_break", "continue_loop"}
"""Calls behind which a thread does not go on with the statement that would come next."""

# Calls that follow no pointer: they compute, order, or count.
_WITHOUT_POINTERS = frozenset(
    {
        *_ARITHMETIC,
        *ADDRESS_OPS,
        *WAITS,
        *LEAVING_OPS,
        WAIT_PARITY,
        *("if_then_else", "select", "let", "likely", "shuffle", "tuple", "type_annotation"),
        *("tvm_storage_sync", "sync_warp", "sync_grid", "named_barrier_arrive"),
        *("ptx_commit_group", "tma_store_arrive", "warpgroup_arrive", "warpgroup_commit_batch"),
        *("ptx_init_barrier_thread_count", "ptx_fence_barrier_init", "fence_proxy_async"),
        *("ptx_arrive_barrier", "ptx_arrive_barrier_expect_tx", "mbarrier_expect_tx"),
        *("set_max_nreg", "no_set_max_nreg", "tl_shuffle_elect", "tvm_warp_shuffle"),
        *("exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "tanh", "sigmoid"),
        *("abs", "fabs", "floor", "ceil", "round", "trunc", "pow", "fma", "isnan", "isinf"),
        *("sin", "cos", "erf", "popcount", "clz"),
    }
)


def leaves(stmt: Stmt) -> bool:
    """Whether a statement, or one inside it, may cut a loop or the kernel short."""
    return calls_any((stmt,), LEAVING_OPS)


def calls_any(block: Block, ops: Collection[str]) -> bool:
    """Whether a statement of a block, or one inside it, evaluates one of these intrinsics."""
    calls = map(evaluated_call, walk_statements(block))
    return any(call is not None and call.op in ops for call in calls)


def evaluated_call(stmt: Stmt) -> Call | None:
    """The intrinsic that an `Evaluate` statement consists of."""
    if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
        return stmt.value
    return None
