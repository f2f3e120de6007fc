"""Which rows of a matrix the registers of a warp's lanes hold.

Lane `4 * g + t` of a warp holds parts of row g of a matrix of 8 rows. A product of 16 rows by 8
columns is made so: rows g and g + 8 of it are held by group g, and made of the same rows of the
first matrix, which the registers of group g hold in turns (PTX ISA, "Matrix fragments for
mma.m16n8k8" to "mma.m16n8k256", for elements of up to 32 bits; "ldmatrix").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from smemreuse.ir.expr import Call, Expr, constant
from smemreuse.semantics.rows.forms import text_at
from smemreuse.semantics.table import effect_of

_ROWS_16 = re.compile(r"m16n8k(?P<k>\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class LoadedMatrices:
    """Matrices of 8 rows of 16 bytes that a warp copies from memory to registers: 4 bytes of each
    matrix for each lane, of its group's row, or of that column if they are `transposed`."""

    number: int
    transposed: Expr
    source: Expr
    target: Expr


@dataclass(frozen=True)
class MultipliedMatrices:
    """A product of 16 rows and 8 columns, which is added to; `k` elements in a row of the first
    matrix. Each matrix is a pointer and the number of elements after it."""

    k: int
    first: tuple[Expr, Expr]
    second: tuple[Expr, Expr]
    product: tuple[Expr, Expr]


def fragments_of(call: Call) -> LoadedMatrices | MultipliedMatrices | None:
    """What an operation does to the rows that registers hold; None if nothing is known of that."""
    args = call.args
    if call.op == "ptx_ldmatrix" and len(args) == 4:
        number = constant(args[1])
        return None if number is None else LoadedMatrices(number, args[0], args[2], args[3])
    matrices = effect_of(call).matrices
    tile = _ROWS_16.fullmatch(text_at(call, 1) or "")
    if call.op != "ptx_mma" or tile is None or matrices is None:
        return None
    pairs = [(args[at], args[at + 1]) for at in (*matrices, 11)]
    return MultipliedMatrices(int(tile["k"]), *pairs)
