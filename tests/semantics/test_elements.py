"""Elements of buffers: where they lie, and how many bytes some of them take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, format_expr
from smemreuse.ir.kernel import ANYWHERE, Buffer, element_bits
from smemreuse.semantics.elements import (
    addressed_element,
    byte_offset,
    bytes_of,
    claimed_bytes,
    flat_index,
    is_typed,
    places_in,
    pointee_bits,
)
from smemreuse.semantics.evaluate import Threads, evaluate

ONE = Threads(np.array([0]))
A = Buffer("A", "float16", (Const(4), Const(8)), "shared")
TYPED = Call(
    "tvm_access_ptr",
    (Call("type_annotation", (Const("float16"),)), Pointer(A), Const(2), Const(16), Const(1)),
)


def test_a_pointer_says_how_many_bytes_it_claims() -> None:
    assert claimed_bytes(TYPED) == (32, True)
    assert claimed_bytes(Call("handle_add_byte_offset", (TYPED, Const(4)))) == (32, True)
    assert claimed_bytes(Pointer(A)) is None
    unknown = Call("tvm_access_ptr", (*TYPED.args[:3], Var("n"), Const(1)))
    assert claimed_bytes(unknown) is None
    assert is_typed(TYPED)
    assert not is_typed(Pointer(A))


@pytest.mark.parametrize(
    ("index", "elements", "found"),
    [
        (Const(0), 4, (2, True)),
        (Const(6), 2, (1, True)),
        (Const(0), 3, (2, False)),
        (Const(1), 2, (2, False)),  # the second half of one byte, the first of the next
        (Const(1), 3, (2, False)),
        (Call("mul", (Var("i"), Const(32))), 8, (4, True)),
        (Call("add", (Call("mul", (Var("i"), Const(2))), Const(4))), 8, (4, True)),
        (Var("i"), 8, (5, False)),
    ],
)
def test_elements_of_half_a_byte_take_whole_bytes(
    index: Expr, elements: int, found: tuple[int, bool]
) -> None:
    fours = Buffer("fours", "int4", (Const(64),), "shared.dyn")
    annotation = Call("type_annotation", (Const("int4"),))
    typed = Call("tvm_access_ptr", (annotation, Pointer(fours), index, Const(elements), Const(1)))
    assert claimed_bytes(typed) == found
    assert bytes_of(Call("address_of", (Load(fours, (index,)),)), elements) == found


def test_the_bits_of_what_it_points_to() -> None:
    element = Call("address_of", (Load(A, (Const(0), Const(0))),))
    assert [pointee_bits(one) for one in (TYPED, element, Pointer(A))] == [16, 16, 8]


def test_an_offset_counts_bytes() -> None:
    index = Var("i")
    assert byte_offset(index, "int8") is index
    assert format_expr(byte_offset(index, "float32")) == "i * 4"
    assert format_expr(byte_offset(index, "int4")) == "i * 4 // 8"
    assert byte_offset(Const(0), "float32") == Const(0)


@pytest.mark.parametrize("dtype", ["int1", "uint2", "int3", "int2x4"])
def test_of_integers_of_fewer_bits_than_four_the_byte_is_not_known(dtype: str) -> None:
    buffer = Buffer("B", dtype, (Const(64),), "shared")
    assert byte_offset(Var("i"), dtype) is ANYWHERE
    assert byte_offset(Const(0), dtype) == Const(0)
    begin = Call("address_of", (Load(buffer, (Const(0),)),))
    assert bytes_of(begin, 4) == (4 * element_bits(dtype) // 8, False)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_elements_lie_in_rows(shape: list[int], data: st.DataObject) -> None:
    indices = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    offset = data.draw(st.integers(0, 9))
    buffer = Buffer("A", "int8", tuple(map(Const, shape)), "shared", elem_offset=Const(offset))
    found = evaluate(flat_index(buffer, tuple(map(Const, indices))), ONE)
    assert found == int(np.ravel_multi_index(indices, shape)) + offset


def test_a_vector_begins_where_its_first_lane_is() -> None:
    ramp = Call("ramp", (Var("i"), Const(1), Const(4)))
    found = flat_index(A, (Const(2), ramp))
    assert isinstance(found, Call)
    assert found.op == "ramp"
    assert format_expr(found.args[0]) == "i + 2 * 8"
    assert found.args[1:] == (Const(1), Const(4))
    assert flat_index(Buffer("S", "int32", (), "shared"), ()) == Const(0)


def test_a_view_is_found_by_where_it_begins_too() -> None:
    offset = Load(A, (Const(0), Const(0)))
    view = Buffer("v", "int32", (Const(4),), "shared", data=A, elem_offset=offset)
    assert places_in(view, (Const(1),)) == (Const(1), offset)
    assert places_in(A, (Const(1), Const(2))) == (Const(1), Const(2))


def test_the_element_whose_address_is_taken() -> None:
    element = Load(A, (Const(0), Const(0)))
    assert addressed_element(Call("address_of", (element,))) is element
    assert addressed_element(Call("address_of", (Const(3),))) is None
    assert addressed_element(element) is None


def _ramp(base: Expr, stride: int, lanes: int = 4) -> Call:
    return Call("ramp", (base, Const(stride), Const(lanes)))


def _broadcast(value: Expr, lanes: int = 4) -> Call:
    return Call("broadcast", (value, Const(lanes)))


@pytest.mark.parametrize(
    ("index", "found"),
    [
        (Call("add", (_ramp(Var("i"), 2), _broadcast(Const(8)))), "ramp(i + 8, 2, 4)"),
        (Call("sub", (_broadcast(Const(8)), _ramp(Var("i"), 2))), "ramp(8 - i, -2, 4)"),
        (Call("add", (_ramp(Var("i"), 2), _broadcast(Const(0)))), "ramp(i, 2, 4)"),
        (Call("add", (_ramp(Var("i"), 1), _ramp(Var("j"), 3))), "ramp(i + j, 4, 4)"),
        (_broadcast(Var("i")), "ramp(i, 0, 4)"),
        (
            Call("add", (_ramp(Var("i"), 2), _broadcast(Const(8), 2))),
            "ramp(i, 2, 4) + broadcast(8, 2)",
        ),
        (
            Call("mul", (_ramp(Var("i"), 2), _broadcast(Var("j")))),
            "ramp(i, 2, 4) * broadcast(j, 4)",
        ),
        (Call("add", (Var("v"), _broadcast(Const(8)))), "v + broadcast(8, 4)"),
    ],
)
def test_sums_of_vectors_are_ramps(index: Expr, found: str) -> None:
    flat = Buffer("flat", "float32", (Const(64),), "shared")
    assert format_expr(flat_index(flat, (index,))) == found
