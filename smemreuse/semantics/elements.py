"""Elements of buffers: where they lie, and how many bytes some of them take."""

from __future__ import annotations

import math
from dataclasses import replace

from smemreuse.ir.expr import Call, Const, Expr, Load, constant
from smemreuse.ir.kernel import ANYWHERE, Buffer, element_bits, is_laid_out
from smemreuse.semantics.evaluate import is_unsigned

MAX_LANES = 64
"""Lanes of a vector that are followed one by one."""


def addressed_element(expr: Expr) -> Load | None:
    """The element whose address an expression takes; None for any other expression."""
    if isinstance(expr, Call) and expr.op == "address_of" and expr.args:
        element = expr.args[0]
        return element if isinstance(element, Load) else None
    return None


def places_in(buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """What is evaluated to find an element: its indices, and where the buffer begins as a view."""
    return indices if isinstance(buffer.elem_offset, Const) else (*indices, buffer.elem_offset)


def is_typed(pointer: Expr) -> bool:
    """Whether an access pointer says what elements it points to."""
    return isinstance(pointer, Call) and pointer.op == "tvm_access_ptr"


def has_elements(pointer: Expr) -> bool:
    """Whether it is known what elements a pointer points to: `pointee_bits` has their size."""
    return is_typed(pointer) or addressed_element(pointer) is not None


def claimed_bytes(pointer: Expr) -> tuple[int, bool] | None:
    """How many bytes an access pointer claims, and whether exactly those; None if not constant."""
    if isinstance(pointer, Call) and is_typed(pointer) and len(pointer.args) > 3:
        extent = constant(pointer.args[3])
        return None if extent is None else bytes_of(pointer, extent)
    if isinstance(pointer, Call) and pointer.op == "handle_add_byte_offset":
        return claimed_bytes(pointer.args[0])
    return None


def byte_offset(index: Expr, dtype: str) -> Expr:
    """The byte in which the element of an index begins; `ANYWHERE` where that is not known.

    Addresses have 64 bits, whatever type the index has.
    """
    if not is_laid_out(dtype) and index != Const(0):
        return ANYWHERE
    bits = element_bits(dtype)
    if index == Const(0) or bits == 8:
        return index
    if bits % 8 == 0:
        return Call("mul", (index, _wide(Const(bits // 8))))
    return Call("floordiv", (Call("mul", (index, _wide(Const(bits)))), Const(8)))


def _wide(number: Expr) -> Expr:
    """A literal as one of 64 bits; anything else as it is."""
    is_plain = isinstance(number, Const) and isinstance(number.value, int) and not number.dtype
    return replace(number, dtype="int64") if is_plain and isinstance(number, Const) else number


def sum_of_offsets(one: Expr, other: Expr) -> Expr:
    """A sum in 64 bits, also of two offsets of an unsigned type, in which it might wrap."""
    if is_unsigned(one) and is_unsigned(other):
        one = Call("cast", (Const("int64"), one))
    return Call("add", (one, other))


def pointee_dtype(pointer: Expr) -> str:
    """The element type of a pointer: that of its `type_annotation`, or of the element it addresses.

    `uint8` where it states none.
    """
    if isinstance(pointer, Call) and pointer.op == "address_of":
        load = pointer.args[0]
        return load.buffer.dtype if isinstance(load, Load) else "uint8"
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        annotation = pointer.args[0]
        if isinstance(annotation, Call) and annotation.args:
            dtype = annotation.args[0]
            if isinstance(dtype, Const):
                return str(dtype.value)
    return "uint8"


def states_type(pointer: Expr) -> bool:
    """Whether the element type of a pointer is known, and not taken to be bytes for want of one."""
    if not (isinstance(pointer, Call) and is_typed(pointer)):
        return addressed_element(pointer) is not None
    return isinstance(pointer.args[0], Call) and bool(pointer.args[0].args)


def pointee_bits(pointer: Expr) -> int:
    """Bits of one element that a pointer points to."""
    return element_bits(pointee_dtype(pointer))


def bytes_of(pointer: Expr, elements: int) -> tuple[int, bool]:
    """The bytes that so many elements from a pointer on take, and whether it is exactly those.

    Elements smaller than a byte may begin and end in the middle of one.
    """
    bits = pointee_bits(pointer)
    if not is_laid_out(pointee_dtype(pointer)):
        return elements * bits // 8, False
    part = math.gcd(bits, 8)
    if elements * bits % 8 == 0 and _is_multiple(_index(pointer), 8 // part):
        return elements * bits // 8, True
    return (elements * bits + 8 - part + 7) // 8, False


def _index(pointer: Expr) -> Expr:
    """The element that a pointer points to, counted in the buffer that it names."""
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        return pointer.args[2]
    element = addressed_element(pointer)
    return Const(0) if element is None else flat_index(element.buffer, element.indices)


def _is_multiple(expr: Expr, number: int) -> bool:
    """Whether the way an index is written shows that it is a multiple of `number`."""
    if number == 1:
        return True
    if isinstance(expr, Const):
        return isinstance(expr.value, int) and expr.value % number == 0
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return False
    each = [_is_multiple(arg, number) for arg in expr.args]
    return (expr.op == "mul" and any(each)) or (expr.op in ("add", "sub") and all(each))


def flat_index(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The row-major element index of a buffer access.

    For a vector access it is a single ramp, as far as the last index is understood.
    """
    flat = _as_ramp(indices[-1]) if indices else Const(0)
    scale: Expr = Const(1)
    for index, extent in zip(reversed(indices[:-1]), reversed(buffer.shape[1:]), strict=True):
        scale = _wide(extent) if scale == Const(1) else Call("mul", (scale, extent))
        flat = _ramp_add(flat, Call("mul", (index, scale)))
    return flat if buffer.elem_offset == Const(0) else _ramp_add(flat, buffer.elem_offset)


def lanes_of(index: Expr) -> int | None:
    """The number of elements of a vector index; None for a scalar index or an unknown number."""
    if isinstance(index, Call) and index.op == "ramp":
        lanes = constant(index.args[2])
        return lanes if lanes is not None and lanes <= MAX_LANES else None
    return None


def lane_of(expr: Expr, lane: int) -> Expr:
    """The value of one lane of a vector expression, for operations that treat all lanes alike."""
    if isinstance(expr, Call):
        if expr.op == "ramp":
            base, stride, _ = expr.args
            return Call("add", (base, Call("mul", (stride, Const(lane)))))
        if expr.op == "broadcast":
            return expr.args[0]
        if expr.op == "cast":
            kind, value = expr.args
            scalar = str(kind.value).partition("x")[0] if isinstance(kind, Const) else ""
            return Call("cast", (Const(scalar), lane_of(value, lane)))
        return Call(expr.op, tuple(lane_of(one, lane) for one in expr.args), expr.annotations)
    if isinstance(expr, Load) and expr.predicate is None:
        return Load(expr.buffer, tuple(lane_of(index, lane) for index in expr.indices))
    return expr


def _ramp_add(index: Expr, more: Expr) -> Expr:
    if isinstance(index, Call) and index.op == "ramp":
        base, stride, lanes = index.args
        return Call("ramp", (sum_of_offsets(base, more), stride, lanes))
    return sum_of_offsets(index, more)


def _as_ramp(index: Expr) -> Expr:
    """`Ramp(a, 1, 8) + Broadcast(b, 8)`, as Apache TVM's merge has it, as `Ramp(a + b, 1, 8)`."""
    if not isinstance(index, Call) or index.op not in ("add", "sub", "broadcast"):
        return index
    found = _lanes(index)
    return index if found is None else Call("ramp", found)


def _lanes(index: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Base, stride and number of a vector's lanes, as in a ramp."""
    if not isinstance(index, Call):
        return None
    if index.op == "ramp":
        base, step, count = index.args
        return base, step, count
    if index.op == "broadcast":
        return index.args[0], Const(0), index.args[1]
    if index.op not in ("add", "sub"):
        return None
    one, other = map(_lanes, index.args)
    if one is None or other is None or constant(one[2]) is None or one[2] != other[2]:
        return None
    strides = constant(one[1]), constant(other[1])
    if strides[0] is None or strides[1] is None:
        return None
    stride = strides[0] + (strides[1] if index.op == "add" else -strides[1])
    base = one[0] if other[0] == Const(0) else Call(index.op, (one[0], other[0]))
    return base, Const(stride), one[2]
