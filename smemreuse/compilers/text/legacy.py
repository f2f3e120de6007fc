"""Spellings of TVM from 2022 to 2025, put into those of today, which the model's tables know.

`T.ptx_cp_async("float16", As, i, A, j, 16)` counts offsets in elements of the pointer's type and
the copy in bytes; today's takes two access pointers and a count of elements. Asynchronous copies
are grouped and waited for by attributes, which code generation turns into calls.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Pointer
from smemreuse.ir.kernel import (
    Attr,
    Block,
    Evaluate,
    Stmt,
    Store,
    element_bits,
    with_blocks,
)
from smemreuse.semantics.elements import flat_index, pointee_bits

_READ, _WRITE = 1, 2
_LDMATRIX_ROW = 8  # 16-bit elements that each thread names
_CP_ASYNC_BYTES = (4, 8, 16)

# Calls whose type the printer wrote first, or, in 2022, after all others as `dtype=`.
_TYPED = ("call_extern", "call_pure_extern", "call_intrin", "call_pure_intrin", "reinterpret")


def with_type(name: str, arguments: tuple[Expr, ...], dtype: Expr) -> tuple[Expr, ...]:
    """A call's arguments with the type that TVM of 2022 printed as `dtype=`; first, as today."""
    if name in _TYPED or name.startswith("ptx_"):
        return (dtype, *arguments)
    return (*arguments, dtype)


def modern(call: Call) -> Expr:
    """A call in the order of arguments that the model's tables know; others are left alone."""
    args = call.args
    typed = bool(args) and isinstance(args[0], Const) and isinstance(args[0].value, str)
    if call.op == "ptx_cp_async" and typed and len(args) in (6, 7):
        return _cp_async(args)
    if call.op == "ptx_ldmatrix" and typed and len(args) == 8:
        dtype, transposed, number, _, local, local_offset, shared, offset = args
        source = _place(shared, offset, dtype, Const(_LDMATRIX_ROW), _READ)
        target = _place(local, local_offset, dtype, Const(_LDMATRIX_ROW), _WRITE)
        return Call("ptx_ldmatrix", (transposed, number, source, target))
    if call.op == "cast" and len(args) == 2 and not typed:
        return Call("cast", (args[1], args[0]))  # T.cast(value, "float32")
    if call.op == "load" and len(args) in (3, 4):
        return _load(call)
    if call.op == "tvm_thread_allreduce":
        return _allreduce(call)
    return call


def _cp_async(args: tuple[Expr, ...]) -> Call:
    """`dtype, dst, dst offset, src, src offset, bytes[, predicate]`."""
    dtype, dst, dst_offset, src, src_offset, size = args[:6]
    target = _place(dst, dst_offset, dtype, size, _WRITE)
    bits = pointee_bits(target)
    elements: Expr = Call("floordiv", (Call("mul", (size, Const(8))), Const(bits)))
    if isinstance(size, Const) and isinstance(size.value, int) and size.value * 8 % bits == 0:
        elements = Const(size.value * 8 // bits)
    target, source = (
        _with_extent(target, elements),
        _place(src, src_offset, dtype, elements, _READ),
    )
    return _copy_of(dtype, target, source, elements, size, args[6:])


def _copy_of(
    dtype: Expr,
    target: Expr,
    source: Expr,
    elements: Expr,
    size: Expr,
    predicate: tuple[Expr, ...],
) -> Call:
    """`size` bytes are copied; with a predicate, in the form that does not say what becomes of the
    bytes where that is off: some versions of TVM fill them with zeros, others leave them alone."""
    if predicate:
        return Call("ptx_cp_async", (dtype, target, source, size, *predicate))
    return Call("ptx_cp_async", (target, source, elements))


def _place(pointer: Expr, offset: Expr, dtype: Expr, extent: Expr, mask: int) -> Expr:
    """An access pointer `offset` elements after `pointer`, counted in what that points to."""
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr" and len(pointer.args) == 5:
        annotation, base, start, _, mask_given = pointer.args
        return Call("tvm_access_ptr", (annotation, base, _sum(start, offset), extent, mask_given))
    if isinstance(pointer, Call) and pointer.op == "address_of":
        load = pointer.args[0]
        if isinstance(load, Load):
            index = flat_index(load.buffer, load.indices)
            if isinstance(index, Call) and index.op == "ramp":
                index = index.args[0]
            pointer, offset = Pointer(load.buffer), _sum(index, offset)
    if isinstance(pointer, Pointer):
        dtype = Const(pointer.buffer.dtype)
    annotation = Call("type_annotation", (dtype,))
    return Call("tvm_access_ptr", (annotation, pointer, offset, extent, Const(mask)))


def _with_extent(pointer: Expr, extent: Expr) -> Expr:
    assert isinstance(pointer, Call)
    return Call(pointer.op, (*pointer.args[:3], extent, pointer.args[4]))


def _sum(one: Expr, other: Expr) -> Expr:
    if one == Const(0):
        return other
    return one if other == Const(0) else Call("add", (one, other))


def _load(call: Call) -> Expr:
    """`T.load("float16", handle, index[, predicate])`, where the handle is a flat buffer of that
    type; anything else stays a call that may access all of what it is given."""
    dtype, pointer, index = call.args[:3]
    found = _element(pointer, index, dtype)
    if found is None:
        return call
    return Load(found.buffer, found.indices, _predicate(call.args[3:]))


def store_of(call: Call, line: int) -> Store | None:
    """`T.store(handle, index, value[, predicate])` of 2021 and 2022, if it is understood."""
    if call.op != "store" or len(call.args) not in (3, 4):
        return None
    pointer, index, value = call.args[:3]
    found = _element(pointer, index, None)
    if found is None:
        return None
    return Store(found.buffer, found.indices, value, _predicate(call.args[3:]), line)


def _element(pointer: Expr, index: Expr, dtype: Expr | None) -> Load | None:
    if not isinstance(pointer, Pointer) or len(pointer.buffer.shape) != 1:
        return None
    scalar = str(dtype.value).split("x")[0] if isinstance(dtype, Const) else None
    return Load(pointer.buffer, (index,)) if scalar in (None, pointer.buffer.dtype) else None


def _predicate(given: tuple[Expr, ...]) -> Expr | None:
    """A predicate that says something: the printer wrote all lanes on for none."""
    if not given:
        return None
    lanes = given[0].args[0] if isinstance(given[0], Call) and given[0].op == "broadcast" else None
    return None if Const(1) in (given[0], lanes) else given[0]


def _allreduce(call: Call) -> Call:
    """`tvm_thread_allreduce(n, values.., condition, results.., axes..)`: elements as results are
    written, not read."""
    count = call.args[0] if call.args else None
    if not isinstance(count, Const) or not isinstance(count.value, int):
        return call
    results = range(2 + count.value, 2 + 2 * count.value)
    return Call(
        call.op,
        tuple(
            Call("address_of", (arg,)) if at in results and isinstance(arg, Load) else arg
            for at, arg in enumerate(call.args)
        ),
    )


def with_waits(attr: Attr) -> Attr:
    """An attribute with what code generation makes of it: a commit after it, a wait before."""
    if attr.key == "async_commit_queue_scope":
        commit = Evaluate(Call("ptx_commit_group", ()), attr.line)
        return replace(attr, body=(*attr.body, commit))
    if attr.key == "async_wait_inflight_count":
        wait = Evaluate(Call("ptx_wait_group", (attr.value,)), attr.line)
        return replace(attr, body=(wait, *attr.body))
    if attr.key == "async_scope":
        return replace(attr, body=_asynchronous(attr.body))
    return attr


def _asynchronous(block: Block) -> Block:
    return tuple(map(_asynchronous_stmt, block))


def _asynchronous_stmt(stmt: Stmt) -> Stmt:
    """Copies from global to shared memory, as the calls that they are lowered to."""
    if isinstance(stmt, Store):
        return _copy(stmt) or stmt
    return with_blocks(stmt, _asynchronous)


def _is_zero(value: Expr) -> bool:
    if isinstance(value, Call) and value.op in ("broadcast", "cast") and value.args:
        return _is_zero(value.args[0 if value.op == "broadcast" else -1])
    return isinstance(value, Const) and value.value == 0


def _copy(store: Store) -> Evaluate | None:
    """A store as an asynchronous copy. One of zeros where a guard is off writes all of its bytes in
    any case, as the store would: so it has the form of which that is known."""
    value: Expr = store.value
    guard: tuple[Expr, ...] = ()
    fills = False
    if isinstance(store.value, Call) and store.value.op in CHOICES:
        condition, value, other = store.value.args
        guard, fills = (condition,), _is_zero(other)
    if not isinstance(value, Load) or value.buffer.scope != "global":
        return None
    buffer = store.buffer
    if not buffer.scope.startswith("shared") or store.predicate is not None:
        return None
    index, lanes = flat_index(buffer, store.indices), 1
    if isinstance(index, Call) and index.op == "ramp":
        index, stride, count = index.args
        if stride != Const(1) or not isinstance(count, Const):
            return None
        lanes = int(count.value)
    if lanes * element_bits(buffer.dtype) // 8 not in _CP_ASYNC_BYTES:
        return None  # too small or too large for the instruction: stays a store
    annotation = Call("type_annotation", (Const(buffer.dtype),))
    extent = Const(lanes)
    target = Call("tvm_access_ptr", (annotation, Pointer(buffer), index, extent, Const(_WRITE)))
    if fills:
        return Evaluate(Call("ptx_cp_async", (target, store.value, extent, *guard)), store.line)
    size = Const(lanes * element_bits(buffer.dtype) // 8)
    copy = _copy_of(Const(buffer.dtype), target, store.value, extent, size, guard)
    return Evaluate(copy, store.line)
