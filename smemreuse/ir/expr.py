"""Expressions of a kernel: the part of TIR's expression language that analysis has to understand.

Operators and intrinsics are both a `Call`, by TIR's script name without a namespace (`floormod`,
`tvm_access_ptr`, `tma_load`): an unknown intrinsic still parses, and each analysis that meets it
decides what not understanding it means (soundness rule 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from smemreuse.ir.kernel import Buffer

CHOICES = ("select", "if_then_else")
"""Operators that choose one of two values. A `select` may evaluate both, and discards one: what it
reads there decides nothing."""


@dataclass(frozen=True, slots=True)
class Const:
    """A literal. Booleans are the integers 0 and 1, as in TIR.

    `dtype` is the type of an integer that is not `int32`. Literals are equal if their values are.
    """

    value: int | float | str
    dtype: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A scalar or handle variable. Two variables may share a name: identity is what counts.

    `dtype` is the type of one that is stated to be no `int32`; `NO_INTEGER` is none, or unknown.
    """

    name: str
    dtype: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """`buffer.data`: the address of a buffer's first byte."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """`buffer[indices]`, one index for each dimension; a vector access has a `ramp` index."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    predicate: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operator or intrinsic applied to its arguments.

    The values of what it is annotated with come last among these; `annotations` are the names.
    `row` keeps what the table of effects says of it.
    """

    op: str
    args: tuple[Expr, ...]
    annotations: tuple[str, ...] = ()
    row: object = field(default=None, init=False, repr=False)


Expr: TypeAlias = Const | Var | Pointer | Load | Call


def literal(value: int, dtype: str) -> Const:
    """A literal of a type; of `int32` it is one that says none."""
    return Const(value, "" if dtype == "int32" else dtype)


def constant(expr: Expr) -> int | None:
    """The value of an integer literal; None for anything else."""
    return expr.value if isinstance(expr, Const) and isinstance(expr.value, int) else None


INFIX = {
    "or": ("or", 1),
    "and": ("and", 2),
    "eq": ("==", 4),
    "ne": ("!=", 4),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "floordiv": ("//", 6),
    "floormod": ("%", 6),
}
"""Operators by TIR's names: their symbols, and how tightly these bind."""

_ATOM = 9


def format_expr(expr: Expr) -> str:
    """`expr` as a line of Python-like text, with no more brackets than needed."""
    return _format(expr)[0]


def _format(expr: Expr) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    spine: list[Call] = []  # a sum of many terms leans to the left: no recursion along it
    while isinstance(expr, Call) and expr.op in INFIX and len(expr.args) == 2:
        spine.append(expr)
        expr = expr.args[0]
    text, binds = _format_operand(expr), _ATOM
    for call in reversed(spine):
        symbol, tightness = INFIX[call.op]
        right = _format(call.args[1])
        left_text = text if binds >= tightness else f"({text})"
        right_text = right[0] if right[1] > tightness else f"({right[0]})"
        text, binds = f"{left_text} {symbol} {right_text}", tightness
    return text, binds


def _format_operand(expr: Expr) -> str:
    if isinstance(expr, Const):
        return repr(expr.value)
    if isinstance(expr, Var):
        return expr.name
    if isinstance(expr, Pointer):
        return f"{expr.buffer.name}.data"
    if isinstance(expr, Load):
        return f"{expr.buffer.name}[{', '.join(map(format_index, expr.indices))}]"
    return f"{expr.op}({', '.join(map(format_expr, expr.args))})"


def format_index(index: Expr) -> str:
    """One index of a buffer access; a `ramp` is written as the slice that TVMScript prints."""
    if isinstance(index, Call) and index.op == "ramp":
        base, stride, lanes = index.args
        text = f"{format_expr(base)}:+{format_expr(lanes)}"
        return text if stride == Const(1) else f"{text}:{format_expr(stride)}"
    return format_expr(index)


_LEAVES = frozenset({Const, Var, Pointer})
"""Expressions with nothing inside."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions, in the order in which TVM's visitor meets them."""
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, Load):
        return expr.indices if expr.predicate is None else (*expr.indices, expr.predicate)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it, parents first."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        if type(here) not in _LEAVES:  # most are: it is asked everywhere
            pending.extend(reversed(children(here)))


def variables_in(expr: Expr) -> set[Var]:
    """The variables that an expression names, each once."""
    return {node for node in walk(expr) if isinstance(node, Var)}


def same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are structurally equal, with identical variables."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Call) and isinstance(other, Call) and one.op != other.op:
        return False
    if isinstance(one, (Load, Pointer)) and isinstance(other, (Load, Pointer)):
        if one.buffer is not other.buffer:
            return False
    if isinstance(one, Const) and isinstance(other, Const):
        return one == other and one.dtype == other.dtype
    if isinstance(one, Var):
        return one == other
    pairs = children(one), children(other)
    return len(pairs[0]) == len(pairs[1]) and all(map(same, *pairs))
