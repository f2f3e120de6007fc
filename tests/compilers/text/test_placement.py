"""Arguments of a buffer that say where its elements are: read right, or refused with a line."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.errors import InputError
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Allocate, Declare, walk_statements
from tests.checker.small import SYNC, judge, under
from tests.compilers.text.texts import dump, kernel_of, launched

LINE = 8


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        ('T.alloc_buffer((4, 4), scope="shared.dyn", strides=(8, 1))', "not compact"),
        ('T.alloc_buffer((16,), scope="shared.dyn", elem_offset=4)', "not compact"),
        ('T.alloc_buffer((16,), scope="shared.dyn", byte_offset=64)', "not compact"),
        ('T.alloc_buffer((16,), scope="shared.dyn", layout=T.TileLayout(1))', "not compact"),
        ('T.alloc_buffer((4, 4), scope="shared.dyn", axis_separators=[1])', "not compact"),
        ('T.alloc_buffer((16,), scope="shared.dyn", buffer_type="auto")', "not compact"),
        ('T.alloc_buffer((16,), scope="shared.dyn", allocated_addr=128)', "address"),
        ('T.alloc_buffer((16,), scope="shared.dyn", pitch=3)', "`pitch=`"),
        ('T.alloc_buffer((16,), "float32", None, None, None, "shared.dyn")', "argument 3"),
        ('T.alloc_buffer((16,), "float32", "shared.dyn", 3)', "argument 4"),
        ("T.alloc_shared((4, 4), strides=(8, 1))", "not compact"),
        ('T.decl_buffer((4, 4), strides=(8, 1), scope="shared.dyn")', "not compact"),
        ("T.decl_buffer((4, 4), data=As.data, strides=(1,))", "1 strides for 2 dimensions"),
        ('T.decl_buffer((4,), "float32", As.data, (1,), 0, None, "shared.dyn")', "argument 6"),
        ('T.decl_buffer((4,), "float32", As.data, (1,), 0, "shared.dyn", 64)', "argument 7"),
        ("T.decl_buffer((4,), data=As.data, elem_offset=1, byte_offset=4)", "write one of them"),
        ("T.match_buffer(A, (4,), offset=3)", "`offset=`"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(made: str, refused: str) -> None:
    with pytest.raises(InputError, match=refused) as raised:
        parse_dump(launched(f"V = {made}\n"), file="some.tir")
    assert str(raised.value).startswith(f"some.tir:{LINE}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "offset"),
    [
        ("elem_offset=4", "4"),
        ("byte_offset=16", "4"),
        ("byte_offset=18", "unknown_offset()"),
        ("byte_offset=n", "unknown_offset()"),
        ("strides=(1,)", "0"),
        ("strides=(2,)", "unknown_offset()"),
        ('layout="default"', "0"),
        ("layout=None", "0"),
        ("layout=T.TileLayout(1)", "unknown_offset()"),
        ("axis_separators=[]", "0"),
        ("axis_separators=[1]", "unknown_offset()"),
        ("offset_factor=4, align=16", "0"),
        ("T.int64(4)", "4"),
    ],
)
def test_where_a_view_begins(given: str, offset: str) -> None:
    arguments = (
        f'"float32", As.data, None, {given}' if given[0] == "T" else f"data=As.data, {given}"
    )
    kernel = kernel_of(launched(f'V = T.decl_buffer((8,), {arguments}, scope="shared.dyn")\n'))
    (view,) = (stmt.buffer for stmt in walk_statements(kernel.body) if isinstance(stmt, Declare))
    assert format_expr(view.elem_offset) == offset


def test_an_allocation_by_position() -> None:
    kernel = kernel_of(dump('S = T.alloc_buffer((8,), "float16", "shared.dyn")\nS[0] = S[1]\n'))
    (made,) = (stmt.buffer for stmt in walk_statements(kernel.body) if isinstance(stmt, Allocate))
    assert (made.scope, made.size) == ("shared.dyn", 16)


@pytest.mark.parametrize("given", ["elem_offset=32", "byte_offset=128", "strides=(2,)"])
def test_a_view_reads_behind_its_offset(given: str) -> None:
    """`V[tx]` reads what lies behind the first half of As, where Bs[tx + 32] has been written."""
    view = f'V = T.decl_buffer((32,), "int32", data=As.data, {given}, scope="shared.dyn")\n'
    body = f"As[tx] = tx\n{SYNC}Bs[tx] = 7\n{SYNC}" + under("if tx < 32", "O[tx] = V[tx]\n")
    assert not judge(view + body).sound


def test_a_view_by_byte_offset_is_that_by_elements() -> None:
    """The first half is written over, the second read."""
    for given in ("elem_offset=32", "byte_offset=128"):
        view = f'V = T.decl_buffer((32,), "int32", data=As.data, {given}, scope="shared.dyn")\n'
        over = under("if tx < 32", "Bs[tx] = 7\n")
        body = f"As[tx] = tx\n{SYNC}{over}{SYNC}" + under("if tx < 32", "O[tx] = V[tx]\n")
        assert judge(view + body).sound
