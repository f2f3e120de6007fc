"""Matrix products as tile operations: their operands, and the dimension that they add up over.

The instructions of a product take 32 bytes of that dimension at a time, and TileLang issues them in
its order: a product of slices, one after the other into the same tile, is the same instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smemreuse.compilers.tilelang.levers.tile_ops import (
    READ,
    REGION,
    WRITE,
    int32,
    name_of,
    number,
)
from smemreuse.compilers.tilelang.visitor import tirx
from smemreuse.ir.kernel import element_bits

PRODUCT = "tl.tileop.gemm"
INSTRUCTION_BYTES = 32
"""What one instruction takes of the inner dimension, of `mma` and `wgmma`, in any type."""

_SLOTS, _DEPTH, _CLEARED, _BARRIER = 13, 7, 9, 10


@dataclass(frozen=True)
class MatrixProduct:
    """`into += one * two`, with its regions and the axis of each that it adds up over; one that
    `clears` begins with nothing."""

    call: Any
    axes: tuple[int, int]
    depth: int
    clears: bool

    @property
    def matrices(self) -> tuple[Any, Any]:
        return self.call.args[0], self.call.args[1]

    @property
    def element_bits(self) -> int:
        """Those of the wider matrix."""
        return max(element_bits(str(one.args[0].buffer.dtype)) for one in self.matrices)

    @property
    def step(self) -> int:
        """The elements of the inner dimension that one instruction takes."""
        return INSTRUCTION_BYTES * 8 // self.element_bits

    def settings(self) -> tuple[Any, ...]:
        """All operands but the matrices, their depth, and whether it clears."""
        others = (0, 1, 2, _DEPTH, _CLEARED)
        return tuple(one for at, one in enumerate(self.call.args) if at not in others)

    def of(self, matrices: tuple[Any, Any], depth: int, *, clears: bool) -> Any:
        """The statement of the same product of other matrices."""
        args = [*self.call.args]
        args[:2], args[_DEPTH] = matrices, int32(depth)
        args[_CLEARED] = tirx.IntImm("bool", int(clears))
        if not clears:
            into = args[2]
            mask = int32(READ | WRITE)
            args[2] = tirx.Call(into.dtype, into.op, [into.args[0], mask, *into.args[2:]])
        call = tirx.Call(self.call.dtype, self.call.op, args, self.call.annotations)
        return tirx.Evaluate(call)


def product_of(call: Any) -> MatrixProduct | None:
    """The product that a call is, if all its operands are known and it waits for nothing; versions
    of TileLang that hand strides and offsets to it have none."""
    if name_of(call) != PRODUCT or len(call.args) != _SLOTS:
        return None
    if any(name_of(one) not in REGION for one in call.args[:3]) or number(call.args[_BARRIER]) != 0:
        return None
    transposed = [number(one) for one in call.args[3:5]]
    depth, clears = number(call.args[_DEPTH]), number(call.args[_CLEARED])
    if None in transposed or depth is None or clears is None:
        return None
    extents = [[number(each) for each in one.args[2:]] for one in call.args[:2]]
    axes = (
        len(extents[0]) - (2 if transposed[0] else 1),
        len(extents[1]) - (1 if transposed[1] else 2),
    )
    if min(axes) < 0 or any(one[axis] != depth for one, axis in zip(extents, axes, strict=True)):
        return None
    return MatrixProduct(call, axes, depth, bool(clears))
