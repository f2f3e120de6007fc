"""Programs in few words: a pipelined product whose tile goes out through shared memory."""

from __future__ import annotations

from typing import TypeAlias

from smemreuse.equivalence import (
    Fill,
    Fold,
    Loop,
    Operation,
    Region,
    Statement,
    TileCopy,
    TileProgram,
    Write,
)
from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Buffer

Operand: TypeAlias = "Expr | int"

ROWS, DEEP, ROUNDS = 8, 4, 6
BX, LENGTH = Var("bx"), Var("length")


def expr(value: Operand) -> Expr:
    return Const(value) if isinstance(value, int) else value


def call(op: str, *args: Operand) -> Call:
    return Call(op, tuple(map(expr, args)))


def add(one: Operand, two: Operand) -> Expr:
    return call("add", one, two)


def times(one: Operand, two: Operand) -> Expr:
    return call("mul", one, two)


def modulo(one: Operand, two: Operand) -> Expr:
    return call("floormod", one, two)


def tile(name: str, *shape: int, dtype: str = "float16", scope: str = "shared.dyn") -> Buffer:
    return Buffer(name, dtype, tuple(map(Const, shape)), scope)


def tensor(name: str, *shape: int, dtype: str = "float16") -> Buffer:
    """Global memory."""
    return Buffer(name, dtype, tuple(map(Const, shape)), "global", Var(name, "handle"))


def region(buffer: Buffer, *begins: Operand, extents: tuple[int, ...] = ()) -> Region:
    """A region; without extents all of a buffer, and without begins from its first element."""
    shape = [one.value for one in buffer.shape if isinstance(one, Const)]
    whole = tuple(one for one in shape if isinstance(one, int))
    return Region(buffer, tuple(map(expr, begins or (0,) * len(whole))), extents or whole)


def copy(source: Region | Buffer, target: Region | Buffer) -> TileCopy:
    return TileCopy(*(one if isinstance(one, Region) else region(one) for one in (source, target)))


def fill(buffer: Buffer, value: Operand = 0) -> Fill:
    return Fill(region(buffer), expr(value))


def product(one: Buffer | Region, two: Buffer | Region, into: Buffer) -> Operation:
    """`into += one * two`."""
    reads = tuple(each if isinstance(each, Region) else region(each) for each in (one, two))
    return Operation("product", reads, (region(into),))


def folded(
    one: Buffer | Region, two: Buffer | Region, into: Buffer, step: int = 1, *, clears: bool = False
) -> Operation:
    """The same, added up along the inner dimension, `step` elements at a time; one that `clears`
    adds to nothing."""
    plain = product(one, two, into)
    return Operation(plain.name, plain.reads, plain.writes, fold=Fold((1, 0), step, clears))


def deep(first: int, count: int = DEEP // 2) -> tuple[Region, Region]:
    """Slices of the tiles a and b along the inner dimension of their product."""
    return (
        region(a, 0, first, extents=(ROWS, count)),
        region(b, first, 0, extents=(count, ROWS)),
    )


def store(buffer: Buffer, *indices: Operand, value: Operand) -> Write:
    return Write(buffer, tuple(map(expr, indices)), expr(value))


def load(buffer: Buffer, *indices: Operand) -> Load:
    return Load(buffer, tuple(map(expr, indices)))


def loop(
    var: Var, extent: Operand, *body: Statement, ahead: int = 0, parallel: bool = False
) -> Loop:
    return Loop(var, Const(0), expr(extent), body, parallel, ahead)


def program(*body: Statement) -> TileProgram:
    return TileProgram("main", body)


# What all programs have in common ---------------------------------------------------------------

A, B = tensor("A", ROWS, DEEP * ROUNDS), tensor("B", DEEP * ROUNDS, ROWS)
C, D = tensor("C", 2 * ROWS, ROWS), tensor("D", 2 * ROWS, ROWS)
a, b, out = tile("a", ROWS, DEEP), tile("b", DEEP, ROWS), tile("out", ROWS, ROWS)
narrow = tile("narrow", ROWS, ROWS, dtype="bfloat16")
ring = tile("ring", 3, ROWS, DEEP)
half = tile("half", ROWS // 2, ROWS)
c = tile("c", ROWS, ROWS, dtype="float32", scope="local.fragment")
d = tile("d", ROWS, ROWS, dtype="float32", scope="local.fragment")
k, i, j, turn = Var("k"), Var("i"), Var("j"), Var("turn")

LOAD_A = copy(region(A, 0, times(k, DEEP), extents=(ROWS, DEEP)), a)
LOAD_B = copy(region(B, times(k, DEEP), 0, extents=(DEEP, ROWS)), b)
MULTIPLY = product(a, b, c)
OWN_TILE = region(C, times(BX, ROWS), 0, extents=(ROWS, ROWS))


def of_ring(at: Operand, count: int = 3) -> Region:
    """The tile of a round, of `count` that are used in turn."""
    return region(ring, modulo(at, count), 0, 0, extents=(1, ROWS, DEEP))


def load_ring(at: Operand, into: Region) -> TileCopy:
    return copy(region(A, 0, times(at, DEEP), extents=(ROWS, DEEP)), into)


def rows(buffer: Buffer, first: int, count: int = ROWS // 2) -> Region:
    """Some rows of a tile of `ROWS` columns."""
    return region(buffer, first, 0, extents=(count, ROWS))


def own_rows(first: int, count: int = ROWS // 2) -> Region:
    """Some rows of the block's tile of C."""
    return region(C, add(times(BX, ROWS), first), 0, extents=(count, ROWS))


def gemm(*middle: Statement, ahead: int = 2, end: tuple[Statement, ...] = ()) -> TileProgram:
    """The product; `middle` is a round of its loop, `end` how its tile is stored."""
    body = middle or (LOAD_A, LOAD_B, MULTIPLY)
    stored = end or (copy(c, out), copy(out, OWN_TILE))
    return program(fill(c), loop(k, ROUNDS, *body, ahead=ahead), *stored)


def ring_of(count: int, ahead: int) -> TileProgram:
    """The product with a ring of tiles that an author has laid out, each load some rounds ahead."""
    begin = [load_ring(at, of_ring(at, count)) for at in range(ahead)]
    after = add(k, ahead)
    body = (load_ring(after, of_ring(after, count)), LOAD_B, product(of_ring(k, count), b, c))
    return program(fill(c), *begin, loop(k, ROUNDS, *body), copy(c, OWN_TILE))
