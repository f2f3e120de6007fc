"""Rule 1: every access counts, with what it does to the bytes."""

from __future__ import annotations

import pytest

from smemreuse.analysis.touches import Aliases, find_aliases, touches_of, touches_of_store
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Bind, Block, Buffer, Store
from smemreuse.results.sequence import Touch
from tests.analysis.trees import ZERO, access_ptr, load, loop, shared, store

A, B, C = shared("A"), shared("B"), shared("C")
P, Q = Var("p"), Var("q")


def spell(touches: list[Touch]) -> str:
    short = {"read": "r", "write": "w", "read-write": "rw"}
    return " ".join(f"{touch.buffer.name}:{short[touch.access.value]}" for touch in touches)


def touched(expr: Expr, aliases: Aliases | None = None) -> str:
    return spell(list(touches_of(expr, aliases or {})))


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
        (Call("call_extern", (Const("int32"), Const("f"), Pointer(A), load(B))), "A:rw B:r"),
        (Call("an_intrinsic_of_tomorrow", (Pointer(A),)), "A:rw"),
        (Call("let", (Var("v"), load(A), load(B))), "A:r B:r"),
        (Call("if_then_else", (load(A), load(B), load(C))), "A:r B:r C:r"),
    ],
)
def test_touches_in_visiting_order(expr: Expr, touches: str) -> None:
    assert touched(expr) == touches


def test_the_mask_of_an_access_pointer_is_about_its_buffer_not_about_its_offset() -> None:
    """The offset of a pointer that is written through is still *read* to make the address."""
    assert touched(access_ptr(A, Const(2), offset=load(B))) == "A:w B:r"


def test_a_store_reads_value_and_indices_and_writes_its_target() -> None:
    stmt = store(A, load(B), load(C))
    assert spell(list(touches_of_store(stmt, {}))) == "B:r C:r A:w"
    predicated = Store(A, (ZERO,), ZERO, load(C))
    assert spell(list(touches_of_store(predicated, {}))) == "C:r A:w"


def test_a_store_through_a_pointer_writes_what_the_pointer_may_be_in() -> None:
    view = Buffer("v", "uint8", (Const(4),), "shared.dyn", P)
    assert spell(list(touches_of_store(store(view), {P: (A, B)}))) == "A:w B:w"
    assert spell(list(touches_of_store(store(view), {}))) == ""


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
    aliases = find_aliases((Bind(P, value),))
    assert "".join(buffer.name for buffer in aliases.get(P, ())) == names


def test_aliases_are_followed_through_variables_and_views() -> None:
    view = Buffer("v", "uint8", (Const(4),), "shared.dyn", P)
    body: Block = (
        loop(Bind(P, Pointer(A)), Bind(Q, Call("handle_add_byte_offset", (P, Const(8))))),
        Bind(Var("r"), Pointer(view)),
    )
    assert list(find_aliases(body).values()) == [(A,), (A,), (A,)]
    assert touched(Call("f", (Q,)), find_aliases(body)) == "A:rw"
    assert touched(access_ptr(view, Const(2)), find_aliases(body)) == "A:w"
