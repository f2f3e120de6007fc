"""Kernels whose tile operations are whole: what each statement reads and writes, in which order.

Statements have their meaning one after the other: what a compiler makes of a tile operation, of its
threads, and of the barriers between two of them is its promise. Buffers, variables and expressions
are those of `ir`; two forms of a kernel have them in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from smemreuse.ir.expr import Expr, Load, Var, walk
from smemreuse.ir.kernel import Buffer

Storage: TypeAlias = "Buffer | Var"


class Unfollowed(Exception):
    """Something that is not followed, in words; nothing is proved of what has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A box of a buffer's elements: where it begins, and its extent, in each dimension."""

    buffer: Buffer
    begins: tuple[Expr, ...]
    extents: tuple[int, ...]

    @property
    def extents_above_one(self) -> tuple[int, ...]:
        return tuple(one for one in self.extents if one != 1)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """`var = value` for what follows."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """`buffer[indices] = value`."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class TileCopy:
    """The elements of one region, converted to the type of another, into that one."""

    source: Region
    target: Region


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """One value into all of a region."""

    target: Region
    value: Expr


@dataclass(frozen=True, slots=True)
class Fold:
    """How a matrix product adds up: step by step along its inner dimension, in order.

    `axes` are the inner dimension's in the first and the second matrix, `step` the elements that
    one step takes of it. Each step is any function of those elements and of what it adds to; the
    first one of a product that `clears` adds to nothing.
    """

    axes: tuple[int, int]
    step: int
    clears: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """Any function of the elements of some regions; what it writes it may have read before. With a
    `fold` it is carried out in steps, on its one written region."""

    name: str
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    operands: tuple[Expr, ...] = ()
    fold: Fold | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Marker:
    """What touches no memory, and has to stay in its order: a barrier, a fence, a hint."""

    name: str
    operands: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`for var in range(begin, begin + extent)`.

    The rounds of a `parallel` one are points, which may come in any order. In one with `ahead` the
    loads from global to shared memory may run so many rounds ahead of all else, each round into a
    tile of its own.
    """

    var: Var
    begin: Expr
    extent: Expr
    body: Block
    parallel: bool = False
    ahead: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """`while condition`."""

    condition: Expr
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    condition: Expr
    then: Block
    orelse: Block = ()


Statement: TypeAlias = (
    "Bound | Write | TileCopy | Fill | Operation | Marker | Loop | Repeat | Branch"
)
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TileProgram:
    """One kernel, as what a block of it does."""

    name: str
    body: Block


def statements_in(block: Block) -> Iterator[Statement]:
    """Every statement, with those inside, in program order."""
    for one in block:
        yield one
        if isinstance(one, (Loop, Repeat)):
            yield from statements_in(one.body)
        elif isinstance(one, Branch):
            yield from statements_in(one.then)
            yield from statements_in(one.orelse)


def is_global(buffer: Buffer) -> bool:
    return buffer.scope == "global"


def is_shared(buffer: Buffer) -> bool:
    return buffer.scope.startswith("shared")


def is_own(buffer: Buffer) -> bool:
    """Whether each thread has one of its own; a fragment is one tile in the registers of all."""
    return buffer.scope.startswith("local") and buffer.scope != "local.fragment"


def written_by(statement: Statement) -> tuple[Buffer, ...]:
    """The buffers that a statement itself writes."""
    if isinstance(statement, Write):
        return (statement.buffer,)
    if isinstance(statement, (TileCopy, Fill)):
        return (statement.target.buffer,)
    if isinstance(statement, Operation):
        return tuple(one.buffer for one in statement.writes)
    return ()


def loaded_by(statement: Statement) -> Buffer | None:
    """The tile in shared memory that a statement loads from global memory, if it is such a load."""
    if isinstance(statement, TileCopy) and is_global(statement.source.buffer):
        target = statement.target.buffer
    elif isinstance(statement, Write) and any(
        isinstance(one, Load) and is_global(one.buffer) for one in walk(statement.value)
    ):
        target = statement.buffer
    else:
        return None
    return target if is_shared(target) else None
