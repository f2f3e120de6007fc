"""What operations on matrices access, where that takes more than a row."""

from __future__ import annotations

import pytest

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Buffer, Evaluate
from smemreuse.semantics.accesses import WHOLE, Footprint, accesses_of
from smemreuse.semantics.pointers import Pointers

TILE = Buffer("tile", "float16", (Const(4096),), "shared")
WORDS = Buffer("words", "float32", (Const(4096),), "shared")
NIBBLES = Buffer("nibbles", "int4", (Const(4096),), "shared")
FORTY = Const(40)
SIDES = (32, 8, 16)  # m, n, k


def pointer(buffer: Buffer, dtype: str, extent: int = 1) -> Call:
    annotation = Call("type_annotation", (Const(dtype),))
    return Call("tvm_access_ptr", (annotation, Pointer(buffer), Const(8), Const(extent), Const(1)))


def wmma(op: str, role: str, place: Expr, stride: Expr = FORTY, layout: str = "row_major") -> Call:
    fragment = Pointer(Buffer("fragment", "float16", (Const(256),), role))
    sides = map(Const, SIDES)
    return Call(op, (fragment, *sides, Const(0), place, stride, Const(layout)))


def accessed(call: Call, buffer: Buffer = TILE) -> tuple[Access, Footprint, bool]:
    (found,) = (one for one in accesses_of(Evaluate(call), Pointers()) if one.buffer is buffer)
    return found.access, found.footprint, found.certain


@pytest.mark.parametrize(
    ("role", "layout", "rows", "columns"),
    [
        ("wmma.matrix_a", "row_major", 32, 16),
        ("wmma.matrix_a", "col_major", 16, 32),
        ("wmma.matrix_b", "row_major", 16, 8),
        ("wmma.matrix_b", "col_major", 8, 16),
        ("wmma.accumulator", "row_major", 32, 8),
    ],
)
def test_a_fragment_is_loaded_from_its_rows(
    role: str, layout: str, rows: int, columns: int
) -> None:
    """Whatever the access pointer claims: there are gaps between the rows, and none behind them."""
    place = pointer(TILE, "float16", extent=4096)
    call = wmma("tvm_load_matrix_sync", role, place, layout=layout)
    access, footprint, certain = accessed(call)
    assert (access, certain) == (Access.READ, True)
    assert (footprint.size, footprint.stride, footprint.count) == (columns * 2, 80, rows)


@pytest.mark.parametrize(
    ("role", "layout"), [("local", "row_major"), ("wmma.matrix_a", "mem_major")]
)
def test_of_a_tile_that_is_not_known_the_largest_may_be_meant(role: str, layout: str) -> None:
    place = pointer(TILE, "float16", extent=4096)
    call = wmma("tvm_load_matrix_sync", role, place, layout=layout)
    access, footprint, certain = accessed(call)
    assert (access, certain) == (Access.READ, False)
    assert (footprint.size, footprint.count) == ((31 * 40 + 32) * 2, 1)


def test_a_fragment_is_stored_to_its_rows() -> None:
    call = wmma("tvm_store_matrix_sync", "wmma.accumulator", pointer(TILE, "float16"))
    access, footprint, certain = accessed(call)
    assert (access, certain) == (Access.WRITE, True)
    assert (footprint.size, footprint.stride, footprint.count) == (16, 80, 32)


def test_the_stride_counts_what_is_pointed_to() -> None:
    typed = wmma("tvm_load_matrix_sync", "wmma.accumulator", pointer(WORDS, "float32"))
    rows = accessed(typed, WORDS)[1]
    assert (rows.size, rows.stride, rows.count) == (32, 160, 32)
    element = Call("address_of", (Load(WORDS, (Const(8),)),))
    taken = wmma("tvm_load_matrix_sync", "wmma.accumulator", element)
    rows = accessed(taken, WORDS)[1]
    assert (rows.size, rows.stride, rows.count) == (32, 160, 32)


@pytest.mark.parametrize(
    ("buffer", "place", "stride"),
    [
        (TILE, pointer(TILE, "float16"), Var("n")),
        (TILE, pointer(TILE, "float16"), Const(-40)),
        (TILE, Pointer(TILE), Const(40)),
        (NIBBLES, pointer(NIBBLES, "int4"), Const(40)),
        (TILE, pointer(TILE, "float16"), Const(1 << 40)),
    ],
    ids=["a stride that is not known", "backwards", "no type", "parts of bytes", "too far"],
)
def test_what_is_not_known_may_be_anywhere(buffer: Buffer, place: Expr, stride: Expr) -> None:
    call = wmma("tvm_load_matrix_sync", "wmma.matrix_a", place, stride)
    assert accessed(call, buffer)[1] is WHOLE
