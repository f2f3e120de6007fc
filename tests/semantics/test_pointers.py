"""Where pointers point: which allocation, and how far behind its start."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, format_expr
from smemreuse.ir.kernel import Buffer, Kernel, Stmt, Store, walk_statements
from smemreuse.semantics.evaluate import Threads
from smemreuse.semantics.pointers import (
    Address,
    Pointers,
    address_of,
    contents_computing,
    displaced,
    escaping,
    find_pointers,
    let_parts,
    mask_of,
    views_beyond,
)

HEADER = """
X = T.handle("int32", "global")
D = T.decl_buffer((64,), "int32", data=X)
As = T.alloc_buffer((32,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((32,), "int32", scope="shared.dyn")
ptrs = T.alloc_buffer((2,), "handle", scope="local")
words = T.alloc_buffer((2,), "uint64", scope="local")
bits = T.alloc_buffer((2,), "int8", scope="local")
tx = T.launch_thread("threadIdx.x", 32)
"""
HANDLE = 'T.handle("int32", "shared.dyn")'
ONE = Threads(np.array([0]))


def kernel_of(body: str) -> Kernel:
    (kernel,) = parse_dump(HEADER + body).kernels
    return kernel


def statements(body: str) -> list[Stmt]:
    """The statements of a body, those of the header left out."""
    return [*walk_statements(kernel_of(body).body)][len([*walk_statements(kernel_of("").body)]) :]


def places(body: str) -> dict[str, object]:
    """Where each variable of a body points: a buffer and an offset, or several buffers."""
    kernel = kernel_of(body)
    pointers = find_pointers(kernel.body)
    exact = {
        var.name: (address.buffer.name, format_expr(address.offset))
        for var, address in pointers.exact.items()
    }
    possible = {
        var.name: sorted(one.name for one in buffers) for var, buffers in pointers.possible.items()
    }
    return {**exact, **possible}


def kept(body: str) -> list[str]:
    pointers = find_pointers(kernel_of(body).body)
    return sorted(one.name for one in pointers.kept if one.scope == "shared.dyn")


# Variables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("As.data", ("As", "0")),
        ("T.address_of(As[4])", ("As", "4 * 4")),
        ("T.address_of(As[tx + 1])", ("As", "(tx + 1) * 4")),
        ("T.handle_add_byte_offset(As.data, 12)", ("As", "12")),
        ("T.handle_add_byte_offset(T.address_of(As[1]), 12)", ("As", "1 * 4 + 12")),
        ('T.tvm_access_ptr(T.type_annotation("int16"), As.data, 3, 4, 1)', ("As", "3 * 2")),
        ('T.reinterpret("handle", T.address_of(As[1]))', ("As", "1 * 4")),
        ("T.if_then_else(tx < 3, As.data, Bs.data)", ["As", "Bs"]),
        ("T.call_extern('handle', 'f', As.data)", ["As"]),
        ("T.call_extern('uint64', 'f', As.data)", ["As"]),
        ("T.mangle(As.data, tx, Bs.data)", ["As", "Bs"]),
    ],
)
def test_a_variable_points_where_its_value_does(value: str, place: object) -> None:
    assert places(f"p: {HANDLE} = {value}\n") == {"p": place}


@pytest.mark.parametrize(
    "value",
    ["tx + 1", "As[0]", "T.call_extern('float32', 'f', As.data)", "As[0] < 3", "T.max(As[0], tx)"],
)
def test_a_number_or_what_is_at_a_place_points_nowhere(value: str) -> None:
    assert places(f"v: T.int32 = {value}\n") == {}


def test_a_variable_may_be_made_of_another() -> None:
    body = f"p: {HANDLE} = T.address_of(As[1])\n"
    body += f"q: {HANDLE} = T.handle_add_byte_offset(p, 8)\n"
    body += f"r: {HANDLE} = T.if_then_else(tx < 3, q, Bs.data)\n"
    assert places(body) == {"p": ("As", "1 * 4"), "q": ("As", "1 * 4 + 8"), "r": ["As", "Bs"]}


def test_a_view_through_a_variable_names_what_that_points_to() -> None:
    body = f"p: {HANDLE} = T.if_then_else(tx < 3, As.data, Bs.data)\n"
    body += 'v = T.decl_buffer((8,), "int32", data=p, scope="shared.dyn")\nv[0] = 1\n'
    kernel = kernel_of(body)
    pointers = find_pointers(kernel.body)
    (store,) = (one for one in walk_statements(kernel.body) if isinstance(one, Store))
    assert sorted(one.name for one in pointers.of_buffer(store.buffer)) == ["As", "Bs"]


def test_a_variable_inside_an_expression_points_there_alone() -> None:
    a, b = Buffer("A", "int32", (Const(4),), "shared"), Buffer("B", "int32", (Const(4),), "shared")
    var = Var("p")
    assert Pointers().binding(var, Pointer(a)).exact == {var: Address(a, Const(0))}
    chosen = Call("select", (Var("c"), Pointer(a), Pointer(b)))
    assert Pointers().binding(var, chosen).of_variable(var) == (a, b)
    assert let_parts(Call("let", (var, Const(1), var))) == (var, Const(1), var)
    assert let_parts(Call("let", (Const(1), Const(1), var))) is None
    assert let_parts(Call("add", (var, Const(1), var))) is None


# Addresses in memory --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("ptrs[0] = As.data\n", ["As"]),
        ("words[0] = T.call_extern('uint64', 'f', As.data)\n", ["As"]),
        ("words[0] = T.Cast('uint64', T.address_of(As[3]))\n", ["As"]),
        ("bits[0] = T.Cast('int8', As.data)\n", []),  # nobody keeps an address in 8 bits
        ("words[0] = As[0]\n", []),
        (f"p: {HANDLE} = As.data\nptrs[0] = p\n", ["As"]),
        ("T.call_extern('handle', 'f', ptrs.data, As.data)\n", ["As"]),
        ("T.call_extern('handle', 'f', bits.data, As.data)\n", []),
        ("T.call_extern('handle', 'f', Bs.data, As.data)\n", []),
    ],
)
def test_what_is_put_into_memory_is_kept(body: str, found: list[str]) -> None:
    assert kept(body) == found


def test_what_is_kept_may_be_found_again() -> None:
    body = f"ptrs[0] = As.data\np: {HANDLE} = ptrs[1]\n"
    assert places(body) == {"p": ["As"]}
    assert places(body + "words[0] = T.call_extern('uint64', 'f', Bs.data)\n") == {
        "p": ["As", "Bs"]
    }
    assert places(f"ptrs[0] = As.data\np: {HANDLE} = D[0] + 1\n") == {"p": ["As"]}
    assert places("ptrs[0] = As.data\nv: T.int8 = bits[0]\n") == {}


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("T.call_extern('handle', 'f', As.data)\n", ["As"]),
        ("T.call_extern('handle', 'f', T.address_of(As[tx]))\n", ["As"]),
        ("T.call_extern('handle', 'f', As[tx])\n", ["As"]),  # by reference, perhaps
        ("T.call_extern('handle', 'expf', As[tx])\n", []),
        ("T.mangle(As[tx])\n", ["As"]),
        ("Bs[0] = As[tx]\n", []),
        ("T.ptx_ldmatrix(0, 4, D[0], words[0])\n", ["words"]),  # its result
    ],
)
def test_whose_contents_may_change_at_any_time(body: str, names: list[str]) -> None:
    found = {one.name for stmt in statements(body) for one in escaping(stmt)}
    assert sorted(found) == names


# Pointers in themselves -------------------------------------------------------------------------

A = Buffer("A", "float16", (Const(4), Const(8)), "shared")
TYPED = Call(
    "tvm_access_ptr",
    (Call("type_annotation", (Const("float16"),)), Pointer(A), Const(2), Const(16), Const(1)),
)


def typed(mask: Expr) -> Call:
    return Call("tvm_access_ptr", (*TYPED.args[:4], mask))


@pytest.mark.parametrize(
    ("mask", "access"),
    [
        (Const(1), Access.READ),
        (Const(2), Access.WRITE),
        (Const(3), Access.READ_WRITE),
        (Const(0), Access.READ_WRITE),
        (Var("m"), Access.READ_WRITE),
    ],
    ids=str,
)
def test_a_pointer_says_what_is_done_through_it(mask: Expr, access: Access) -> None:
    assert mask_of(typed(mask)) is access
    assert mask_of(Call("handle_add_byte_offset", (typed(mask), Const(4)))) is access
    assert mask_of(Pointer(A)) is Access.READ_WRITE


def test_what_is_evaluated_to_compute_an_address() -> None:
    i, j = Var("i"), Var("j")
    inner = Call("address_of", (Load(A, (i, Const(0))),))
    outer = Call("handle_add_byte_offset", (inner, j))
    assert [*contents_computing(outer)] == [i, Const(0), j]
    assert [*contents_computing(TYPED)] == [Const(2), Const(16), Const(1)]
    assert [*contents_computing(Call("reinterpret", (Const("handle"), inner)))] == [i, Const(0)]
    chosen = Call("if_then_else", (Load(A, (i,)), Pointer(A), Pointer(A)))
    assert [*contents_computing(Call("address_of", (chosen,)))] == [chosen]
    assert [*contents_computing(Call("handle_add_byte_offset", (chosen, j)))] == [chosen, j]


def test_a_value_that_is_reinterpreted_is_evaluated() -> None:
    element = Load(A, (Var("i"),))
    for value in (element, Call("exp", (element,))):
        assert [*contents_computing(Call("reinterpret", (Const("int32"), value)))] == [value]


def test_too_few_operands_name_no_place() -> None:
    assert address_of(Call("tvm_access_ptr", TYPED.args[:2]), Pointers()) is None
    assert address_of(Call("address_of", ()), Pointers()) is None
    assert address_of(Call("address_of", (Const(3),)), Pointers()) is None
    broken = Call("tvm_access_ptr", TYPED.args[:2])
    assert [*contents_computing(broken)] == [broken]


def test_an_offset_is_added_to_a_place() -> None:
    place, index = Address(A, Const(0)), Var("i")
    assert displaced(place, index) == Address(A, index)
    assert displaced(None, index) is None


# Views --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "beyond"),
    [
        ('(32,), "int32", data=As.data', False),
        ('(33,), "int32", data=As.data', True),
        ('(64,), "int16", data=As.data', False),
        ('(16,), "int32", data=As.data, elem_offset=16', False),
        ('(17,), "int32", data=As.data, elem_offset=16', True),
        ('(17,), "int32", data=p', True),
        ('(16,), "int32", data=p', False),
        ('(17,), "int32", data=q', True),
        ('(16,), "int32", data=q', False),
        ('(17,), "int32", data=As.data, elem_offset=tx', False),  # not known to
        ('(99,), "int32", data=X', False),
    ],
)
def test_a_view_that_is_known_to_end_behind_its_allocation(view: str, beyond: bool) -> None:
    pointer = f"p: {HANDLE} = T.handle_add_byte_offset(As.data, 64)\n"
    pointer += f"q: {HANDLE} = T.address_of(As[16])\n"
    body = f"{pointer}v = T.decl_buffer({view}, scope='shared.dyn')\n"
    body = body.replace(", data=X, scope='shared.dyn'", ", data=X")
    kernel = kernel_of(body)
    found = [
        (view.name, whole.name)
        for view, whole in views_beyond(kernel.body, find_pointers(kernel.body))
    ]
    assert found == ([("v", "As")] if beyond else [])


# Where an offset changes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "is_exact"),
    [
        ("bits[0] = T.int8(1)\n{}", True),
        ("bits[0] = T.int8(1)\n{}bits[0] = T.int8(2)\n", False),
        ("bits[0] = T.int8(1)\n{}bits[1] = T.int8(2)\n", False),
        ("{}for k in range(4):\n    bits[0] = T.int8(k)\n", False),
        ("bits[0] = T.int8(1)\n{}words[0] = T.uint64(2)\n", True),
        ("{}T.fill_somehow(bits.data)\n", False),
    ],
)
def test_a_pointer_is_exact_if_what_its_offset_loads_does_not_change(
    body: str, is_exact: bool
) -> None:
    kernel = kernel_of(body.format(f"p: {HANDLE} = T.address_of(As[bits[0]])\n"))
    found = find_pointers(kernel.body)
    (var,) = found.exact if is_exact else found.possible
    assert [one.name for one in found.of_variable(var)] == ["As"]
    assert bool(found.exact) is is_exact
