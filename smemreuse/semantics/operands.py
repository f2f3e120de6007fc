"""The operands that a row lists: where they stand in a call, and how many bytes they mean."""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.expr import CHOICES, Call, Expr, Load, constant
from smemreuse.ir.kernel import SHARED_SCOPES, element_bits, is_laid_out
from smemreuse.semantics.effects import (
    LANES,
    BytesIn,
    Effect,
    Elements,
    ElementsIn,
    Extent,
    Fixed,
    MatricesAt,
    Operand,
    OperandKind,
    Position,
    Strided,
)
from smemreuse.semantics.elements import (
    bytes_of,
    claimed_bytes,
    has_elements,
    is_typed,
    pointee_dtype,
    states_type,
)
from smemreuse.semantics.pointers import Pointers, address_of
from smemreuse.semantics.table import is_mbarrier

_LAZY = (*CHOICES, "and", "or")
"""Operators whose first operand decides which of the others are evaluated."""


def is_lazy(call: Call, place: int) -> bool:
    """Whether an operand may be left unevaluated."""
    return place > 0 and call.op in _LAZY


def places(
    effect: Effect, operands: tuple[Expr, ...], pointers: Pointers
) -> Iterator[tuple[Operand, int]]:
    """The operands that a row lists, each with its position in the call."""
    for operand in effect.operands:
        place = position(operand.at, operands, pointers)
        if place is not None:
            yield operand, place


def position(at: Position, operands: tuple[Expr, ...], pointers: Pointers) -> int | None:
    """Where an operand stands, counted from 0; None if a call has none such."""
    if isinstance(at, int):
        place = at if at >= 0 else len(operands) + at
        return place if 0 <= place < len(operands) else None
    for place, operand in enumerate(operands):
        if at is OperandKind.BARRIER:
            if is_mbarrier(operand):
                return place
        else:
            address = address_of(operand, pointers)
            if address is not None and address.buffer.scope in SHARED_SCOPES:
                return place
    return None


def size_of(
    argument: Expr, operand: Operand, operands: tuple[Expr, ...]
) -> tuple[int | None, bool]:
    """The bytes accessed through a pointer operand, and whether it is exactly those bytes.

    None where the size is not constant, or the access may be anywhere in the buffer.
    """
    size = operand.size
    if isinstance(size, (Fixed, Strided)):
        return size.bytes, True
    if isinstance(size, Elements):
        each = element_bytes(argument)
        return (size.number * each if each in size.sizes else None), True
    if isinstance(size, (BytesIn, ElementsIn)):
        number = constant(operands[size.at]) if size.at < len(operands) else None
        if number is None or isinstance(size, BytesIn):
            return number, True
        return bytes_of(argument, number) if has_elements(argument) else (None, True)
    claimed = claimed_bytes(argument) if size is Extent.CLAIMED else None
    return claimed or (None, True)


def element_bytes(argument: Expr) -> int | None:
    """The bytes of an element that a pointer points to, or that is passed by reference; None
    where its type is not known, or takes no whole bytes."""
    if isinstance(argument, Load):
        dtype = argument.buffer.dtype
    elif has_elements(argument) and states_type(argument):
        dtype = pointee_dtype(argument)
    else:
        return None
    bits = element_bits(dtype)
    return bits // 8 if is_laid_out(dtype) and bits % 8 == 0 else None


def lanes_of(operand: Operand, operands: tuple[Expr, ...]) -> int | None:
    """How many lanes of a warp, from the first on, access something; None if that is not known."""
    number = operand.matrices
    if number is None:
        return LANES
    if isinstance(number, MatricesAt):
        number = constant(operands[number.at]) if number.at < len(operands) else None
    return 8 * number if number in (1, 2, 4) else None


def counts_elements(argument: Expr, operand: Operand, effect: Effect) -> bool:
    """Some versions of an operation count bytes where the pointer has no type, and others
    elements; a function that is declared has one version."""
    return not isinstance(operand.size, ElementsIn) or bool(effect.declared) or is_typed(argument)
