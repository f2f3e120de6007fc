"""Inputs of a kernel that are given: numbers for its arguments, and for what is in global memory.

With these a trace is that of one launch, as far as they decide what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import Buffer


class AffineElements(NamedTuple):
    """What a buffer holds: `first + step * i` in its element `i`, counted as it is laid out."""

    first: int
    step: int = 0

    def element(self, flat: Expr) -> Expr:
        """What is in one element, by its index."""
        if not self.step:
            return Const(self.first)
        return Call("add", (Const(self.first), Call("mul", (Const(self.step), flat))))


@dataclass(frozen=True)
class GivenInputs:
    """`numbers` are those of arguments, and the index of the block; `rows` are of buffers that the
    kernel does not write."""

    numbers: Mapping[Var, int] = field(default_factory=dict)
    rows: Mapping[Buffer | Var, AffineElements] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.rows)


NOTHING_GIVEN = GivenInputs()
