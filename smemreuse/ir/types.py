"""Integer types of TIR, by their names, and the type that an operator's operands have in common.

A literal without a type takes that of the other operand. TIR's operands have one type otherwise;
text may say something else, and then C, which converts to the unsigned type, and TVM, which
converts to the signed one, may disagree. Such a type counts as unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True, eq=False)
class IntegerType:
    """An integer type: one object for each, so that types compare by identity."""

    name: str
    bits: int
    is_signed: bool
    least: int = field(init=False)
    most: int = field(init=False)

    def __post_init__(self) -> None:
        above = 1 << (self.bits - 1 if self.is_signed else self.bits)
        object.__setattr__(self, "least", -above if self.is_signed else 0)
        object.__setattr__(self, "most", above - 1)

    @property
    def wraps(self) -> bool:
        """Whether sums may wrap; overflow of a signed type is undefined, and assumed away."""
        return not self.is_signed and self is not BOOL

    def is_within(self, other: IntegerType) -> bool:
        """Whether another type holds every number of this one."""
        return other.least <= self.least and self.most <= other.most


BOOL = IntegerType("bool", 1, False)
INT32 = IntegerType("int32", 32, True)
INT64 = IntegerType("int64", 64, True)
LITERAL = IntegerType("", 32, True)
"""The type of what is made of literals alone: `int32`, unless another operand says otherwise."""
LONG = IntegerType("int64", 64, True)
"""The type of a literal without a type that `int32` does not hold: of 64 bits to C and to TVM, but
beside an unsigned operand one of that type may be meant, so that theirs is unknown."""

NO_INTEGER = "void"
"""The type of a variable that holds no integer, or of which it is not known what it holds."""

_NAME = re.compile(r"(?P<sign>u?)int(?P<bits>\d{0,3})(?:x\d+)?", re.ASCII)
_BOOLEAN = re.compile(r"bool(?:ean)?(?:x\d+)?", re.ASCII)
_WIDTHS = (8, 16, 32, 64)
_known = {("", 32): INT32, ("", 64): INT64}


@cache
def integer_type(dtype: str) -> IntegerType | None:
    """The integer type of a TIR type, of one lane; `int32` where none is stated.

    None for a type that is no integer's, or whose arithmetic is no C type's, such as `int4`.
    """
    if not dtype:
        return INT32
    if _BOOLEAN.fullmatch(dtype):
        return BOOL
    match = _NAME.fullmatch(dtype)
    bits = int(match["bits"] or 32) if match else 0
    if match is None or bits not in _WIDTHS:
        return None
    key = (match["sign"], bits)
    if key not in _known:
        _known[key] = IntegerType(f"{key[0]}int{bits}", bits, not key[0])
    return _known[key]


def literal_type(value: int, dtype: str) -> IntegerType | None:
    """The type of a literal; None for one that its stated type does not hold."""
    found = integer_type(dtype) if dtype else LITERAL
    if found is LITERAL and not LITERAL.least <= value <= LITERAL.most:
        found = LONG
    return found if found is not None and found.least <= value <= found.most else None


def common_type(one: IntegerType | None, other: IntegerType | None) -> IntegerType | None:
    """The type in which an operator computes with operands of these types; None if unknown."""
    if one is other or one is None or other is None:
        return one if one is other else None
    if LONG in (one, other):
        typed = other if one is LONG else one
        return None if typed.wraps else INT64
    if LITERAL in (one, other):
        typed = other if one is LITERAL else one
        return LITERAL if typed is BOOL else typed
    if BOOL in (one, other):
        return other if one is BOOL else one
    wide, narrow = (one, other) if one.bits > other.bits else (other, one)
    if wide.is_signed == narrow.is_signed or (wide.is_signed and wide.bits > narrow.bits):
        return wide
    return None
