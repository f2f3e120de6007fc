"""Where pointers point: which allocation an expression names, and at which offset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant, same, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Bind,
    Block,
    Buffer,
    Declare,
    For,
    Stmt,
    Store,
    element_bits,
    nodes_of,
    walk_statements,
)
from smemreuse.semantics.elements import (
    byte_offset,
    flat_index,
    is_typed,
    places_in,
    pointee_dtype,
    sum_of_offsets,
)
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.foreign import ADDRESS_TYPES, may_hold_address, takes_values
from smemreuse.semantics.table import effect_of, is_foreign, written_operands

ADDRESS_OPS = {"tvm_access_ptr": 3, "address_of": 1, "handle_add_byte_offset": 2, "reinterpret": 1}
"""Operations that make a pointer of a pointer, and the operands that they need for it."""


@dataclass(frozen=True, slots=True)
class Address:
    """A place in an allocation, `offset` bytes (an expression) after its first byte."""

    buffer: Buffer
    offset: Expr

    def same_as(self, other: Address) -> bool:
        """Whether both are the same place, the offsets written alike."""
        return self.buffer is other.buffer and same(self.offset, other.offset)


@dataclass(frozen=True)
class Pointers:
    """The variables that hold addresses.

    - `exact`: variables with one known address.
    - `possible`: variables that may point into any of several allocations, because they are bound
      to something that is not understood, such as a choice between pointers or a function's result.
    - `kept`: allocations whose addresses were stored in memory, where they are not followed (rule
      1).
    """

    exact: Mapping[Var, Address] = field(default_factory=dict)
    possible: Mapping[Var, tuple[Buffer, ...]] = field(default_factory=dict)
    kept: Collection[Buffer] = ()

    def same_as(self, other: Pointers) -> bool:
        """Whether the same variables hold the same addresses."""
        return (
            self.exact.keys() == other.exact.keys()
            and all(one.same_as(other.exact[var]) for var, one in self.exact.items())
            and self.possible == other.possible
            and set(self.kept) == set(other.kept)
        )

    def binding(self, var: Var, value: Expr) -> Pointers:
        """These, where a variable has a value inside of an expression."""
        address = address_of(value, self)
        if address is not None:
            return Pointers({**self.exact, var: address}, self.possible, self.kept)
        mentioned = tuple(dict.fromkeys(_mentioned(value, self)))
        return Pointers(self.exact, {**self.possible, var: mentioned}, self.kept)

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
    changed = _Changed(body)
    exact: dict[Var, Address] = {}
    possible: dict[Var, tuple[Buffer, ...]] = {}
    kept: dict[Buffer, None] = {}
    found = Pointers(exact, possible, kept.keys())
    while True:
        before = len(kept)
        for stmt in walk_statements(body):
            kept.update(dict.fromkeys(_kept_by(stmt, found)))
            if isinstance(stmt, (Bind, For)):
                value = stmt.value if isinstance(stmt, Bind) else stmt.begin
                address = address_of(value, found) if isinstance(stmt, Bind) else None
                mentioned = dict.fromkeys(_mentioned(value, found))
                if address is not None and changed.after(stmt, address.offset):
                    possible[stmt.var] = (address.buffer,)
                elif address is not None:
                    exact[stmt.var] = address
                elif mentioned:
                    possible[stmt.var] = tuple(mentioned)
        if len(kept) == before:
            return found


class _Changed:
    """Whether memory changes from which the offset of a pointer was computed.

    The offset is evaluated where the pointer is used, and must still be what it was where the
    pointer was made. After a `Bind` a variable keeps its value until the same `Bind` runs again.
    """

    def __init__(self, body: Block):
        self._body = body
        self._places: dict[Stmt, int] = {}
        self._last: dict[Buffer | Var, int] = {}
        self._escaped: set[Buffer | Var] = set()

    def after(self, stmt: Stmt, offset: Expr) -> bool:
        """Whether memory that `offset` loads may change after `stmt`, which computes the
        address.
        """
        loaded = {node.buffer.storage for node in walk(offset) if isinstance(node, Load)}
        if loaded and not self._places:
            self._find()
        last = (self._last.get(one, -1) for one in loaded)
        return bool(loaded & self._escaped) or any(at > self._places[stmt] for at in last)

    def _find(self) -> None:
        """Finds the position of each statement, the last store to each storage, and what
        escapes.
        """
        for place, stmt in enumerate(walk_statements(self._body)):
            self._places[stmt] = place
            self._escaped.update(escaping(stmt))
            if isinstance(stmt, Store):
                self._last[stmt.buffer.storage] = place


def _kept_by(stmt: Stmt, pointers: Pointers) -> Iterator[Buffer]:
    """The allocations whose addresses a statement stores in memory, or may store."""
    if isinstance(stmt, Store):
        yield from _mentioned(stmt.value, pointers)
    for node in nodes_of(stmt):
        if isinstance(node, Call) and is_foreign(node):
            yield from _kept_by_function(node, pointers)
        elif isinstance(node, Call) and effect_of(node).keeps:
            for arg in node.args:
                yield from _mentioned(arg, pointers)
        elif isinstance(node, Call) and node.args:
            yield from _kept_in_locals(node, pointers)


def _kept_in_locals(call: Call, pointers: Pointers) -> Iterator[Buffer]:
    """The allocations whose addresses an instruction may write into one of its operands (PTX
    `mov`).
    """
    effect = effect_of(call)
    if effect.address and effect.writes_locals:
        for arg in call.args:
            yield from _mentioned(arg, pointers)


def _kept_by_function(call: Call, pointers: Pointers) -> Iterator[Buffer]:
    """The allocations whose addresses a function may store through another pointer that it is
    handed.
    """
    room = (
        node.buffer.scope not in SHARED_SCOPES and node.buffer.dtype in ADDRESS_TYPES
        for arg in call.args
        if not (isinstance(arg, Load) and takes_values(call))
        for node in walk(arg)
        if isinstance(node, (Pointer, Load))
    )
    if any(room):
        for arg in call.args:
            yield from _mentioned(arg, pointers)


def _mentioned(value: Expr, pointers: Pointers) -> Iterator[Buffer]:
    """The allocations whose addresses, rather than contents, may be in a value."""
    if isinstance(value, Pointer):
        yield from pointers.of_buffer(value.buffer)
    elif isinstance(value, Var):
        yield from pointers.of_variable(value)
    elif isinstance(value, Load):
        if may_hold_address(value.buffer.dtype):
            yield from pointers.kept
    elif isinstance(value, Call) and effect_of(value).address:
        for operand in value.args:
            if value.op == "address_of" and isinstance(operand, Load):
                yield from pointers.of_buffer(operand.buffer)
            else:
                yield from _mentioned(operand, pointers)
        if is_foreign(value):
            yield from pointers.kept


def escaping(stmt: Stmt) -> Iterator[Buffer | Var]:
    """What a statement takes the address of, or hands on by reference: it may change any time."""
    for node in nodes_of(stmt):
        if isinstance(node, Pointer):
            yield node.buffer.storage
        elif isinstance(node, Call) and node.op == "address_of":
            if isinstance(node.args[0], Load):
                yield node.args[0].buffer.storage
        elif isinstance(node, Call):
            effect = effect_of(node)
            anything = effect.by_reference or bool(effect.unknown)
            for operand in node.args if anything else written_operands(node):
                if isinstance(operand, Load):
                    yield operand.buffer.storage


def views_beyond(body: Block, pointers: Pointers) -> Iterator[tuple[Buffer, Buffer]]:
    """Views that are known to end after the allocation that they show, each with that."""
    for stmt in walk_statements(body):
        place = storage_address(stmt.buffer, pointers) if isinstance(stmt, Declare) else None
        if place is not None and isinstance(stmt, Declare):
            view, whole = stmt.buffer, place.buffer.size
            begin, first = _number(place.offset), _number(view.elem_offset)
            if None not in (whole, begin, first, view.size):
                first_bit = 8 * (begin or 0) + (first or 0) * element_bits(view.dtype)
                if -(-first_bit // 8) + (view.size or 0) > (whole or 0):
                    yield view, place.buffer


def _number(expr: Expr) -> int | None:
    """What an expression without variables comes to."""
    value = evaluate(expr, Threads(np.arange(1)))
    return value if isinstance(value, int) else None


def address_of(expr: Expr, addresses: Pointers) -> Address | None:
    """The place that a pointer-valued expression names; None if it names none that is known."""
    if isinstance(expr, Pointer):
        return storage_address(expr.buffer, addresses)
    if isinstance(expr, Var):
        return addresses.exact.get(expr)
    if not isinstance(expr, Call) or len(expr.args) < ADDRESS_OPS.get(expr.op, 1 << 30):
        return None
    if expr.op == "reinterpret":
        return address_of(expr.args[-1], addresses)
    if expr.op == "handle_add_byte_offset":
        return displaced(address_of(expr.args[0], addresses), expr.args[1])
    if expr.op == "address_of":
        load = expr.args[0]
        return element_address(load, addresses) if isinstance(load, Load) else None
    base = address_of(expr.args[1], addresses)
    return displaced(base, byte_offset(expr.args[2], pointee_dtype(expr)))


def let_parts(call: Call) -> tuple[Var, Expr, Expr] | None:
    """The variable, its value and the expression of `let(variable, value, expression)`."""
    if call.op == "let" and len(call.args) == 3 and isinstance(call.args[0], Var):
        return call.args[0], call.args[1], call.args[2]
    return None


def contents_computing(pointer: Expr) -> Iterator[Expr]:
    """What is evaluated to compute an address, of an expression that names one or may.

    What makes no address of one (a value that is reinterpreted as another type, an element or a
    function's result that holds an address) is evaluated itself.
    """
    if not isinstance(pointer, (Call, Load)):
        return
    if isinstance(pointer, Load) or len(pointer.args) < ADDRESS_OPS.get(pointer.op, 1 << 30):
        yield pointer
    elif pointer.op == "tvm_access_ptr":
        yield from contents_computing(pointer.args[1])
        yield from pointer.args[2:]
    elif pointer.op == "address_of":
        load = pointer.args[0]
        yield from places_in(load.buffer, load.indices) if isinstance(load, Load) else (load,)
    elif pointer.op == "handle_add_byte_offset":
        yield from contents_computing(pointer.args[0])
        yield pointer.args[1]
    else:  # reinterpret
        yield from contents_computing(pointer.args[-1])


_RW_MASK = {1: Access.READ, 2: Access.WRITE, 3: Access.READ_WRITE}


def mask_of(pointer: Expr) -> Access:
    """What an access pointer says is done through it; a mask that is no constant may be any."""
    if isinstance(pointer, Call):
        if is_typed(pointer) and len(pointer.args) == 5:
            mask = constant(pointer.args[4])
            return Access.READ_WRITE if mask is None else _RW_MASK.get(mask, Access.READ_WRITE)
        if pointer.op == "handle_add_byte_offset":
            return mask_of(pointer.args[0])
    return Access.READ_WRITE


def is_for_writing(expr: Expr) -> bool:
    """Whether an expression makes an address that says that it may be written through."""
    if not isinstance(expr, Call):
        return False
    if expr.op == "address_of":
        return True
    return is_typed(expr) and mask_of(expr) is not Access.READ


def storage_address(buffer: Buffer, addresses: Pointers) -> Address | None:
    storage = buffer.storage
    if isinstance(storage, Var):
        return addresses.exact.get(storage)
    return Address(storage, Const(0))


def element_address(load: Load, addresses: Pointers) -> Address | None:
    """The address of the element that a load names; None if its buffer's address is not known."""
    base = storage_address(load.buffer, addresses)
    index = flat_index(load.buffer, load.indices)
    if isinstance(index, Call) and index.op == "ramp":
        index = index.args[0]
    return displaced(base, byte_offset(index, load.buffer.dtype))


def displaced(base: Address | None, offset: Expr) -> Address | None:
    """An address moved by an offset; None if the result is not known."""
    if base is None:
        return None
    if base.offset == Const(0):
        return Address(base.buffer, offset)
    return Address(base.buffer, sum_of_offsets(base.offset, offset))
