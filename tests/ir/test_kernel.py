"""Buffers, names and expressions of the model."""

from __future__ import annotations

import pytest

from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, children, format_expr, walk
from smemreuse.ir.kernel import (
    UNKNOWN_SIZE,
    Allocate,
    Assert,
    Attr,
    Bind,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Store,
    While,
    element_bits,
    expressions_of,
    nested_blocks,
    unique_names,
    walk_statements,
)


def buffer(name: str = "As", dtype: str = "float16", *shape: int, scope: str = "shared") -> Buffer:
    return Buffer(name, dtype, tuple(map(Const, shape)), scope)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float32", 32),
        ("float16", 16),
        ("bfloat16", 16),
        ("int8", 8),
        ("uint64", 64),
        ("bool", 8),
        ("boolx4", 32),
        ("handle", 64),
        ("float16x8", 128),
        ("float8_e4m3fn", 8),
        ("float8_e5m2", 8),
        ("float8_e5m2fnuz", 8),
        ("float8_e8m0fnu", 8),
        ("float8_e4m3fnx16", 128),
        ("float8_e4m3b11fnuz", 8),
        ("float6_e2m3fn", 8),
        ("custom[tfloat32]", 32),
        ("custom[tfloat32]x4", 128),
        ("tfloat32", 32),
        ("custom[float4_e2m1_unpacked]", 8),
        ("custom[float4_e2m1_unpacked]8", 8),
        ("custom[float4_e2m1_unpacked]x2", 16),
        ("float4_e2m1_unpacked", 8),
        ("custom[posit]16", 16),
        ("float4_e2m1fn", 4),
        ("float4_e2m1fnx2", 8),
        ("int4", 4),
        ("uint4", 4),
        ("int4x8", 32),
        ("int1", 8),
    ],
)
def test_element_bits(dtype: str, bits: int) -> None:
    assert element_bits(dtype) == bits


@pytest.mark.parametrize(
    "dtype", ["", "float", "32", "float32x", "Float32", "float32 ", "void", "custom[posit]"]
)
def test_an_unknown_element_type_is_refused(dtype: str) -> None:
    with pytest.raises(InputError, match="unknown element type"):
        element_bits(dtype)


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("float16", (), 2),
        ("float16", (3, 5), 30),
        ("float4_e2m1fn", (7,), 4),
        ("int4", (1, 1), 1),
        ("int4x3", (3,), 5),
        ("float4_e2m1fnx2", (7,), 7),
        ("float6_e3m2fnx4", (3,), 12),
        ("bool", (5,), 5),
        ("uint1", (5,), 5),
        ("custom[float4_e2m1_unpacked]", (5,), 5),
        ("float16x8", (2,), 32),
        ("uint8", (2**63 - 1,), 2**63 - 1),
    ],
)
def test_the_size_counts_whole_bytes(dtype: str, shape: tuple[int, ...], size: int) -> None:
    assert buffer("As", dtype, *shape).size == size
    assert buffer("As", dtype, *shape).size_expr == Const(size)


def test_an_allocation_of_nothing_does_not_say_how_much_it_is_for() -> None:
    """Its views tell, or nobody does (rule 9); a view of no elements has no bytes."""
    pool = buffer("pool", "uint8", 0)
    assert (pool.size, pool.size_expr) == (None, UNKNOWN_SIZE)
    assert Buffer("v", "float16", (Const(0),), "shared", pool).size == 0


def test_a_buffer_beyond_what_an_address_can_name_is_refused() -> None:
    with pytest.raises(InputError, match="more than"):
        _ = buffer("As", "uint8", 2**63).size


@pytest.mark.parametrize("extent", [-1, 2.0, "n"])
def test_a_shape_of_anything_but_counts_is_refused(extent: int | float | str) -> None:
    with pytest.raises(InputError, match="negative or non-integer"):
        _ = Buffer("As", "uint8", (Const(extent),), "shared").size


def test_a_symbolic_shape_has_no_size_but_an_expression() -> None:
    n = Var("n")
    halves = Buffer("As", "float16", (n, Const(8)), "shared")
    packed = Buffer("As", "int4", (n,), "shared")
    assert halves.size is None
    assert format_expr(halves.size_expr) == "n * 8 * 2"
    assert format_expr(packed.size_expr) == "ceildiv(n * 4, 8)"


def test_a_chain_of_views_ends_at_what_owns_the_bytes() -> None:
    owner, handle = buffer(), Var("p")
    view = Buffer("v", "uint8", (Const(1),), "shared", owner)
    assert owner.storage is owner
    assert Buffer("w", "uint8", (Const(1),), "shared", view).storage is owner
    inner = Buffer("h", "uint8", (Const(1),), "shared", handle)
    assert Buffer("w", "uint8", (Const(1),), "shared", inner).storage is handle


def test_names_that_occur_twice_get_a_suffix_in_program_order() -> None:
    buffers = tuple(map(buffer, ("w", "w", "x", "w")))
    assert list(unique_names(buffers).values()) == ["w", "w#1", "x", "w#2"]


def test_a_suffix_never_collides_with_a_name_that_is_there() -> None:
    buffers = tuple(map(buffer, ("w#1", "w", "w")))
    assert len(set(unique_names(buffers).values())) == 3


def test_buffers_variables_and_statements_are_compared_by_identity() -> None:
    assert buffer() != buffer()
    assert Var("i") != Var("i")
    assert Evaluate(Const(0)) != Evaluate(Const(0))


def test_walking_visits_scopes_before_what_is_in_them() -> None:
    leaf, other = Evaluate(Const(1)), Evaluate(Const(2))
    loop = For(Var("i"), Const(0), Const(2), Const(1), "serial", (leaf,))
    branch = If(Const(1), (loop,), (other,))
    attr = Attr("pragma", Const(0), Const(0), (While(Const(1), (branch,)), Assert(Const(1))))
    kinds = [type(stmt).__name__ for stmt in walk_statements((attr,))]
    assert kinds == ["Attr", "While", "If", "For", "Evaluate", "Evaluate", "Assert"]
    assert nested_blocks(branch) == ((loop,), (other,))
    assert nested_blocks(leaf) == ()


def test_a_store_evaluates_its_value_before_its_indices() -> None:
    value, index, predicate = Const(1), Const(2), Const(3)
    assert expressions_of(Store(buffer(), (index,), value)) == (value, index)
    assert expressions_of(Store(buffer(), (index,), value, predicate)) == (value, index, predicate)


@pytest.mark.parametrize(
    ("stmt", "count"),
    [
        (Evaluate(Const(0)), 1),
        (Bind(Var("v"), Const(0)), 1),
        (Attr("k", Const(0), Const(0), ()), 1),
        (For(Var("i"), Const(0), Const(2), Const(1), "serial", ()), 3),
        (While(Const(1), ()), 1),
        (Assert(Const(1)), 1),
        (Allocate(buffer()), 0),
    ],
)
def test_every_statement_names_what_it_evaluates(stmt: Evaluate, count: int) -> None:
    assert len(expressions_of(stmt)) == count


def test_allocations_are_told_apart_by_scope() -> None:
    scopes = ("shared", "shared.dyn", "shared.barrier", "local", "shared")
    allocations = [Allocate(buffer(f"b{i}", scope=scope)) for i, scope in enumerate(scopes)]
    kernel = Kernel("k", tuple(allocations))
    assert [found.name for found in kernel.allocations("shared")] == ["b0", "b4"]
    assert len(kernel.allocations()) == 5
    assert kernel.shared_scopes() == ("shared", "shared.dyn")


X, Y = Var("x"), Var("y")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Call("sub", (X, Call("sub", (Y, Const(1))))), "x - (y - 1)"),
        (Call("sub", (Call("sub", (X, Y)), Const(1))), "x - y - 1"),
        (Call("mul", (Call("add", (X, Y)), Const(2))), "(x + y) * 2"),
        (Call("floormod", (Call("mul", (X, Y)), Const(2))), "x * y % 2"),
        (Call("floordiv", (X, Call("floordiv", (Y, Const(2))))), "x // (y // 2)"),
        (Call("and", (Call("or", (X, Y)), X)), "(x or y) and x"),
        (Call("max", (X, Const(-1))), "max(x, -1)"),
        (Call("lt", (Call("add", (X, Const(1))), Y)), "x + 1 < y"),
        (Load(buffer(), (Call("ramp", (X, Const(1), Const(8))),)), "As[x:+8]"),
        (Load(buffer(), (Call("ramp", (X, Const(2), Const(8))), Y)), "As[x:+8:2, y]"),
        (Pointer(buffer()), "As.data"),
        (Const("shared"), "'shared'"),
    ],
)
def test_expressions_are_written_with_the_brackets_they_need(expr: Expr, text: str) -> None:
    assert format_expr(expr) == text


def test_a_predicate_is_part_of_a_load() -> None:
    load = Load(buffer(), (X,), Y)
    assert children(load) == (X, Y)
    assert list(walk(Call("exp", (load,))))[1:] == [load, X, Y]
