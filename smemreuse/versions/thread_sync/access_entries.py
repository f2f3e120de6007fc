"""The access entries that `ThreadSync` records of a statement.

These are fewer, and more, than what the statement accesses. Elements are seen by their index, all
else where an address is made of the buffer: an address that is taken counts as read, an access
pointer as what its mask says, of as many elements as it claims. What is reached by a variable, a
descriptor or an operation's own rules is not seen at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Block,
    Buffer,
    Declare,
    Stmt,
    Store,
    element_bits,
    expressions_of,
    walk_statements,
)
from smemreuse.semantics.elements import addressed_element, flat_index, is_typed, pointee_bits
from smemreuse.semantics.guards import Condition, choice_parts
from smemreuse.semantics.pointers import Pointers, mask_of
from smemreuse.versions.thread_sync import ThreadSync

_VECTOR = re.compile(r"x\d+$")


@dataclass(frozen=True, eq=False)
class AccessEntry:
    """One access as the pass records it.

    - `index`: the first element, in elements of `width` bytes from the begin of the allocation
      `buffer`. None where it is not known what the pass compares, as for elements of less than a
      byte (`width` 0).
    - `lanes`, `stride`: number of elements, and their distance.
    - `extent`: number of contiguous elements of an access pointer.
    - `guards`: conditions in the expression under which the access happens, each with its required
      value.
    - `is_seen`: whether the pass surely records it. The type of a variable tells it the scope that
      this points into; of one that may say another scope it sees nothing.
    """

    buffer: Buffer
    is_write: bool
    by_pointer: bool
    index: Expr | None
    width: int
    stride: int = 1
    lanes: int = 1
    extent: Expr = Const(1)
    is_copy: bool = False
    is_atomic: bool = False
    guards: tuple[Condition, ...] = ()
    is_seen: bool = True

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that decides which elements are accessed."""
        conditions = tuple(condition for condition, _ in self.guards)
        return (*conditions, self.extent, *(() if self.index is None else (self.index,)))


Made = tuple[Stmt, AccessEntry]
"""An access entry of a statement."""


@dataclass(frozen=True)
class _Context:
    """What an expression is an operand of."""

    is_copy: bool = False
    is_atomic: bool = False
    guards: tuple[Condition, ...] = ()


def entries_of(
    stmt: Stmt, pointers: Pointers, rules: ThreadSync, scopes: Mapping[Var, str]
) -> tuple[AccessEntry, ...]:
    """The entries of a statement itself; for a branch or loop those of its header. `scopes` are
    those that are known of what variables point to, by their types."""
    recorder = _Recorder(pointers, rules, scopes)
    if isinstance(stmt, Store):
        recorder.element(stmt.buffer, stmt.indices, True, _Context())
    for expr in expressions_of(stmt):
        recorder.through(expr, _Context())
    return tuple(recorder.found)


class _Recorder:
    """Collects in `found` the access entries that the pass records while it visits expressions."""

    def __init__(self, pointers: Pointers, rules: ThreadSync, scopes: Mapping[Var, str]):
        self._pointers = pointers
        self._rules = rules
        self._scopes = scopes
        self.found: list[AccessEntry] = []

    def through(self, expr: Expr, context: _Context) -> None:
        """Visits an expression and records its accesses."""
        if isinstance(expr, Load):
            self.element(expr.buffer, expr.indices, False, context)
            for child in expr.indices:
                self.through(child, context)
        elif parts := choice_parts(expr):
            for part, conditions in parts:
                self.through(part, replace(context, guards=(*context.guards, *conditions)))
        elif isinstance(expr, Call):
            self._operation(expr, context)

    def _operation(self, call: Call, context: _Context) -> None:
        """Visits a call: an address or access pointer is an entry, operands are visited in turn."""
        element = addressed_element(call)
        if element is not None:
            self._address(element, context)
            for index in element.indices:
                self.through(index, context)
            return
        if is_typed(call) and len(call.args) == 5:
            self._pointer(call, context)
        inside = replace(context, is_copy=context.is_copy or call.op in self._rules.copies)
        target = replace(inside, is_atomic=context.is_atomic or call.op in self._rules.atomics)
        for at, operand in enumerate(call.args):
            self.through(operand, inside if at else target)

    def element(
        self, buffer: Buffer, indices: tuple[Expr, ...], is_write: bool, context: _Context
    ) -> None:
        """An element, or a vector of them, that is loaded or stored."""
        bits, stride, lanes = element_bits(buffer.dtype), 1, 1
        index: Expr | None = flat_index(buffer, indices)
        if isinstance(index, Call) and index.op == "ramp":
            index, step, count = index.args
            distance, number = constant(step), constant(count)
            if distance is None or number is None:
                index = None
            else:
                stride, lanes = distance, number
        if len(indices) != 1:
            index = None
        width, guards = _whole_bytes(bits), context.guards
        self._record(
            AccessEntry(buffer, is_write, False, index, width, stride, lanes, guards=guards)
        )

    def _address(self, element: Load, context: _Context) -> None:
        """An address that is taken is one element that is read, whatever is done there."""
        index = element.indices[0] if len(element.indices) == 1 else None
        width = _whole_bytes(element_bits(element.buffer.dtype))
        is_atomic, guards = context.is_atomic, context.guards
        self._record(
            AccessEntry(
                element.buffer, False, True, index, width, is_atomic=is_atomic, guards=guards
            )
        )

    def _pointer(self, call: Call, context: _Context) -> None:
        """Records an access pointer: a read and a write entry, as its mask allows."""
        base, mask = call.args[1], mask_of(call)
        named: tuple[Buffer, ...] = ()
        index: Expr | None = None
        if isinstance(base, Pointer):
            named, index = (base.buffer,), call.args[2]
        elif isinstance(base, Var):
            named = self._pointers.of_variable(base)
        for buffer in named:
            for is_write in (False, True):
                if mask is not (Access.READ if is_write else Access.WRITE):
                    self._record(
                        AccessEntry(
                            buffer,
                            is_write,
                            True,
                            index,
                            _whole_bytes(pointee_bits(call)),
                            extent=call.args[3],
                            is_copy=context.is_copy,
                            is_atomic=context.is_atomic,
                            guards=context.guards,
                            is_seen=not isinstance(base, Var)
                            or self._scopes.get(base) == buffer.scope,
                        )
                    )

    def _record(self, entry: AccessEntry) -> None:
        """Adds an entry for each allocation that its buffer may name, if in shared memory.

        The index is dropped where it is not known what the pass compares: views that begin
        elsewhere, variables that hold addresses, and elements that are vectors.
        """
        named = entry.buffer
        is_plain = isinstance(named.storage, Buffer) and named.elem_offset == Const(0)
        is_plain = is_plain and _VECTOR.search(named.dtype) is None
        for buffer in self._pointers.of_buffer(named):
            if buffer.scope in SHARED_SCOPES:
                index = entry.index if is_plain and entry.width else None
                is_seen = isinstance(named.storage, Buffer) or named.scope == buffer.scope
                is_seen = is_seen and entry.is_seen
                self.found.append(replace(entry, buffer=buffer, index=index, is_seen=is_seen))


def declared_scopes(body: Block) -> dict[Var, str]:
    """The scopes that views state of the variables that they begin at: those of their types."""
    views = (stmt.buffer for stmt in walk_statements(body) if isinstance(stmt, Declare))
    return {one.storage: one.scope for one in views if isinstance(one.storage, Var)}


def _whole_bytes(bits: int) -> int:
    """Bytes of an element; 0 for one that ends in the middle of a byte."""
    return bits // 8 if bits % 8 == 0 else 0
