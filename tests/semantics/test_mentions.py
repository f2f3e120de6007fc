"""Rule 1: every access counts, with what it does to the bytes."""

from __future__ import annotations

import pytest

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Bind, Block, Buffer, Evaluate, Stmt, Store
from smemreuse.semantics.accesses import accesses_of
from smemreuse.semantics.pointers import Pointers, find_pointers
from tests.analysis.trees import ZERO, access_ptr, load, loop, shared, store

A, B, C = shared("A"), shared("B"), shared("C")
P, Q = Var("p"), Var("q")


def mentioned(stmt: Stmt, pointers: Pointers | None = None) -> str:
    """The buffers that a statement accesses, in order, with what it does to each."""
    short = {"read": "r", "write": "w", "read-write": "rw"}
    found = accesses_of(stmt, pointers or Pointers())
    return " ".join(f"{access.buffer.name}:{short[access.access.value]}" for access in found)


def touched(expr: Expr, pointers: Pointers | None = None) -> str:
    return mentioned(Evaluate(expr), pointers)


@pytest.mark.parametrize(
    ("expr", "touches"),
    [
        (Const(1), ""),
        (Var("i"), ""),
        (load(A), "A:r"),
        (load(A, load(B)), "B:r A:r"),
        (Load(A, (ZERO,), load(B)), "B:r A:r"),
        (Call("add", (load(A), load(B))), "A:r B:r"),
        (Pointer(A), "A:rw"),
        (access_ptr(A, Const(1)), "A:r"),
        (access_ptr(A, Const(2)), "A:w"),
        (access_ptr(A, Const(3)), "A:rw"),
        (access_ptr(A, Const(0)), "A:rw"),
        (access_ptr(A, Const(7)), "A:rw"),
        (access_ptr(A, Var("mask")), "A:rw"),
        (Call("tvm_access_ptr", (Pointer(A),)), "A:rw"),
        (Call("address_of", (load(A),)), "A:rw"),
        (Call("address_of", (load(A, load(B)),)), "B:r A:rw"),
        (Call("ptx_cp_async", (access_ptr(A, Const(2)), access_ptr(B, Const(1)))), "A:w B:r"),
        (Call("ptx_ldmatrix", (access_ptr(A, Const(1)), access_ptr(B, Const(2)))), "A:r B:w"),
        (Call("ptx_stmatrix", (access_ptr(A, Const(2)), load(B))), "A:w B:r"),
        (Call("tma_load", (Var("desc"), load(B), access_ptr(A, Const(2)))), "B:r A:w"),
        (Call("tma_store", (Var("desc"), access_ptr(A, Const(1)))), "A:r"),
        (Call("initialize_wgmma_descriptor", (load(B), access_ptr(A, Const(1)))), "B:r A:r"),
        (Call("call_extern", (Const("int32"), Const("f"), Pointer(A), load(B))), "A:rw B:rw"),
        (Call("an_intrinsic_of_tomorrow", (Pointer(A),)), "A:rw"),
        (Call("let", (Var("v"), load(A), load(B))), "A:r B:r"),
        (Call("if_then_else", (load(A), load(B), load(C))), "A:r B:r C:r"),
    ],
)
def test_touches_in_visiting_order(expr: Expr, touches: str) -> None:
    assert touched(expr) == touches


def test_the_mask_of_an_access_pointer_is_about_its_buffer_not_about_its_offset() -> None:
    """The offset of a pointer that is written through is still *read* to make the address."""
    assert touched(access_ptr(A, Const(2), offset=load(B))) == "B:r A:w"


def test_a_store_reads_value_and_indices_and_writes_its_target() -> None:
    stmt = store(A, load(B), load(C))
    assert mentioned(stmt) == "B:r C:r A:w"
    predicated = Store(A, (ZERO,), ZERO, load(C))
    assert mentioned(predicated) == "C:r A:w"


def test_a_store_through_a_pointer_writes_what_the_pointer_may_be_in() -> None:
    view = Buffer("v", "uint8", (Const(4),), "shared.dyn", P)
    assert mentioned(store(view), Pointers(possible={P: (A, B)})) == "A:w B:w"
    assert mentioned(store(view)) == ""


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (Pointer(A), "A"),
        (access_ptr(A, Const(1)), "A"),
        (Call("address_of", (load(A),)), "A"),
        (Call("handle_add_byte_offset", (Pointer(A), Const(16))), "A"),
        (Call("reinterpret", (Call("add", (Pointer(A), Const(16))),)), "A"),
        (Call("if_then_else", (ZERO, Pointer(A), Pointer(B))), "AB"),
        (Call("if_then_else", (ZERO, Pointer(A), Pointer(A))), "A"),
        (load(A), ""),
        (Call("add", (load(A), Const(1))), ""),
        (Const(0), ""),
    ],
)
def test_a_variable_aliases_what_its_address_may_be_in(value: Expr, names: str) -> None:
    pointers = find_pointers((Bind(P, value),))
    assert "".join(buffer.name for buffer in pointers.of_variable(P)) == names


def test_aliases_are_followed_through_variables_and_views() -> None:
    view = Buffer("v", "uint8", (Const(4),), "shared.dyn", P)
    body: Block = (
        loop(Bind(P, Pointer(A)), Bind(Q, Call("handle_add_byte_offset", (P, Const(8))))),
        Bind(Var("r"), Pointer(view)),
    )
    pointers = find_pointers(body)
    assert [address.buffer for address in pointers.exact.values()] == [A, A, A]
    assert touched(Call("f", (Q,)), pointers) == "A:rw"
    assert touched(access_ptr(view, Const(2)), pointers) == "A:w"
