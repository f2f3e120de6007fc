"""Where pointers point: which allocation an expression names, and how far behind its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var, walk
from smemreuse.model.kernel import Bind, Block, Buffer, element_bits, walk_statements

# Pointers made of a pointer: no access by themselves.
ADDRESS_OPS = frozenset({"tvm_access_ptr", "address_of", "handle_add_byte_offset", "reinterpret"})


@dataclass(frozen=True, slots=True)
class Address:
    """A place in an allocation, `offset` bytes (an expression) behind its first byte."""

    buffer: Buffer
    offset: Expr


@dataclass(frozen=True)
class Pointers:
    """Variables that hold addresses: `exact` ones in one place, `possible` ones in any of several.

    A `possible` variable is bound to something made of addresses that is not understood, such as a
    choice between two pointers, or what a function returns that was handed one.
    """

    exact: Mapping[Var, Address] = field(default_factory=dict)
    possible: Mapping[Var, tuple[Buffer, ...]] = field(default_factory=dict)

    def of_variable(self, var: Var) -> tuple[Buffer, ...]:
        """The allocations that a variable may point into."""
        if var in self.exact:
            return (self.exact[var].buffer,)
        return self.possible.get(var, ())

    def of_buffer(self, buffer: Buffer) -> tuple[Buffer, ...]:
        """The allocations whose bytes a buffer may name."""
        storage = buffer.storage
        return self.of_variable(storage) if isinstance(storage, Var) else (storage,)


def find_pointers(body: Block) -> Pointers:
    """Every variable of a kernel that holds an address inside an allocation, or may."""
    exact: dict[Var, Address] = {}
    possible: dict[Var, tuple[Buffer, ...]] = {}
    found = Pointers(exact, possible)
    for stmt in walk_statements(body):
        if isinstance(stmt, Bind):
            address = address_of(stmt.value, found)
            if address is not None:
                exact[stmt.var] = address
            else:
                mentioned = tuple(dict.fromkeys(_mentioned(stmt.value, found)))
                if mentioned:
                    possible[stmt.var] = mentioned
    return found


def _mentioned(value: Expr, pointers: Pointers) -> Iterator[Buffer]:
    """The allocations whose addresses go into a value, whatever is done with them."""
    for node in walk(value):
        if isinstance(node, Pointer):
            yield from pointers.of_buffer(node.buffer)
        elif isinstance(node, Var):
            yield from pointers.of_variable(node)
        elif isinstance(node, Call) and node.op == "address_of":
            if isinstance(node.args[0], Load):
                yield from pointers.of_buffer(node.args[0].buffer)


def address_of(expr: Expr, addresses: Pointers) -> Address | None:
    """The place that a pointer-valued expression names; None if it names none that is known."""
    if isinstance(expr, Pointer):
        return storage_address(expr.buffer, addresses)
    if isinstance(expr, Var):
        return addresses.exact.get(expr)
    if not isinstance(expr, Call) or expr.op not in ADDRESS_OPS:
        return None
    if expr.op == "reinterpret":
        return address_of(expr.args[-1], addresses)
    if expr.op == "handle_add_byte_offset":
        return displaced(address_of(expr.args[0], addresses), expr.args[1])
    if expr.op == "address_of":
        load = expr.args[0]
        return element_address(load, addresses) if isinstance(load, Load) else None
    base = address_of(expr.args[1], addresses)
    return displaced(base, scaled(expr.args[2], pointee_bits(expr)))


def storage_address(buffer: Buffer, addresses: Pointers) -> Address | None:
    storage = buffer.storage
    if isinstance(storage, Var):
        return addresses.exact.get(storage)
    return Address(storage, Const(0))


def element_address(load: Load, addresses: Pointers) -> Address | None:
    base = storage_address(load.buffer, addresses)
    index = flat_index(load.buffer, load.indices)
    if isinstance(index, Call) and index.op == "ramp":
        index = index.args[0]
    return displaced(base, scaled(index, element_bits(load.buffer.dtype)))


def displaced(base: Address | None, offset: Expr) -> Address | None:
    if base is None:
        return None
    if base.offset == Const(0):
        return Address(base.buffer, offset)
    return Address(base.buffer, Call("add", (base.offset, offset)))


def scaled(index: Expr, bits: int) -> Expr:
    """An element index in bytes."""
    if index == Const(0) or bits == 8:
        return index
    if bits % 8 == 0:
        return Call("mul", (index, Const(bits // 8)))
    return Call("floordiv", (Call("mul", (index, Const(bits))), Const(8)))


def pointee_bits(pointer: Expr) -> int:
    """Bits of one element behind a pointer: of its `type_annotation`, or of what is loaded."""
    if isinstance(pointer, Call) and pointer.op == "address_of":
        load = pointer.args[0]
        return element_bits(load.buffer.dtype) if isinstance(load, Load) else 8
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        annotation = pointer.args[0]
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
