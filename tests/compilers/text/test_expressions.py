"""Operators, literals, ramps and types as TVM prints them."""

from __future__ import annotations

import ast

import pytest

from smemreuse.compilers.text.expressions import script_name
from smemreuse.compilers.text.statements import literal_dict
from smemreuse.ir.expr import Call, Const, Expr, Load, format_expr, format_index
from smemreuse.ir.kernel import Bind, Store, walk_statements
from tests.compilers.text.texts import kernel_of, launched


def read(text: str) -> Expr:
    """The value of `v = text` in a kernel."""
    binds = walk_statements(kernel_of(launched(f"w = T.int32()\nv: T.let[T.Any] = {text}\n")).body)
    (value,) = (stmt.value for stmt in binds if isinstance(stmt, Bind))
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bx + n * 2", "bx + n * 2"),
        ("(bx + n) * 2", "(bx + n) * 2"),
        ("bx - (n - 1)", "bx - (n - 1)"),
        ("bx // 4 % 2", "bx // 4 % 2"),
        ("T.Add(bx, 1)", "bx + 1"),
        ("T.FloorMod(bx, 2)", "bx % 2"),
        ("T.Div(bx, 2)", "bx / 2"),
        ("T.truncdiv(bx, 2)", "bx / 2"),
        ("T.truncmod(bx, 2)", "mod(bx, 2)"),
        ("T.min(bx, T.max(n, 0))", "min(bx, max(n, 0))"),
        ("bx == 0 and n < 4 and bx != 1", "bx == 0 and n < 4 and bx != 1"),
        ("bx == 0 or not n < 4", "bx == 0 or not(n < 4)"),
        ("T.LT(bx, T.GE(n, 1))", "bx < (n >= 1)"),
        ("bx & 3 | n ^ 1", "bitwise_or(bitwise_and(bx, 3), bitwise_xor(n, 1))"),
        ("bx << 2 >> n", "shift_right(shift_left(bx, 2), n)"),
        ("~bx", "bitwise_not(bx)"),
        ("-bx", "0 - bx"),
        ("-3", "-3"),
        ("--3", "3"),
        ("+bx", "bx"),
        ("-3 * bx", "-3 * bx"),
        ("True", "1"),
        ("T.bool(False)", "0"),
        ("T.float16(0.5)", "0.5"),
        ("T.int64(-7)", "-7"),
        ("T.uint8(255)", "255"),
        ("T.bfloat16(1.0)", "1.0"),
        ("T.float8_e4m3fn(1.0)", "1.0"),
        ("T.boolean(True)", "1"),
        ('T.float32("inf")', "'inf'"),
        ("T.Cast('int64', bx)", "cast('int64', bx)"),
        ("T.Broadcast(T.float32(0.0), 4)", "broadcast(0.0, 4)"),
        ("T.Select(bx < 1, 2, 3)", "select(bx < 1, 2, 3)"),
        ("T.Let(w + 1, where={w: bx})", "let(w, bx, w + 1)"),
        ("T.float32x4(1.0)", "float32x4(1.0)"),
        ("T.handle()", "handle()"),
        ('T.handle("float32", "shared.dyn").ty', repr("T.handle('float32', 'shared.dyn').ty")),
        ("T.Cast(T.float32, bx)", "cast('float32', bx)"),
        ("None", "'None'"),
        ('metadata["tirx.StringImm"][0]', repr("metadata['tirx.StringImm']")),
        ("As.elem_offset", "0"),
        (
            "T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])",
            "comm_reducer(lambda(), tuple(0.0))",
        ),
    ],
)
def test_an_expression(text: str, expected: str) -> None:
    assert format_expr(read(text)) == expected


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("0:8", "0:+8"),
        ("0:16:2", "0:+8:2"),
        ("n:n + 8", "n:+8"),
        ("n:n + 16:4", "n:+4:4"),
        ("n * 8:n * 8 + 8", "n * 8:+8"),
        ("n - 8192:n - 8192 + 2", "n - 8192:+2"),
        ("n + 4:n + 4 + 2", "n + 4:+2"),
        ("n + 4:n + 6", "n + 4:+2"),
        ("n - 4:n - 2", "n - 4:+2"),
        ("n - 4:n + 4", "n - 4:+8"),
        ("n - 4:n", "n - 4:+4"),
        ("n * T.int64(8):n * T.int64(8) + T.int64(4)", "n * 8:+4"),
        ("T.int64(0):T.int64(8)", "0:+8"),
        ("-8:0", "-8:+8"),
        ("T.Ramp(n, 2, 8)", "n:+8:2"),
        ("T.Ramp(n, bx, 8)", "n:+8:bx"),
        ("n", "n"),
    ],
)
def test_a_slice_is_a_ramp_with_exact_lanes(text: str, index: str) -> None:
    body = kernel_of(launched(f"As[{text}] = T.float32(0.0)\n")).body
    (store,) = (stmt for stmt in walk_statements(body) if isinstance(stmt, Store))
    assert format_index(store.indices[0]) == index


def test_every_dimension_has_its_index() -> None:
    cube = 'X = T.alloc_buffer((4, 8, 4), scope="shared")\n'
    (load,) = (
        stmt.value
        for stmt in walk_statements(kernel_of(launched(f"{cube}v = X[bx, 0:8, n]\n")).body)
        if isinstance(stmt, Bind)
    )
    assert isinstance(load, Load)
    assert list(map(format_index, load.indices)) == ["bx", "0:+8", "n"]


def test_a_tuple_of_literals() -> None:
    assert isinstance(read("(1, 2)"), Call)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("T.f", "f"),
        ("T.tl.f", "tl.f"),
        ("X.f", None),
        ("T", None),
        ("T.f().g", None),
        ("T[0].g", None),
    ],
)
def test_script_names(text: str, name: str | None) -> None:
    assert script_name(ast.parse(text, mode="eval").body, frozenset({"T"})) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": [1, "x", None]}', {"a": 1, "b": [1, "x", None]}),
        ('{"a": T.bool(True), "b": T.target({"k": 1})}', {"a": True, "b": {"k": 1}}),
        ('{"a": {"b": (1, 2)}}', {"a": {"b": [1, 2]}}),
        ('{"a": f(1, 2)}', {"a": "f(1, 2)"}),
        ("{}", {}),
        ("[1]", {}),
        ("x", {}),
        ("{**x, 'a': 1}", {"a": 1}),
        ('{"a": T.int32(512), "b": -5}', {"a": 512, "b": -5}),
    ],
)
def test_attributes(text: str, expected: object) -> None:
    assert literal_dict(ast.parse(text, mode="eval").body) == expected


def test_a_literal_is_not_a_type_of_that_name() -> None:
    assert read("T.int32(4)") == Const(4)
    assert format_expr(read("T.int32(bx)")) == "cast('int32', bx)"


def test_what_a_call_is_annotated_with_is_kept_by_name() -> None:
    call = read("T.tma_load(bx, 1, use_2cta=1)")
    assert isinstance(call, Call)
    assert call.annotations == ("use_2cta",)
    assert call.args[-1] == Const(1)
    plain = read('T.tma_load(bx, 1, dtype="int32")')
    assert isinstance(plain, Call)
    assert plain.annotations == ()
