"""What one statement costs a thread, before anybody knows how often it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Expr, Load, Var, constant, walk
from smemreuse.ir.kernel import Bind, Evaluate, Stmt, Store, element_bits
from smemreuse.semantics.effects import Product
from smemreuse.semantics.matrix_operands import SHAPE
from smemreuse.semantics.rows.forms import text_at
from smemreuse.semantics.table import effect_of

_VECTORS = ("broadcast", "ramp")
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
    """The number of elements that an access with these indices covers: the lanes of its `ramp`."""
    for index in indices:
        if isinstance(index, Call) and index.op == "ramp" and len(index.args) == 3:
            return constant(index.args[2]) or 1
    return 1


def arithmetic(stmt: Stmt, is_used: Callable[[Var], bool]) -> Arithmetic:
    """What computing a statement's values takes; indices are taken to be hoisted and free.

    Two elements of 16 bits take one instruction. What no one uses is not computed: the compilers
    write a variable out wherever it stands, and keep its binding.
    """
    if isinstance(stmt, Store):
        value, lanes = stmt.value, lanes_of(stmt.indices)
        packed = lanes > 1 and element_bits(stmt.buffer.dtype) == 16
    elif isinstance(stmt, Bind) and is_used(stmt.var):
        value, lanes, packed = stmt.value, lanes_of_value(stmt.value), False
    elif isinstance(stmt, Evaluate):
        return Arithmetic(issued=1.0)
    else:
        return Arithmetic()
    issued = special = exchanged = 0.0
    for node in _values(value):
        effect = effect_of(node)
        special += effect.special
        exchanged += effect.exchanges
        issued += 0 if effect.operands else effect.instructions
    return Arithmetic(issued * lanes * (0.5 if packed else 1.0), special * lanes, exchanged * lanes)


def lanes_of_value(value: Expr) -> int:
    """Elements of a value that may be a vector: as many as a `broadcast` or `ramp` in it makes."""
    lanes = 1
    for node in walk(value):
        if isinstance(node, Call) and node.op in _VECTORS and node.args:
            lanes = max(lanes, constant(node.args[-1]) or 1)
    return lanes


def _values(value: Expr) -> Iterator[Call]:
    """The operations of a value that count, without those that compute the indices of loads.

    Of a subexpression of variables and constants alone, such as a causal mask's test, only the last
    operation counts: the others are the same for many elements.
    """
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            yield node
            if any(isinstance(inner, Load) for inner in walk(node)):
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
    match = SHAPE.match(text_at(call, product.shape) or "")
    name = text_at(call, product.dtype) or ""
    if match is None:
        return None
    sides = (int(match["m"]), int(match["n"]), int(match["k"]) // product.kept)
    return Multiplication(*sides, _TYPES.get(name, name))
