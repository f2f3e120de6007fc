"""Every construct that TVM's printer writes, read into the access tree."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from textwrap import indent

import pytest

from smemreuse.compilers.text.reader import parse_dump, read_dump, split_lines
from smemreuse.errors import InputError
from smemreuse.ir.expr import Const, format_expr
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Attr,
    Declare,
    For,
    If,
    Kernel,
    Stmt,
    walk_statements,
)
from smemreuse.ir.labels import label, node_name
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.versions import TILELANG
from tests.compilers.text.texts import (
    BUFFERS,
    LAUNCH,
    dump,
    inner,
    kernel_of,
    launched,
    leaves,
)
from tests.conftest import DUMPS


def statements(kernel: Kernel, kind: type[Stmt]) -> list[str]:
    return [label(stmt) for stmt in walk_statements(kernel.body) if isinstance(stmt, kind)]


# Modules and functions ------------------------------------------------------------------------


MODULE = """\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    I.module_attrs({"a": 1})

    @T.prim_func
    def host(A_handle: T.handle):
        A = T.match_buffer(A_handle, (64,), "float16", strides=(1,))
        Module.one(A.data)

    @T.prim_func(private=True)
    def one(A: T.handle("float16", "global")):
        bx = T.launch_thread("blockIdx.x", 4)
        As = T.alloc_buffer((64,), "float16", scope="shared.dyn")
        As[bx] = T.float16(0.0)

    @T.prim_func(private=True)
    def two(A: T.Buffer((64,), "float16")) -> T.int32:
        bx = T.launch_thread("blockIdx.x", 4)
        A[bx] = T.float16(1.0)
        return 0
"""


def test_a_module_gives_its_device_kernels_in_order() -> None:
    dumped = parse_dump(MODULE)
    assert [function.name for function in dumped.functions] == ["host", "one", "two"]
    assert [kernel.name for kernel in dumped.kernels] == ["one", "two"]
    assert dumped.kernels[0].version == TILELANG


def test_two_modules_in_a_file_are_both_read() -> None:
    assert len(parse_dump(MODULE + "\n\n" + MODULE.replace("Module", "Other")).kernels) == 4


def test_a_function_with_two_launches_holds_two_kernels() -> None:
    source = dump("""\
        Gs = T.alloc_buffer((64,), scope="shared.dyn")
        with T.launch_thread("blockIdx.x", 4) as bx:
            As = T.alloc_buffer((64,), scope="shared.dyn")
            As[bx] = T.float32(0.0)
        with T.launch_thread("blockIdx.x", 8) as bx:
            As = T.alloc_buffer((32,), scope="shared.dyn")
            As[bx] = Gs[bx]
    """)
    one, two = parse_dump(source).kernels
    assert [one.name, two.name] == ["main", "main#1"]
    assert [buffer.size for buffer in one.allocations("shared.dyn")] == [256]
    assert [buffer.size for buffer in two.allocations("shared.dyn")] == [256, 128]
    plans = [plan_kernel(kernel, "shared.dyn", policy="outer") for kernel in (one, two)]
    assert [plan.arena_bytes for plan in plans] == [256, 384]


def test_a_host_function_is_no_kernel_even_with_local_buffers() -> None:
    assert parse_dump(dump("X = T.alloc_buffer((4,))\nX[0] = T.float32(0.0)\n")).kernels == ()


def test_a_kernel_without_shared_buffers_is_a_kernel() -> None:
    kernel = kernel_of(dump(LAUNCH + "X = T.alloc_buffer((4,))\nX[bx] = T.float32(0.0)\n"))
    assert kernel.shared_scopes() == ()
    assert inner(dump(LAUNCH)) == []


def test_a_fragment_without_a_header() -> None:
    kernel = kernel_of(LAUNCH + BUFFERS + "As[tx] = Bs[unknown]\n")
    assert kernel.name == "fragment"
    assert leaves(LAUNCH + BUFFERS + "As[tx] = Bs[unknown]\n") == ["Bs:read As:write"]


def test_a_fragment_without_a_launch() -> None:
    assert leaves(BUFFERS + "for i in range(n):\n    As[i] = Bs[i]\n") == ["Bs:read As:write"]


def test_function_attributes_are_read_as_data() -> None:
    body = 'T.func_attr({"tl.smem_alignment_map": {"As": 128}, "t": T.target({"arch": "sm_90"})})\n'
    kernel = kernel_of(dump(body + LAUNCH))
    assert kernel.attrs["tl.smem_alignment_map"] == {"As": 128}
    assert kernel.attrs["t"] == {"arch": "sm_90"}


def test_another_prefix_than_t() -> None:
    source = launched("As[bx] = Bs[bx]\n").replace("T.", "X.").replace("as T", "as X")
    assert leaves(source) == ["Bs:read As:write"]
    plain = source.replace("# from tvm.script import tirx as X", "from tvm.script import tirx as X")
    assert leaves(plain) == ["Bs:read As:write"]


def test_the_prefix_of_an_older_tvm() -> None:
    source = launched("As[bx] = Bs[bx]\n").replace("tirx as T", "tir as T")
    assert leaves(source) == ["Bs:read As:write"]


def test_docstrings_comments_and_pass_are_nothing() -> None:
    source = launched('"""What it does."""\n# a comment\npass  # T.alloc_buffer\nAs[0] = Bs[0]\n')
    assert leaves(source) == ["Bs:read As:write"]
    assert leaves('"""A module."""\n' + source) == ["Bs:read As:write"]


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched("As[0] = Bs[0]\n"))
    (kernel,) = read_dump(path).kernels
    stores = [stmt.line for stmt in walk_statements(kernel.body) if node_name(stmt)[:3] == "Buf"]
    assert stores == [8]
    assert [buffer.line for buffer in kernel.allocations()] == [6, 7]


def test_a_byte_order_mark_and_carriage_returns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_bytes(b"\xef\xbb\xbf" + launched("As[0] = Bs[0]\n").replace("\n", "\r\n").encode())
    assert len(read_dump(path).kernels) == 1


# Allocations and views ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "dtype", "size", "scope"),
    [
        ('(64,), "float16", scope="shared.dyn"', "float16", 128, "shared.dyn"),
        ('(64,), scope="shared"', "float32", 256, "shared"),
        ('(8, 8), "int8", scope="shared"', "int8", 64, "shared"),
        ('[8, 8], "int8", scope="shared"', "int8", 64, "shared"),
        ('64, "int8", scope="shared"', "int8", 64, "shared"),
        ('(T.int64(64),), "int8", scope="shared"', "int8", 64, "shared"),
        ('(7,), "float4_e2m1fn", scope="shared"', "float4_e2m1fn", 4, "shared"),
        ('(7,), "int4", scope="shared"', "int4", 4, "shared"),
        ('(4,), "uint64", scope="shared.barrier"', "uint64", 32, "shared.barrier"),
        ('(4,), "float16x8", scope="shared"', "float16x8", 64, "shared"),
        ('(), "float16", scope="shared"', "float16", 2, "shared"),
        ('(4,), "bool", scope="shared", annotations={"a": 1}', "bool", 4, "shared"),
        ("(4,)", "float32", 16, "global"),
        ('shape=(4,), dtype="int8", scope="shared"', "int8", 4, "shared"),
    ],
)
def test_an_allocation(call: str, dtype: str, size: int, scope: str) -> None:
    (buffer,) = kernel_of(dump(LAUNCH + f"X = T.alloc_buffer({call})\n")).allocations()
    assert (buffer.name, buffer.dtype, buffer.size, buffer.scope) == ("X", dtype, size, scope)


def test_scopes_are_kept_apart() -> None:
    scopes = ("shared", "shared.dyn", "shared.barrier", "shared.tmem", "local")
    body = "".join(
        f'B{index} = T.alloc_buffer((4,), scope="{scope}")\nB{index}[0] = T.float32(0.0)\n'
        for index, scope in enumerate(scopes)
    )
    kernel = kernel_of(dump(LAUNCH + body))
    assert kernel.shared_scopes() == ("shared", "shared.dyn")
    for scope, name in (("shared", "B0"), ("shared.dyn", "B1")):
        assert [buffer.name for buffer in plan_kernel(kernel, scope).buffers] == [name]
        assert leaves(dump(LAUNCH + body), scope) == [f"{name}:write"]


def test_a_symbolic_shape_shares_with_nothing() -> None:
    body = LAUNCH + BUFFERS
    body += 'm: T.int32 = n * 2\nSs = T.alloc_buffer((m, 8), "float16", scope="shared.dyn")\n'
    body += "As[0] = T.float32(0.0)\nSs[0, 0] = T.float16(0.0)\nBs[0] = T.float32(0.0)\n"
    plan = plan_kernel(kernel_of(dump(body)), "shared.dyn", policy="outer")
    (symbolic,) = plan.symbolic_offsets
    assert symbolic.name == "Ss"
    assert format_expr(symbolic.size_expr) == "m * 8 * 2"
    assert plan.symbolic_offsets[symbolic] == Const(256)
    assert plan.arena_expr is not None
    assert format_expr(plan.arena_expr) == "(256 + m * 8 * 2 + 15) // 16 * 16"
    assert not plan.optimal or plan.arena_bytes == plan.lower_bound_bytes


@pytest.mark.parametrize(
    "views",
    [
        'V = T.decl_buffer((64,), data=As.data, scope="shared.dyn")',
        "U = T.decl_buffer((64,), data=As.data)\nV = T.decl_buffer((64,), data=U.data)",
        "p: T.handle = As.data\nV = T.decl_buffer((64,), data=p)",
        "p = T.handle_add_byte_offset(As.data, 128)\nV = T.decl_buffer((32,), data=p)",
        "V = T.decl_buffer((32,), data=T.handle_add_byte_offset(As.data, 128))",
        'V = T.decl_buffer((32,), data=T.address_of(As[32]), scope="shared.dyn")',
        "p: T.handle = As.data\nq: T.handle = p\nV = T.decl_buffer((64,), data=q)",
        'V = T.Buffer((64,), "float32", data=As.data, scope="shared.dyn")',
        "V = T.decl_buffer((32,), data=As.data, elem_offset=32)",
        "V = As",
        'p = T.handle("float32", "shared.dyn")\np = As.data\nV = T.decl_buffer((64,), data=p)',
    ],
)
def test_an_access_through_a_view_touches_the_allocation(views: str) -> None:
    assert leaves(launched(views + "\nV[0] = Bs[0]\n")) == ["Bs:read As:write"]


def test_a_region_matched_to_a_buffer_is_a_view() -> None:
    """`T.match_buffer(As[0:16], ...)` in a block is how TVM prints a MatchBufferRegion."""
    body = 'with T.sblock("b"):\n    V = T.match_buffer(As[0:16], (16,))\n    V[0] = Bs[0]\n'
    assert leaves(launched(body)) == ["Bs:read As:write"]


def test_what_is_read_to_find_a_region_is_read() -> None:
    body = 'with T.sblock("b"):\n    V = T.match_buffer(As[Bs[0]:16], (16,))\n    V[0] = 0.0\n'
    assert inner(launched(f"for i in range(2):\n{indent(body, '    ')}"))[-1].endswith("Bs:read")


@pytest.mark.parametrize(
    ("view", "offset"),
    [
        ("T.match_buffer(M[0:4, 4:8], (4, 4))", "unknown_offset()"),
        ("T.decl_buffer((4, 4), data=M.data, strides=(8, 1))", "unknown_offset()"),
        ("T.decl_buffer((4, 4), data=M.data, strides=(4, 1), elem_offset=8)", "8"),
        ("T.decl_buffer((n, 4), data=M.data, strides=(4, 1))", "0"),
        ("T.match_buffer(M, (8, 8))", "0"),
    ],
)
def test_a_view_that_is_not_row_major_may_be_anywhere(view: str, offset: str) -> None:
    body = f'M = T.alloc_buffer((8, 8), scope="shared.dyn")\nV = {view}\nV[0, 0] = 0.0\n'
    (stmt,) = (s for s in walk_statements(kernel_of(launched(body)).body) if isinstance(s, Declare))
    assert format_expr(stmt.buffer.elem_offset) == offset
    assert leaves(launched(body)) == ["M:write"]


def test_a_declaration_without_data_is_an_allocation() -> None:
    body = 'X = T.decl_buffer((8,), "int8", scope="shared.dyn")\nX[0] = As[0]\n'
    assert leaves(launched(body)) == ["As:read X:write"]


def test_a_block_with_reads_and_writes() -> None:
    body = 'with T.sblock("b"):\n    T.reads(Bs[0])\n    T.writes(As[0])\n    As[0] = Bs[0]\n'
    assert leaves(launched(body)) == ["Bs:read As:write"]


def test_a_buffer_parameter_is_no_shared_buffer() -> None:
    source = launched("As[0] = X[0]\n").replace("n: T.int32", 'X: T.Buffer((64,), "float32")')
    assert leaves(source) == ["As:write"]


def test_sibling_blocks_may_use_a_name_again() -> None:
    body = LAUNCH
    for extent in (32, 16):
        body += f'for i in range(4):\n    X = T.alloc_buffer(({extent},), scope="shared.dyn")\n'
        body += "    X[i] = T.float32(0.0)\n"
    assert leaves(dump(body)) == ["X:write", "X#1:write"]


def test_a_nested_block_may_hide_a_name_and_gives_it_back() -> None:
    body = """\
        for i in range(4):
            As = T.alloc_buffer((8,), scope="shared.dyn")
            As[i] = T.float32(0.0)
        As[0] = T.float32(0.0)
    """
    assert leaves(launched(body)) == ["As#1:write", "As:write"]


def test_the_arms_of_a_branch_have_names_of_their_own() -> None:
    body = """\
        if bx < 2:
            X = T.alloc_buffer((8,), scope="shared.dyn")
            X[0] = T.float32(0.0)
        else:
            X = T.alloc_buffer((16,), scope="shared.dyn")
            X[0] = T.float32(0.0)
    """
    assert leaves(launched(body)) == ["X:write", "X#1:write"]


# Attributes and thread axes -------------------------------------------------------------------


def test_the_statement_form_encloses_the_rest_of_its_block_and_the_with_form_its_own() -> None:
    statement = LAUNCH + 'tx = T.launch_thread("threadIdx.x", 32)\nT.attr(0, "pragma", tx)\n'
    nested = statement.replace("bx = T.launch_thread", "T.launch_thread") + "T.evaluate(tx)\n"
    block = """\
        with T.launch_thread("blockIdx.x", 4):
            with T.launch_thread("threadIdx.x", 32) as tx:
                with T.attr(0, "pragma", tx):
                    T.evaluate(tx)
    """
    for text in (nested, block):
        attrs = statements(kernel_of(dump(text)), Attr)
        assert attrs == [
            "launch_thread('blockIdx.x', 4)",
            "launch_thread('threadIdx.x', 32)",
            "attr pragma(0, tx)",
        ]
    (outermost,) = kernel_of(dump(nested)).body
    assert isinstance(outermost, Attr)
    assert len(outermost.body) == 1


def test_what_stands_behind_a_with_block_is_outside_of_it() -> None:
    body = 'with T.attr(0, "virtual_thread", 2):\n    As[0] = T.float32(0.0)\nBs[0] = As[0]\n'
    assert [row.split(" |")[0] for row in inner(launched(body))] == [
        "AttrStmt +2",
        "BufferStore +0",
        "AttrStmt -2",
        "BufferStore +0",
    ]


def test_a_with_of_several_items_is_a_nest() -> None:
    body = """\
        with T.launch_thread("blockIdx.x", 4) as bx, T.launch_thread("threadIdx.x", 8) as tx:
            As = T.alloc_buffer((64,), scope="shared.dyn")
            As[tx] = T.float32(bx)
    """
    assert leaves(dump(body)) == ["As:write"]
    assert len(statements(kernel_of(dump(body)), Attr)) == 2


def test_an_axis_declared_by_env_thread() -> None:
    body = 'tx = T.env_thread("threadIdx.x")\nT.launch_thread(tx, 32)\n' + BUFFERS
    body += "As[tx] = Bs[tx]\n"
    (launch,) = kernel_of(dump(body)).body
    assert isinstance(launch, Attr)
    assert (launch.key, launch.node) == (THREAD_EXTENT, Const("threadIdx.x"))
    assert leaves(dump(body)) == ["Bs:read As:write"]


def test_an_axis_launched_again_inside() -> None:
    body = 'T.launch_thread(bx, 4)\ntx = T.launch_thread("threadIdx.x", 8)\nAs[tx] = Bs[bx]\n'
    assert leaves(launched(body)) == ["Bs:read As:write"]


def test_a_virtual_thread_is_printed_as_a_launch() -> None:
    """TVM prints `virtual_thread` of an axis as `T.launch_thread("vthread", n)`; it is a scope."""
    body = 'vx = T.launch_thread("vthread", 2)\nAs[vx] = Bs[vx]\n'
    assert [row.split(" |")[0] for row in inner(launched(body))] == [
        "AttrStmt +2",
        "BufferStore +0",
        "AttrStmt -2",
    ]


def test_a_warp_specialization_read_from_text() -> None:
    body = """\
        T.attr([128, 128], "kWarpSpecializationScope", 0)
        if bx < 2:
            As[0] = T.float32(0.0)
        else:
            Bs[0] = T.float32(0.0)
    """
    assert leaves(launched(body)) == ["As:write", "Bs:write"]
    assert len(inner(launched(body))) == 2, "the branch is no scope"


# Control flow ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("range(4)", "serial(4)"),
        ("range(n)", "serial(n)"),
        ("range(2, 6)", "serial(2, 4)"),
        ("range(n, n + 4)", "serial(n, 4)"),
        ("range(n, n + 8, 2)", "serial(n, 8, 2)"),
        ("range(0, 8, 2)", "serial(0, 8, 2)"),
        ("T.serial(4)", "serial(4)"),
        ("T.serial(2, 6)", "serial(2, 4)"),
        ("T.serial(0, 8, step=2)", "serial(0, 8, 2)"),
        ('T.serial(15, annotations={"num_stages": 2})', "serial(15)"),
        ("T.unroll(4)", "unrolled(4)"),
        ("T.parallel(4)", "parallel(4)"),
        ("T.vectorized(1, 9)", "vectorized(1, 8)"),
        ('T.thread_binding(32, thread="threadIdx.x")', "thread_binding(32)"),
        ("T.unroll(0, T.int64(8), step=T.int64(2))", "unrolled(0, 8, 2)"),
        ("range(-1, 2)", "serial(-1, 3)"),
        ("range(T.int64(2), T.int64(6))", "serial(2, 4)"),
        ("range(bx * 4, bx * 4 + 4)", "serial(bx * 4, 4)"),
        ("range(n - 2, n - 2 + 4)", "serial(n - 2, 4)"),
        ("range(n + -2, n + -2 + 4)", "serial(n + -2, 4)"),
        ("range(n, n + T.int64(4))", "serial(n, 4)"),
        ("range(n, m)", "serial(n, m - n)"),
    ],
)
def test_a_loop(header: str, expected: str) -> None:
    source = launched(f"m: T.int32 = n * 2\nfor i in {header}:\n    As[i] = Bs[i]\n")
    assert inner(source)[0].split(" | ")[1] == f"for i in {expected}"
    assert leaves(source) == ["Bs:read As:write"]


def test_a_grid_is_a_nest_of_serial_loops() -> None:
    source = launched("for i, j, k in T.grid(2, n, 4):\n    As[i + j] = Bs[k]\n")
    assert statements(kernel_of(source), For) == [
        "for i in serial(2)",
        "for j in serial(n)",
        "for k in serial(4)",
    ]
    assert [row.split(" |")[0] for row in inner(source)][:3] == ["For +6", "For +4", "For +2"]


def test_a_grid_of_one_dimension() -> None:
    assert leaves(launched("for i in T.grid(2):\n    As[i] = Bs[i]\n")) == ["Bs:read As:write"]


def test_while_and_branches() -> None:
    source = launched("""\
        while As[0] < T.float32(4.0):
            if bx == 0:
                As[0] = T.float32(1.0)
            elif bx == 1:
                As[1] = T.float32(1.0)
            elif Bs[0] < T.float32(1.0):
                pass
            else:
                As[2] = T.float32(1.0)
    """)
    rows = [row.split(" |")[0] for row in inner(source)]
    assert rows == [
        "While +10",
        "IfThenElse +8",
        "BufferStore +0",
        "IfThenElse +5",
        "BufferStore +0",
        "IfThenElse +2",
        "BufferStore +0",
        "IfThenElse -2",
        "IfThenElse -5",
        "IfThenElse -8",
        "While -10",
    ]
    assert len(statements(kernel_of(source), If)) == 3
    assert inner(source)[-1].endswith("| As:read")
    assert inner(source)[7].endswith("| Bs:read")


def test_assertions_returns_and_jumps() -> None:
    source = launched("""\
        assert Bs[0] < T.float32(1.0), ("RuntimeError", ["too large: ", "no"])
        for i in range(4):
            if As[i] < T.float32(0.0):
                break
            continue
        return Bs[0]
    """)
    rows = inner(source)
    assert rows[1].startswith("AssertStmt -1 | assert")
    assert rows[1].endswith("Bs:read")
    assert rows[-1].endswith("Bs:read")


# Bindings -------------------------------------------------------------------------------------


def test_bindings_with_and_without_annotation_read_their_value() -> None:
    body = "for i in range(4):\n    v: T.float32 = As[0]\n    w = Bs[0]\n    As[i] = v + w\n"
    assert inner(launched(body))[-1].endswith("| As:read Bs:read")


def test_several_definitions_in_one_statement() -> None:
    body = 'm, p = T.int32(), T.handle("float32")\nv, w = As[0], Bs[0]\nAs[m] = v + w\n'
    assert leaves(launched(body)) == ["As:write"]
    assert inner(launched("for i in range(2):\n    v, w = As[0], Bs[0]\n"))[-1].endswith(
        "As:read Bs:read"
    )


def test_variables_declared_out_of_line() -> None:
    body = (
        'm = T.int32(is_size_var=True)\np = T.handle("float32", "global")\n'
        'X = T.match_buffer(A, (m, 4), strides=("s", 1))\nAs[0] = X[m, X.strides[0]]\n'
    )
    assert leaves(launched(body)) == ["As:write"]


def test_a_call_bound_to_a_number_accesses_its_buffers_where_it_stands() -> None:
    """Rule 1: the atomic returns the old value, and adds to As whether or not that is used."""
    body = """\
        old: T.float32 = T.call_extern("float32", "AtomicAddRet", T.address_of(As[0]), 1)
        Bs[0] = T.float32(0.0)
    """
    kernel = kernel_of(launched(body))
    assert {b.name for b in plan_kernel(kernel, "shared.dyn", policy="inner").live} == {"As", "Bs"}


@pytest.mark.parametrize(
    ("bind", "touched"),
    [
        ('p: T.handle = T.call_extern("handle", "f", As.data)', ["As", "Bs", "As"]),
        ("p = T.unknown(As.data)", ["As", "Bs", "As"]),
        ('p = T.call_extern("int32", "f", As.data)', ["As", "Bs"]),
        ("p: T.uint32 = T.unknown(As.data)", ["As", "Bs", "As"]),
        ('p: T.uint32 = T.Cast("uint32", T.reinterpret("uint64", As.data)) + 4', ["Bs", "As"]),
        ("p = T.if_then_else(As[0] < 1, As.data, As.data)", ["As", "Bs", "As"]),
        ("q = T.handle()\np = T.Let(T.f(q), where={q: As.data})", ["As", "Bs", "As"]),
        ("p: T.bool = As.data == As.data", ["Bs"]),
    ],
)
def test_what_a_call_gives_back_may_be_a_pointer_that_it_was_given(
    bind: str, touched: list[str]
) -> None:
    """Rule 1, unless the type says that it is none."""
    body = f"for i in range(1):\n{indent(bind, '    ')}\n    Bs[0] = 0.0\n    T.g(p)\n"
    names = [row.split(" | ")[2] for row in inner(launched(body))]
    at_bind = names[-1].split()[:1]
    in_order = at_bind + names[1:-1]
    assert [text.split(":")[0] for text in in_order] == touched


# Expressions that touch -----------------------------------------------------------------------

TWO = "As:read-write Bs:read-write"
PTR = 'T.tvm_access_ptr(T.type_annotation("float16"), {}.data, {}, 16, {})'


@pytest.mark.parametrize(
    ("statement", "touches"),
    [
        ("As[0] = Bs[As[1]]", "As:read Bs:read As:write"),
        ("As[0:8] = Bs[0:8]", "Bs:read As:write"),
        ("As[0:16:2] = T.Broadcast(Bs[0], 8)", "Bs:read As:write"),
        ("As[T.Ramp(0, 2, 8)] = Bs[T.Ramp(n, 1, 8)]", "Bs:read As:write"),
        ("As.vstore([T.Ramp(0, 1, 8)], Bs[0], predicate=Bs[1])", "Bs:read Bs:read As:write"),
        ("As[0] = Bs.vload([T.Ramp(0, 1, 8)], predicate=As[1])", "As:read Bs:read As:write"),
        ("T.evaluate(As[0])", "As:read"),
        ("As[0] + Bs[0]", "As:read Bs:read"),
        ("As[0] = T.Let(v + Bs[0], where={v: As[1]})", "As:read Bs:read As:write"),
        ("As[0] = T.if_then_else(bx < 1 and not Bs[0], 0, 1)", "Bs:read As:write"),
        ("As[0] = -Bs[0]", "Bs:read As:write"),
        ("As[0] = T.Shuffle([Bs[0], Bs[1]], [0])", "Bs:read Bs:read As:write"),
        (
            f"T.ptx_cp_async({PTR.format('As', 0, 2)}, {PTR.format('Bs', 0, 1)}, 8)",
            "Bs:read As:write",
        ),
        (f"T.ptx_cp_async({PTR.format('As', 0, 3)}, A, 8)", "As:write"),
        (f"T.ptx_cp_async({PTR.format('As', 0, 'n')}, A, 8)", "As:write"),
        (f"T.ptx_ldmatrix(T.bool(False), 4, {PTR.format('As', 'n * 8', 1)}, A)", "As:read"),
        (f"T.ptx_stmatrix(T.int32(4), {PTR.format('As', 0, 2)}, Bs[0])", "As:write Bs:read"),
        (f"T.tma_load(A, Bs[0], {PTR.format('As', 0, 2)}, 0, 0)", "Bs:read As:write"),
        (f"T.tma_store(A, {PTR.format('As', 0, 1)}, 0, 0)", "As:read"),
        (f"T.initialize_wgmma_descriptor(A, {PTR.format('As', 0, 1)}, 2, 1, 32)", "As:read"),
        (
            "T.ptx_wgmma_ss(As.data, T.shift_right(32, 4), Bs.data, 0)",
            "As:read-write Bs:read-write",
        ),
        ('T.call_extern("int32", "f", As.data, Bs[0])', TWO),
        ('T.call_extern("int32", "f", T.address_of(As[Bs[0]]))', "Bs:read As:read-write"),
        ("T.intrinsic.of_tomorrow(As.data)", "As:read-write"),
        ('T.unknown(T.reinterpret("handle", As.data), key=Bs.data)', TWO),
        ("Module.other(As.data, Bs[0])", TWO),
        ("other(As, Bs[0])", TWO),
        ('T.call_packed("f", [As.data, Bs.data])', TWO),
        ('T.call_packed("f", {"a": As.data})', "As:read-write"),
        ("T.unknown(As)", "As:read-write"),
        ("other(x=As.data)", "As:read-write"),
        ('T.evaluate(As.access_ptr("w"))', "As:read-write"),
        ("T.evaluate(As[0].value)", "As:read"),
        ("n.method(As[0])", "As:read-write"),
    ],
)
def test_every_mention_of_a_buffer_is_an_access(statement: str, touches: str) -> None:
    """Rule 1, also for what no printer of today writes: nothing understood may be lost."""
    assert leaves(launched(f"v = T.float32()\n{statement}\n")) == [touches]


def test_synchronization_touches_nothing() -> None:
    body = 'T.tvm_storage_sync("shared")\nT.ptx_commit_group()\nT.ptx_wait_group(0)\n'
    assert leaves(launched(body)) == []


# What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("As[0] = Cs[0]", 8, "'Cs' is used but never defined"),
        ("As[0] = n[0]", 8, "`n` is indexed but is not a buffer"),
        ("n[0] = As[0]", 8, "`n` is written to but is not a buffer"),
        ("As[0] = Bs[:8]", 8, "needs both ends"),
        ("As[0] = 1 < n < 4", 8, "chained comparison"),
        ("As[0] = n ** 2", 8, "no operator"),
        ("As[0] = n if n else 1", 8, "cannot read the expression"),
        ("As[0] = (m := 4)", 8, "cannot read the expression"),
        ("As[0] = [i for i in range(4)]", 8, "cannot read the expression"),
        ("As[0] = T.f(*n)", 8, "starred"),
        ("As[0] = 1j", 8, "cannot read the literal"),
        ("As[0] += 1", 8, "`AugAssign`"),
        ("a = b = 4", 8, "chained assignment"),
        ("a, b = 4, 5, 6", 8, "2 names for 3 values"),
        ("for i in n:\n    pass", 8, "cannot read the loop over `n`"),
        ("for i in T.Parallel(4):\n    pass", 8, "cannot read a loop over"),
        ("for i in range():\n    pass", 8, "one to three bounds, not 0"),
        ("for i, j in T.grid(4):\n    pass", 8, "2 loop variables for 1 extents"),
        ("with T.Kernel(4) as bx:\n    pass", 8, "cannot read `with T.Kernel"),
        ("with open('x'):\n    pass", 8, "cannot read `with open"),
        ("def f():\n    pass", 8, "`FunctionDef`"),
        ("T.launch_thread('threadIdx.x')", 8, "needs 2 arguments, found 1"),
        ("T.attr(0, 'key')", 8, "needs 3 arguments, found 2"),
        ("T.realize(As[0:64], 'shared')", 8, "T.realize is of a schedule not lowered yet"),
        ("X = T.alloc_buffer((-1,), scope='shared')", 8, "negative or non-integer extent"),
        ("X = T.alloc_buffer((10**30,), scope='shared')", 8, "no operator"),
        (f"X = T.alloc_buffer(({10**30},), scope='shared')", 8, "more than 2^63 bytes"),
        ("X = T.alloc_buffer((4,), 'quux', scope='shared')", 8, "unknown element type"),
        ("X = T.alloc_buffer(scope='shared')", 8, "no shape"),
        ("X = T.alloc_buffer((4,), n, scope='shared')", 8, "expected a string"),
        ("p = T.Let(4)", 8, "T.Let needs"),
        ("T.evaluate(T.Let(n, where={}))", 8, "T.Let needs"),
        ("X = T.match_buffer()", 8, "needs 1 arguments"),
        ("As.vstore([0])", 8, "needs 2 arguments"),
        ("import os\nAs[0] = os.environ['x']", 9, "'os' is used but never defined"),
        ("x = T.env_thread()", 8, "needs"),
        ("As[0, 1] = Bs[0]", 8, "buffer As is accessed with 2 indices for 1 dimensions"),
        ("As[0] = Bs.vload([0, 1])", 8, "buffer Bs is accessed with 2 indices for 1 dimensions"),
        ("T.func_attr({'a': 0x1" + "0" * 9000 + "})", 8, "more than 1024 bits"),
        ("As[0](Bs[0])", 8, "cannot read the call"),
        ("As[T.Ramp(0, 1)] = Bs[0]", 8, "T.Ramp needs 3 arguments, found 2"),
        ("T.f(T.tvm_access_ptr(As.data))", 8, "needs 5 arguments, found 1"),
        ("As[0] = As[0][Bs[0]]", 8, "is indexed but is not a buffer"),
        (f"As[0x1{'0' * 400}] = 0", 8, "more than 1024 bits"),
        ("V = T.decl_buffer((4,), 'quux', data=As.data)", 8, "unknown element type"),
        (f"X = T.alloc_buffer(({'1, ' * 65}), scope='shared')", 8, "more than 64 dimensions"),
        ("T.launch_thread()", 8, "needs 2 arguments, found 0"),
        ("T.launch_thread(As, 4)", 8, "As"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(body: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_dump(launched(body + "\n"), file="k.tir")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"k.tir:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "empty"),
        (" \n\t\n", "empty"),
        ("x = 1\n", "no TVMScript kernel"),
        ("def f():\n    return T\n", "no TVMScript kernel"),
        ("import tilelang.language as T\n", "1: a TileLang program, and no dump"),
        ("x = 1\nfrom tilelang import jit\n", "2: a TileLang program, and no dump"),
        ("kernel void main()", "not TVMScript"),
        ("x = '\0'", "null bytes"),
        ("  x = 1\n y = 2\n", "indentation"),
    ],
)
def test_a_text_without_a_kernel_says_so(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_dump(source)


# The Stream-K tile ----------------------------------------------------------------------------

PARTIAL_TILE = """\
# from tvm.script import tirx as T

@T.prim_func(private=True)
def partial_tile(A: T.handle("float16", "global"), B: T.handle("float16", "global"), \
C: T.handle("float32", "global"), red: T.handle("float32", "global")):
    red_buf = T.decl_buffer((65536,), data=red)
    C_1 = T.decl_buffer((65536,), data=C)
    rk = T.launch_thread("blockIdx.x", 4)
    A_shared = T.alloc_buffer((4096,), "float16", scope="shared.dyn")
    B_shared = T.alloc_buffer((4096,), "float16", scope="shared.dyn")
    red_buf0 = T.alloc_buffer((4096,), scope="shared.dyn")
    C_shared = T.alloc_buffer((4096,), scope="shared.dyn")
    C_local = T.alloc_buffer((32,), scope="local")
    tx = T.launch_thread("threadIdx.x", 128)
    for ko in range(8):
        for i in T.unroll(4):
            T.ptx_cp_async(T.tvm_access_ptr(T.type_annotation("float16"), A_shared.data, \
i * 1024 + tx * 8, 8, 2), T.tvm_access_ptr(T.type_annotation("float16"), A, ko * 4096, 8, 1), 16)
        for i in T.unroll(4):
            B_shared[i * 1024 + tx * 8:i * 1024 + tx * 8 + 8] = T.Broadcast(T.float16(0.0), 8)
        for ki in range(32):
            C_local[ki] = C_local[ki] + T.Cast("float32", A_shared[tx * 32 + ki] * B_shared[ki])
    for n in range(5):
        if n == 0:
            red_buf0[tx] = C_local[0]
        if n > 0:
            red_buf0[tx] = red_buf0[tx] + red_buf0[tx + 128]
        if n == 4:
            red_buf[rk] = red_buf0[tx]
    if rk == 0:
        for i in range(32):
            C_shared[tx * 32 + i] = C_local[i]
    if tx < 32:
        C_1[tx] = C_shared[tx]
"""


def test_the_partial_tile_of_stream_k_under_outer() -> None:
    kernel = kernel_of(PARTIAL_TILE)
    entries = sequence_of(kernel, "shared.dyn", "outer")[0].entries
    # fmt: off
    assert [entry.scope_pair_offset for entry in entries] == [
        23,
        7, 1, -1, 1, -1, 1, -1, -7,
        7, 1, -1, 1, -1, 1, -1, -7,
        3, 1, -1, -3,
        1, -1,
        -23,
    ]
    # fmt: on
    touched = {
        position: [touch.buffer.name for touch in entry.touched]
        for position, entry in enumerate(entries)
        if entry.touched
    }
    assert touched == {
        8: ["A_shared", "B_shared", "A_shared", "B_shared"],
        16: ["red_buf0"] * 5,
        20: ["C_shared"],
        22: ["C_shared"],
    }
    names = [node_name(entries[position].stmt) for position in (0, 1, 2, 9, 10, 17, 18, 21)]
    assert names == [
        "AttrStmt",
        "For",
        "For",
        "For",
        "IfThenElse",
        "IfThenElse",
        "For",
        "IfThenElse",
    ]


def test_the_partial_tile_reuses_each_phase_for_the_next() -> None:
    plan = plan_kernel(kernel_of(PARTIAL_TILE), "shared.dyn", policy="outer")
    live = {buffer.name: (found.begin, found.end) for buffer, found in plan.live.items()}
    assert live == {
        "A_shared": (1, 9),
        "B_shared": (1, 9),
        "red_buf0": (9, 17),
        "C_shared": (17, 23),
    }
    assert plan.arena_bytes == plan.lower_bound_bytes == 16384
    assert plan.total_bytes == 8192 * 2 + 16384 * 2


@pytest.mark.parametrize(("name", "step"), [("batched_gemm.sm_80", 13), ("while_table.sm_80", 3)])
def test_a_dump_that_is_cut_off_is_refused_but_where_a_statement_ends(name: str, step: int) -> None:
    """Where the rest would have gone on behind a value that is one already, nobody can tell."""
    source = (DUMPS / f"{name}.tir").read_text()
    lines = split_lines(source)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    ends = {starts[(one.end_lineno or 1) - 1] + (one.end_col_offset or 0) for one in statements}
    values = (" = value_1[i]", "k_1[0] = k_1[0]", "] = X", "] = C")  # of parameters or elements
    for length in range(starts[7], len(source), step):
        text = source[:length].rstrip()
        if len(text) not in ends and not text.endswith(values):
            with pytest.raises(InputError):
                parse_dump(text)


@pytest.mark.parametrize(
    "rest",
    [
        *("T.ptx", "As", "As.data", "As[0]", "1", "...", "x: T.let[T.int32]"),
        *("x = T.int", "As[0] = T.Cast", "As[0] = Bs[0] + T.Ca", "As[0] = Bs", "As[0] = 1 + Bs"),
    ],
)
def test_the_rest_of_a_dump_that_is_cut_off(rest: str) -> None:
    with pytest.raises(InputError, match=r"^<dump>:8: .*; the dump is cut off$"):
        parse_dump(launched(rest))


@pytest.mark.parametrize("end", ["As[0] = Bs[0]", "'docstring'", "As[0] + Bs[0]", "pass"])
def test_the_last_line_need_not_end(end: str) -> None:
    assert parse_dump(launched(end)).kernels
