"""What one statement costs a thread, before anybody knows how often it is carried out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Expr, Load, constant
from smemreuse.ir.kernel import Stmt, Store, element_bits
from smemreuse.semantics.effects import Product
from smemreuse.semantics.rows.forms import text_at
from smemreuse.semantics.table import effect_of

_SHAPE = re.compile(r"m(?P<m>\d{1,3})n(?P<n>\d{1,3})k(?P<k>\d{1,3})", re.ASCII)
_TYPES = {
    "fp16": "float16", "bf16": "bfloat16", "tf32": "tfloat32", "fp32": "float32",
    "e4m3": "float8", "e5m2": "float8", "float8_e4m3": "float8", "float8_e5m2": "float8",
    "s8": "int8", "u8": "int8", "fp64": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class Arithmetic:
    """Instructions that a thread issues, operations of special function units among them, and
    exchanges between the lanes of its warp."""

    issued: float = 0.0
    special: float = 0.0
    exchanged: float = 0.0


def lanes_of(indices: tuple[Expr, ...]) -> int:
    """Elements that an access with these indices goes to: those of its `ramp`."""
    for index in indices:
        if isinstance(index, Call) and index.op == "ramp" and len(index.args) == 3:
            return constant(index.args[2]) or 1
    return 1


def arithmetic(stmt: Stmt, exprs: tuple[Expr, ...]) -> Arithmetic:
    """What computing a statement's values takes; indices are taken to be hoisted and free.

    Two elements of 16 bits take one instruction.
    """
    lanes, packed = 1.0, False
    if isinstance(stmt, Store):
        lanes = lanes_of(stmt.indices)
        packed = element_bits(stmt.buffer.dtype) == 16 * lanes_of_type(stmt.buffer.dtype)
    issued = special = exchanged = 0.0
    for node in _values(exprs):
        effect = effect_of(node)
        special += effect.special
        exchanged += effect.exchanges
        issued += 0 if effect.operands else effect.instructions
    each = lanes * (0.5 if packed and lanes > 1 else 1.0)
    return Arithmetic(issued * each, special * lanes, exchanged * lanes)


def lanes_of_type(dtype: str) -> int:
    """Lanes of a vector type, `float16x2`."""
    _, _, lanes = dtype.rpartition("x")
    return int(lanes) if lanes.isdecimal() and "x" in dtype else 1


def _values(exprs: tuple[Expr, ...]) -> Iterator[Call]:
    """Every operation of a value, without what computes the places of its loads."""
    pending = [*exprs]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            yield node
            pending.extend(node.args)


def loads_in(exprs: tuple[Expr, ...]) -> Iterator[Load]:
    """Every element that a value loads."""
    pending = [*exprs]
    while pending:
        node = pending.pop()
        if isinstance(node, Load):
            yield node
            pending.extend(node.indices)
        elif isinstance(node, Call):
            pending.extend(node.args)


@dataclass(frozen=True)
class Multiplication:
    """A product on tensor cores: its sides in elements, and the type of its operands."""

    m: int
    n: int
    k: int
    dtype: str

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k


def multiplication(call: Call, product: Product) -> Multiplication | None:
    """What an operation multiplies; None where it does not say."""
    match = _SHAPE.match(text_at(call, product.shape) or "")
    name = text_at(call, product.dtype) or ""
    if match is None:
        return None
    sides = (int(match["m"]), int(match["n"]), int(match["k"]) // product.kept)
    return Multiplication(*sides, _TYPES.get(name, name))
