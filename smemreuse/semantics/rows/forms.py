"""Short forms of the rows that occur over and over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const
from smemreuse.semantics.effects import (
    Answer,
    Effect,
    Elements,
    Extent,
    Operand,
    OperandKind,
    Position,
    Size,
)

AnyRow = TypeVar("AnyRow")

TWO_BLOCKS = "use_2cta"
"""What annotates an operation that two blocks of a cluster carry out together."""

A_VALUE = "computes a value"
IN_REGISTERS = "registers of a warp are exchanged: no memory, and no order between accesses"


EXCHANGED = Effect(answer=Answer.VARIES, words=IN_REGISTERS, converges=True)
"""Of what the lanes of a warp tell each other: all that take part have to be there."""


SHUFFLED = replace(EXCHANGED, lanes=0)
"""Of those whose first operand names the lanes that take part."""


def each(names: str | Iterable[str], row: Effect) -> dict[str, Effect]:
    """One row for many operations; names are given as a list or in one string."""
    listed = names.split() if isinstance(names, str) else list(names)
    rows = dict.fromkeys(listed, row)
    if len(rows) != len(listed):
        raise ValueError(f"an operation is named twice in {listed}")
    return rows


def prefixed(beginning: str, names: str) -> list[str]:
    """Names with the same beginning, of which the rest is given in one string."""
    return [beginning + name for name in names.split()]


def merged(*parts: Mapping[str, AnyRow]) -> dict[str, AnyRow]:
    """Rows from several places; raises `ValueError` for an operation that has two."""
    rows: dict[str, AnyRow] = {}
    for part in parts:
        twice = rows.keys() & part.keys()
        if twice:
            raise ValueError(f"more than one row for {', '.join(sorted(twice))}")
        rows.update(part)
    return rows


def values(names: str | Iterable[str]) -> dict[str, Effect]:
    """Operations that compute the same result of the same operands."""
    return each(names, Effect(words=A_VALUE))


def address_values(names: str | Iterable[str]) -> dict[str, Effect]:
    """The same, where an address among the operands may be in the result."""
    return each(names, Effect(address=True, words=A_VALUE))


def varying(names: str | Iterable[str], words: str = A_VALUE) -> dict[str, Effect]:
    """Operations whose result each thread may get differently."""
    return each(names, Effect(answer=Answer.VARIES, words=words))


def nothing(names: str | Iterable[str], words: str) -> dict[str, Effect]:
    """Operations without an effect on shared memory, with the reason."""
    return each(names, Effect(words=words))


def ordering_elsewhere(names: str, words: str) -> dict[str, Effect]:
    """As `nothing`, of operations that order what is not in shared memory."""
    return each(names, Effect(words=words, elsewhere=True))


def accessing(
    *operands: Operand, read: Iterable[int] = (), written: Iterable[int] = (), **columns: Any
) -> Effect:
    """An effect that accesses memory through operands.

    `read` and `written` are positions of pointers to registers. Their targets count as accessed in
    case they are no registers after all.
    """
    in_registers = (
        *(reads(at, certain=False) for at in read),
        *(updates(at, certain=False) for at in written),
    )
    columns.setdefault("writes_locals", tuple(written))
    return Effect(operands=(*operands, *in_registers), follows=True, **columns)


def reads(at: Position, size: Size = Extent.WHOLE, **how: Any) -> Operand:
    """An operand through which memory is read; `how` are columns of `Operand`."""
    return Operand(at, Access.READ, size, **how)


def writes(at: Position, size: Size = Extent.WHOLE, **how: Any) -> Operand:
    """An operand through which memory is written; `how` are columns of `Operand`."""
    return Operand(at, Access.WRITE, size, **how)


def updates(at: Position, size: Size = Extent.WHOLE, **how: Any) -> Operand:
    """An operand through which memory is read and written; `how` are columns of `Operand`."""
    return Operand(at, Access.READ_WRITE, size, **how)


_UNITS = frozenset({2, 4, 8, 16})
"""Bytes that one instruction loads, stores or updates; of single ones each row says it."""

ONE_ELEMENT = Elements(1, _UNITS)
ONE_LOADED = Elements(1, _UNITS | {1})


def vector_atomic(lanes: int, at: Position = 0) -> Operand:
    """An atomic on so many elements of two or four bytes; what of other types is not known."""
    return updates(at, Elements(lanes, frozenset({2, 4})))


def text_at(call: Call, at: int) -> str | None:
    """The string that an operand is; None for anything else, or where there is no such operand."""
    operand = call.args[at] if at < len(call.args) else None
    value = operand.value if isinstance(operand, Const) else None
    return value if isinstance(value, str) else None


SHARED, BARRIER = OperandKind.SHARED, OperandKind.BARRIER
