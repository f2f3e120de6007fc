"""What TileLang's `ThreadSync` sees of a statement's accesses to shared memory.

That is less, and more, than what the statement does. Elements are seen by their index, all else
where an address is made of the buffer: an address that is taken counts as read, an access pointer
as what its mask says, of as many elements as it claims. What is reached by a variable, a descriptor
or an operation's own rules is not seen at all. Re-enacted after the source of TileLang 0.1.15.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from smemreuse.ir.access import Access
from smemreuse.ir.expr import CHOICES, Call, Const, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Stmt, Store, element_bits, expressions_of
from smemreuse.semantics.elements import addressed_element, flat_index, is_typed, pointee_bits
from smemreuse.semantics.pointers import Pointers, mask_of
from smemreuse.semantics.rows.thread_sync import COPIES
from smemreuse.semantics.table import effect_of

_VECTOR = re.compile(r"x\d+$")


@dataclass(frozen=True, eq=False)
class Sight:
    """One access as the pass notes it.

    `index` is the first element, counted in elements of `width` bytes from the beginning of the
    allocation `buffer`; None where it is not known what the pass makes of it, as of elements that
    take no whole bytes (`width` is 0 then). `lanes` elements
    follow, `stride` apart; of a pointer, `extent` elements on end. `guards` are the conditions in
    the expression under which it is accessed, each with whether it has to hold.
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
    guards: tuple[tuple[Expr, bool], ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that decides which elements are accessed."""
        conditions = tuple(condition for condition, _ in self.guards)
        return (*conditions, self.extent, *(() if self.index is None else (self.index,)))


@dataclass(frozen=True)
class _Around:
    """What an expression is an operand of."""

    is_copy: bool = False
    is_atomic: bool = False
    guards: tuple[tuple[Expr, bool], ...] = ()


def sights_of(stmt: Stmt, pointers: Pointers) -> tuple[Sight, ...]:
    """What the pass notes of a statement itself, of a branch or loop what its header reads."""
    look = _Look(pointers)
    if isinstance(stmt, Store):
        look.element(stmt.buffer, stmt.indices, True, _Around())
    for expr in expressions_of(stmt):
        look.through(expr, _Around())
    return tuple(look.found)


class _Look:
    """Goes through expressions as the pass does."""

    def __init__(self, pointers: Pointers):
        self._pointers = pointers
        self.found: list[Sight] = []

    def through(self, expr: Expr, around: _Around) -> None:
        if isinstance(expr, Load):
            self.element(expr.buffer, expr.indices, False, around)
            for child in expr.indices:
                self.through(child, around)
        elif isinstance(expr, Call) and expr.op in CHOICES and len(expr.args) == 3:
            self._choice(expr, around)
        elif isinstance(expr, Call):
            self._operation(expr, around)

    def _choice(self, call: Call, around: _Around) -> None:
        condition, one, other = call.args
        self.through(condition, around)
        for value, holds in ((one, True), (other, False)):
            self.through(value, replace(around, guards=(*around.guards, (condition, holds))))

    def _operation(self, call: Call, around: _Around) -> None:
        element = addressed_element(call)
        if element is not None:
            self._address(element, around)
            for index in element.indices:
                self.through(index, around)
            return
        if is_typed(call) and len(call.args) == 5:
            self._pointer(call, around)
        is_copy = around.is_copy or call.op in COPIES
        is_atomic = around.is_atomic or effect_of(call).atomic
        inside = replace(around, is_copy=is_copy, is_atomic=is_atomic)
        for operand in call.args:
            self.through(operand, inside)

    def element(
        self, buffer: Buffer, indices: tuple[Expr, ...], is_write: bool, around: _Around
    ) -> None:
        """An element, or a vector of them, that is loaded or stored."""
        bits, stride, lanes = element_bits(buffer.dtype), 1, 1
        index: Expr | None = flat_index(buffer, indices)
        if isinstance(index, Call) and index.op == "ramp":
            index, step, count = index.args
            apart, number = constant(step), constant(count)
            if apart is None or number is None:
                index = None
            else:
                stride, lanes = apart, number
        if len(indices) != 1:
            index = None
        guards = around.guards
        self._note(
            Sight(buffer, is_write, False, index, _whole_bytes(bits), stride, lanes, guards=guards)
        )

    def _address(self, element: Load, around: _Around) -> None:
        """An address that is taken is one element that is read, whatever is done there."""
        index = element.indices[0] if len(element.indices) == 1 else None
        width = _whole_bytes(element_bits(element.buffer.dtype))
        is_atomic, guards = around.is_atomic, around.guards
        self._note(
            Sight(element.buffer, False, True, index, width, is_atomic=is_atomic, guards=guards)
        )

    def _pointer(self, call: Call, around: _Around) -> None:
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
                    self._note(
                        Sight(
                            buffer,
                            is_write,
                            True,
                            index,
                            _whole_bytes(pointee_bits(call)),
                            extent=call.args[3],
                            is_copy=around.is_copy,
                            is_atomic=around.is_atomic,
                            guards=around.guards,
                        )
                    )

    def _note(self, sight: Sight) -> None:
        """Of a view that begins elsewhere, of what a variable points to, and of elements that are
        vectors it is not known what the pass compares."""
        named = sight.buffer
        is_plain = isinstance(named.storage, Buffer) and named.elem_offset == Const(0)
        is_plain = is_plain and _VECTOR.search(named.dtype) is None
        for buffer in self._pointers.of_buffer(named):
            if buffer.scope in SHARED_SCOPES:
                index = sight.index if is_plain and sight.width else None
                self.found.append(replace(sight, buffer=buffer, index=index))


def _whole_bytes(bits: int) -> int:
    """Bytes of an element; 0 for one that ends in the middle of a byte."""
    return bits // 8 if bits % 8 == 0 else 0
