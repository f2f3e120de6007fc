"""Every construct that TVM's printer wrote from 2022 to 2025, read into the access tree."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.errors import InputError, PlanError
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import (
    Allocate,
    Assert,
    Attr,
    Bind,
    Declare,
    Evaluate,
    If,
    walk_statements,
)
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.semantics.accesses import MemoryAccess, accesses_of
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.pointers import find_pointers
from smemreuse.versions import LEGACY, TILELANG
from tests.compilers.text.test_round_trip import outer
from tests.compilers.text.texts import LAUNCH, kernel_of, leaves

HEADER = """\
# from tvm.script import tir as T

@T.prim_func
def main(A: T.handle("float16", "global"), G: T.Buffer((4096,), "float16"), n: T.int32):
"""
BUFFERS = """\
As = T.allocate([64], "float16", "shared.dyn")
As_1 = T.decl_buffer((64,), "float16", data=As, scope="shared.dyn")
Bs = T.allocate([64], "float16", "shared.dyn")
Bs_1 = T.Buffer((64,), "float16", data=Bs, scope="shared.dyn")
Al = T.allocate([8], "float16", "local")
"""


def dump(body: str) -> str:
    return HEADER + indent(dedent(body), "    ")


def launched(body: str) -> str:
    """The first line of `body` is the eleventh of the dump."""
    return dump(LAUNCH + BUFFERS + dedent(body))


def accesses(source: str) -> list[MemoryAccess]:
    kernel = kernel_of(source)
    pointers = find_pointers(kernel.body)
    found = [
        access for stmt in walk_statements(kernel.body) for access in accesses_of(stmt, pointers)
    ]
    return [access for access in found if access.buffer.scope == "shared.dyn"]


def calls(source: str) -> list[str]:
    stmts = walk_statements(kernel_of(source).body)
    return [format_expr(stmt.value) for stmt in stmts if isinstance(stmt, Evaluate)]


# Allocations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "dtype", "size", "scope"),
    [
        ('[64], "float16", "shared.dyn"', "float16", 128, "shared.dyn"),
        ('[64], "float16", scope="shared"', "float16", 128, "shared"),
        ('[64], dtype="int8", scope="shared"', "int8", 64, "shared"),
        ('extents=[64], dtype="int8", scope="shared"', "int8", 64, "shared"),
        ('[8, 8], "float16x2", "shared"', "float16x2", 256, "shared"),
        ('[T.int64(64)], "float16", "shared"', "float16", 128, "shared"),
        ('[64], "float16", "shared", T.bool(True)', "float16", 128, "shared"),
        ('[64], "float16", "shared", n > 4', "float16", 128, "shared"),
        ('[64], "float16", "shared", condition=n > 4', "float16", 128, "shared"),
        ('[64], "float16", "shared", annotations={"a": 1}', "float16", 128, "shared"),
        ('[64], "float16"', "float16", 128, "global"),
    ],
)
@pytest.mark.parametrize("form", ["X = T.allocate({})\n", "with T.allocate({}) as X:\n    pass\n"])
def test_an_allocation(form: str, call: str, dtype: str, size: int, scope: str) -> None:
    kernel = kernel_of(dump(LAUNCH + form.format(call)))
    (buffer,) = kernel.allocations()
    assert (buffer.name, buffer.dtype, buffer.size, buffer.scope) == ("X", dtype, size, scope)
    assert buffer.line == 6
    assert kernel.version == LEGACY


@pytest.mark.parametrize(
    "body",
    [
        "As_1[0] = Bs_1[0]",
        "As[0] = Bs[0]",  # a handle is indexed like a buffer in the dialect of 2022
        'V = T.buffer_decl([64], dtype="float16", data=As, scope="shared.dyn")\nV[0] = Bs_1[0]',
        'with T.decl_buffer((64,), "float16", data=As, scope="shared.dyn") as V:\n'
        "    V[0] = Bs_1[0]",
        'with T.Buffer((64,), "float16", data=As, scope="shared.dyn") as V:\n    V[0] = Bs_1[0]',
        'V = As_1.view((32, 2), "float16")\nV[0, 1] = Bs_1[0]',
        'V = As_1.view("int16")\nV[0] = Bs_1[0]',
        'V = As_1.view("int32")\nV[31] = Bs_1[0]',
        'V = As_1.view("int8", shape=(128,))\nV[0] = Bs_1[0]',
        "with T.LetStmt(As) as p:\n"
        '    V = T.decl_buffer((64,), "float16", data=p)\n    V[0] = Bs_1[0]',
        'T.store(As, 0, T.load("float16", Bs, 0), T.bool(True))',
        'T.store(As, T.ramp(0, 1, 4), T.load("float16x4", Bs, T.ramp(0, 1, 4)))',
        'As_1[0] = T.cast(Bs_1[0], "float16")',
        'As_1[0] = T.Cast("float16", Bs_1[0])',
        "As_1[0:4] = T.broadcast(Bs_1[0], 4)",
        "As_1[T.ramp(0, 1, 4)] = T.Broadcast(Bs_1[0], 4)",
        'As_1[0] = T.if_then_else(n < 4, Bs_1[0], T.float16(0), dtype="float16")',
        "x = T.var('float16')\nwith T.let(x, Bs_1[0]):\n    As_1[0] = T.float16(0)",
        "with T.block('root'):\n    T.reads(Bs_1[0])\n    T.writes()\n    T.block_attr({'a': 1})\n"
        "    As_1[0] = Bs_1[0]",
    ],
)
def test_an_access_through_whatever_name_touches_the_allocation(body: str) -> None:
    """In one leaf, or, where a name is bound, in the launch's touches and a leaf."""
    touched = plan_kernel(kernel_of(launched(body + "\n")), "shared.dyn", policy="inner").live
    assert {buffer.name for buffer in touched} == {"As", "Bs"}


def test_a_declaration_for_a_block_may_allocate() -> None:
    body = 'with T.decl_buffer((8,), "float16", scope="shared.dyn") as X:\n    X[0] = As_1[0]\n'
    assert leaves(launched(body)) == ["As:read X:write"]


def test_constants_are_not_read() -> None:
    body = 'X = T.allocate_const([1, None, y], "int32", [3])\nAs_1[X[0]] = T.float16(0)\n'
    (constant,) = (b for b in kernel_of(launched(body)).allocations() if b.name == "X")
    assert (constant.dtype, constant.size, constant.scope) == ("int32", 12, "global")
    assert leaves(launched(body)) == ["As:write"]


def test_levels_are_the_scopes_open_at_the_allocation() -> None:
    source = dump("""\
        bx = T.launch_thread("blockIdx.x", 4)
        X = T.allocate([64], "float16", "shared.dyn")
        for i in range(4):
            T.attr(0, "pragma", 1)
            Y = T.allocate([64], "float16", "shared.dyn")
            if n < 4:
                with T.allocate([64], "float16", "shared.dyn") as Z:
                    X[0] = Y[0] + Z[0]
    """)
    levels = sequence_of(kernel_of(source), "shared.dyn", "outer")[0].alloc_level
    assert {buffer.name: level for buffer, level in levels.items()} == {"X": 1, "Y": 2, "Z": 3}


def test_sibling_blocks_may_use_a_name_again() -> None:
    block = 'for i in range(4):\n    X = T.allocate([{}], "int8", "shared.dyn")\n    X[i] = n\n'
    source = dump(LAUNCH + block.format(8) + block.format(16))
    assert leaves(source) == ["X:write", "X#1:write"]


# Handles declared before their allocation -----------------------------------------------------

VIEWED_FIRST = """\
X = T.handle("int8", "shared.dyn")
X_1 = T.decl_buffer((64,), "int8", data=X, scope="shared.dyn")
bx = T.launch_thread("blockIdx.x", 4)
{}
    X_1[bx] = T.int8(0)
"""


@pytest.mark.parametrize(
    "allocation",
    [
        'if bx < 2:\n    X = T.allocate([64], "int8", "shared.dyn")',
        'with T.allocate([64], "int8", "shared.dyn") as X:',
        'with T.attr(0, "a", 1), T.allocate([64], "int8", "shared.dyn") as X:',
    ],
)
@pytest.mark.parametrize("form", [dump, str])
def test_a_view_made_before_the_allocation_is_one_of_it(form: type[str], allocation: str) -> None:
    source = form(VIEWED_FIRST.format(allocation))
    kernel = kernel_of(source)
    (buffer,) = kernel.allocations("shared.dyn")
    (view,) = (s.buffer for s in walk_statements(kernel.body) if isinstance(s, Declare))
    assert view.storage is buffer
    assert view.data is buffer
    assert leaves(source) == ["X:write"]
    assert not any(isinstance(stmt, Bind) for stmt in walk_statements(kernel.body))


@pytest.mark.parametrize("declaration", ["T.handle", "T.buffer_var"])
def test_other_ways_to_declare_a_handle(declaration: str) -> None:
    text = VIEWED_FIRST.replace("T.handle", declaration)
    assert leaves(text.format('with T.allocate([64], "int8", "shared.dyn") as X:')) == ["X:write"]
    text = text.replace("X = T.", "X: T.", 1)
    assert leaves(text.format('with T.allocate([64], "int8", "shared.dyn") as X:')) == ["X:write"]


def test_a_fragment_that_lost_the_declaration() -> None:
    text = "".join(VIEWED_FIRST.splitlines(keepends=True)[1:])
    assert leaves(text.format('with T.allocate([64], "int8", "shared.dyn") as X:')) == ["X:write"]


def test_a_handle_whose_size_is_known_only_at_the_allocation() -> None:
    source = dump("""\
        X = T.handle("float16", "shared.dyn")
        X_1 = T.decl_buffer((64,), "float16", data=X, scope="shared.dyn")
        bx = T.launch_thread("blockIdx.x", 4)
        m: T.int32 = n * 2
        X = T.allocate([m], "float16", "shared.dyn")
        X_1[0] = T.float16(0)
    """)
    (buffer,) = kernel_of(source).allocations("shared.dyn")
    assert buffer.size is None
    assert leaves(source) == ["X:write"]


def test_a_handle_without_an_allocation_stays_a_variable() -> None:
    body = 'G = T.handle("float16", "global")\nG_1 = T.decl_buffer((8,), "float16", data=G)\n'
    assert leaves(launched(body + "As_1[0] = G_1[0]\n")) == ["As:write"]


def test_two_handles_of_one_name_in_two_blocks() -> None:
    block = """\
        for i in range(4):
            X = T.handle("int8", "shared.dyn")
            X_1 = T.decl_buffer((8,), "int8", data=X, scope="shared.dyn")
            X = T.allocate([8], "int8", "shared.dyn")
            X_1[i] = T.int8(0)
    """
    assert leaves(dump(LAUNCH + dedent(block) * 2)) == ["X:write", "X#1:write"]


# Thread axes, attributes and blocks -----------------------------------------------------------


def test_an_axis_launched_twice_with_another_variable() -> None:
    source = launched("""\
        v = T.launch_thread("threadIdx.x", 32)
        thread_bindings = T.launch_thread("threadIdx.x", 32)
        As_1[v] = Bs_1[thread_bindings]
    """)
    (access, _) = accesses(source)
    assert access.footprint.start is not None
    assert leaves(source) == ["Bs:read As:write"]


@pytest.mark.parametrize(
    "attr",
    [
        'T.attr(As, "volatile_scope", 1)',
        'T.attr(0, "pragma_import_c", metadata["tir.StringImm"][0])',
        'T.attr(T.comm_reducer(lambda x, y: x + y, [T.float16(0)]), "reduce_scope", '
        'T.reinterpret("handle", T.uint64(0)))',
        'T.attr(T.iter_var(n, None, "DataPar", ""), "pragma_unroll", 1)',
    ],
)
def test_attributes_enclose_and_touch_nothing(attr: str) -> None:
    assert leaves(launched(attr + "\nAs_1[0] = Bs_1[0]\n")) == ["Bs:read As:write"]


def test_the_axes_and_the_predicate_of_a_block() -> None:
    source = launched("""\
        for i, j in T.grid(4, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                vk = T.axis.spatial(64, vi * 8 + vj)
                T.where(vk < 60)
                As_1[vk] = Bs_1[vk]
    """)
    assert leaves(source) == ["Bs:read As:write"]
    conditions = [s.condition for s in walk_statements(kernel_of(source).body) if type(s) is If]
    assert [format_expr(condition) for condition in conditions] == ["vk < 60"]


@pytest.mark.parametrize(
    "form", ['with T.Assert(n < 4, "no"):\n    {}', 'T.Assert(n < 4, "no")\n{}']
)
def test_an_assertion_encloses_its_body(form: str) -> None:
    kernel = kernel_of(launched(form.format("As_1[0] = Bs_1[0]\n")))
    (found,) = (s for s in walk_statements(kernel.body) if isinstance(s, Assert))
    assert len(found.body) == 1


def test_the_many_assertions_of_a_host_function_do_not_nest() -> None:
    host = HEADER.replace("main", "host") + '    assert n < 4, "no"\n' * 500
    assert [kernel.name for kernel in parse_dump(host + "\n" + launched("")).kernels] == ["main"]


def test_the_parameters_of_2022() -> None:
    source = launched("As_1[0] = P[0] + Q[0, 0] + R[0, 0]\n").replace(
        "n: T.int32",
        'n: T.int32, P: T.Buffer[(8,), "float16"], Q: T.Buffer[(8, 8), "float16"], '
        "R: T.Buffer[(8, 8)]",
    )
    assert leaves(source) == ["As:write"]
    assert leaves(launched("T.preflattened_buffer(G, [64, 64], data=G.data)\n")) == []


@pytest.mark.parametrize(
    "text", ["T.attr(0, 'a', 1)", "T.evaluate(0)", "As = T.alloc_buffer((4,))"]
)
def test_the_import_alone_says_that_a_dump_is_legacy(text: str) -> None:
    assert kernel_of(dump(LAUNCH + text)).version == LEGACY
    assert kernel_of(dump(LAUNCH + text).replace("tir as", "tirx as")).version == TILELANG
    assert kernel_of(LAUNCH + BUFFERS + text).version == LEGACY


# Intrinsics -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "start", "size"),
    [
        ('T.ptx_cp_async("float16", As, n * 8, A, 0, 16)', "n * 8 * 2", 16),
        ('T.ptx_cp_async(As, n * 8, A, 0, 16, dtype="float16")', "n * 8 * 2", 16),
        ('T.ptx_cp_async("float16", As.data, 8, A, 0, 4)', "8 * 2", 4),
        ('T.ptx_cp_async("float16", T.address_of(As_1[n]), 8, A, 0, 4)', "(n + 8) * 2", 4),
        ('T.ptx_cp_async("int8", As, 8, A, 0, 4)', "8 * 2", 4),  # offsets are of the pointer's type
    ],
)
def test_cp_async_is_an_asynchronous_write(call: str, start: str, size: int) -> None:
    source = launched(call + "\n")
    (access,) = accesses(source)
    assert (access.buffer.name, access.access.value) == ("As", "write")
    assert (access.engine, access.certain) == (Engine.CP_ASYNC, True)
    assert access.footprint.start is not None
    assert format_expr(access.footprint.start) == start
    assert access.footprint.size == size
    assert leaves(source) == ["As:write"]


def test_a_predicated_cp_async_may_not_happen() -> None:
    (access,) = accesses(launched('T.ptx_cp_async("float16", As, 0, A, 0, 16, n < 4)\n'))
    assert (access.engine, access.certain) == (Engine.CP_ASYNC, False)


@pytest.mark.parametrize("size", ["n", "3"])
def test_a_cp_async_of_unknown_size_may_be_anywhere(size: str) -> None:
    (access,) = accesses(launched(f'T.ptx_cp_async("float16", As, 0, A, 0, {size})\n'))
    assert (access.engine, access.certain, access.footprint.start) == (Engine.CP_ASYNC, False, None)


@pytest.mark.parametrize(
    ("place", "start"),
    [
        ("As, n", "n * 2"),
        ("T.address_of(As_1[n]), 8", "(n + 8) * 2"),
        ("T.address_of(As_1[0]), n", "n * 2"),
        ("T.address_of(As_1[n:n + 8]), 0", "n * 2"),
        ('T.tvm_access_ptr(T.type_annotation("float16"), As, n, 512, 1), 8', "(n + 8) * 2"),
        (
            'T.tvm_access_ptr(T.type_annotation(dtype="float16"), As, n, 1, 1, dtype="handle"), 8',
            "(n + 8) * 2",
        ),
    ],
)
def test_ldmatrix_is_a_read_of_sixteen_bytes(place: str, start: str) -> None:
    call = f'T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", Al, 0, {place})'
    (access,) = accesses(launched(call + "\n"))
    assert (access.buffer.name, access.access.value) == ("As", "read")
    assert access.footprint.start is not None
    assert (format_expr(access.footprint.start), access.footprint.size) == (start, 16)
    assert leaves(launched(call + "\n")) == ["As:read"]


def test_what_an_address_is_computed_from_is_read() -> None:
    call = 'T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", Al, 0, T.address_of(As_1[Bs_1[0]]),'
    assert {access.buffer.name for access in accesses(launched(call + " 0)\n"))} == {"As", "Bs"}


@pytest.mark.parametrize(
    ("call", "touched"),
    [
        (
            'T.ptx_mma("float16", "m16n8k16", "row", "col", "fp16", "fp16", "fp16", As, 0, Bs, 0, '
            "Al, 0, T.bool(False))",
            "As:read Bs:read",
        ),
        ('T.call_extern("handle", "f", T.address_of(As_1[0]), 8)', "As:read-write"),
        ('T.call_extern("f", T.address_of(As_1[0]), dtype="handle")', "As:read-write"),
        ('T.evaluate(T.call_extern("f", As_1.data, dtype="int32"))', "As:read-write"),
        (
            "T.tvm_thread_allreduce(T.uint32(1), Bs_1[0], T.bool(True), As_1[0], bx)",
            "Bs:read As:write",
        ),
        ("T.tvm_thread_allreduce(n, Bs_1[0], T.bool(True), As_1[0], bx)", "Bs:read As:read"),
        ('T.load("int8", As, 0)', "As:read"),
        ("T.store(As, 0)", "As:write"),
        ('T.ptx_cp_async_bulk("float16", As, 0, A, 0, 16, 0)', "As:write"),
        ('T.ptx_cp_async("float16", As, 0)', "As:read-write"),
    ],
)
def test_other_operations_access_what_their_rows_say(call: str, touched: str) -> None:
    assert leaves(launched(call + "\n")) == [touched]


def test_a_type_given_last_says_whether_a_call_gives_an_address() -> None:
    body = 'p = T.call_extern("f", As_1.data, dtype="{}")\nT.g(p)\n'
    assert leaves(launched(body.format("handle"))) == ["As:read-write"]
    assert leaves(launched(body.format("int32"))) == []


# Asynchronous copies --------------------------------------------------------------------------


def test_a_commit_comes_behind_its_scope_and_a_wait_before() -> None:
    source = launched("""\
        with T.attr(0, "async_commit_queue_scope", 0):
            T.evaluate(1)
        T.attr(0, "async_wait_queue_scope", 0)
        T.attr(0, "async_wait_inflight_count", 2)
        T.evaluate(3)
    """)
    assert calls(source) == ["1", "ptx_commit_group()", "ptx_wait_group(2)", "3"]
    assert sum(isinstance(s, Attr) for s in walk_statements(kernel_of(source).body)) == 4


@pytest.mark.parametrize(
    ("value", "lanes", "engine", "certain"),
    [
        ("G[0:8]", 8, Engine.CP_ASYNC, True),
        ("G[n * 2:n * 2 + 2]", 2, Engine.CP_ASYNC, True),
        ("T.if_then_else(n < 4, G[0:8], T.Broadcast(T.float16(0), 8))", 8, Engine.CP_ASYNC, True),
        ("T.if_then_else(n < 4, G[0:8], T.Broadcast(T.float16(1), 8))", 8, Engine.CP_ASYNC, False),
        ("G[0]", 1, Engine.THREAD, True),  # two bytes are too few for cp.async
        ("T.Broadcast(T.float16(0), 8)", 8, Engine.THREAD, True),
        ("Bs_1[0:8]", 8, Engine.THREAD, True),
    ],
)
def test_a_copy_in_an_async_scope(value: str, lanes: int, engine: Engine, certain: bool) -> None:
    index = f"0:{lanes}" if lanes > 1 else "0"
    source = launched(f"""\
        with T.attr(0, "async_scope", 1):
            for i in range(4):
                if n < 4:
                    As_1[{index}] = {value}
    """)
    access = accesses(source)[-1]
    assert (access.buffer.name, access.access.value) == ("As", "write")
    assert (access.engine, access.certain) == (engine, certain)


PIPELINED = """\
for k in range(8):
    with T.attr(0, "async_commit_queue_scope", 0):
        T.attr(0, "async_scope", 1)
        As_1[tx * 8:tx * 8 + 8] = G[k * 64 + tx * 8:k * 64 + tx * 8 + 8]
    with T.attr(0, "async_wait_queue_scope", 0):
        T.attr(0, "async_wait_inflight_count", {})
        Al[0] = As_1[tx]
for k in range(8):
    Bs_1[tx] = Al[0]
    Al[1] = Bs_1[tx]
"""


@pytest.mark.parametrize(("left", "arena"), [(0, 128), (1, 256)])
def test_only_a_copy_that_is_waited_for_gives_its_bytes_back(left: int, arena: int) -> None:
    body = 'tx = T.launch_thread("threadIdx.x", 8)\n' + PIPELINED.format(left)
    assert plan_kernel(kernel_of(launched(body)), "shared.dyn").arena_bytes == arena


def test_a_pipeline_of_tilelang_in_2025() -> None:
    """Views of symbolic extents, `create_barriers`, and waits on barriers that have no buffer:
    what is loaded with TMA is in flight to the end."""
    source = dump("""\
        bx = T.launch_thread("blockIdx.x", 4)
        As = T.allocate([64], "float16", "shared.dyn")
        Bs = T.allocate([64], "float16", "shared.dyn")
        Al = T.allocate([8], "float16", "local")
        tx = T.launch_thread("threadIdx.x", 32)
        T.create_barriers(2)
        if T.tl_shuffle_elect(0):
            T.ptx_init_barrier_thread_count(T.get_mbarrier(0), 1)
            T.ptx_arrive_barrier_expect_tx(T.get_mbarrier(0), 128)
            T.tma_load(A, T.get_mbarrier(0), \
T.tvm_access_ptr(T.type_annotation("float16"), As, 0, 64, 2), 0)
        T.mbarrier_wait_parity(T.get_mbarrier(0), 0)
        with T.attr(0, "tl.pipeline_mvb_num_stages", 3):
            for i in T.unroll(1):
                V = T.Buffer((i + tx * 2 + 1,), "float16", data=As, scope="shared.dyn")
                T.ptx_ldmatrix(T.bool(False), 4, T.address_of(V[tx * 2]), T.address_of(Al[0]))
        Bs[tx * 2] = Al[0]
        Al[1] = Bs[tx * 2]
    """)
    loaded, _, written, _ = accesses(source)
    assert (loaded.engine, loaded.barrier, loaded.footprint.size) == (Engine.TMA_LOAD, None, 128)
    assert written.buffer.name == "Bs"
    kernel = kernel_of(source)
    plan = plan_kernel(kernel, "shared.dyn", policy="inner")
    assert (plan.arena_bytes, judge(kernel, plan).verdict) == (128, "unproved")


# What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('T.realize(As_1[0:8], "shared")', "T.realize is of a schedule not lowered yet"),
        ('with T.realize(As_1[0:8], "shared"):\n    pass', "T.realize is of a schedule"),
        ("X = T.allocate()", "no shape"),
        ('X = T.allocate([-1], "int8", "shared")', "negative or non-integer extent"),
        ('X = T.allocate([4], "quux", "shared")', "unknown element type"),
        ('X = T.allocate([4], n, "shared")', "expected a string"),
        ('X = T.allocate([m], "int8", "shared")', "'m' is used but never defined"),
        ('with T.allocate([4], "int8", "shared"):\n    pass', "gives no name"),
        ('with T.allocate([4], "int8", "shared") as (X, Y):\n    pass', "gives no name"),
        ("with T.LetStmt(4):\n    pass", "needs a variable and a value"),
        ("with T.LetStmt() as x:\n    pass", "needs a variable and a value"),
        ("with T.LetStmt(4, var=As) as x:\n    pass", "`As` is no variable"),
        ("vi, vj = T.axis.remap('SS', [n])", "2 names for 1 values"),
        ("vi = T.axis.spatial(4)", "needs 2 arguments"),
        ("T.attr(0, metadata['tir.StringImm'][1].value, 1)", "expected a string"),
        ("T.allocate([4], 'int8', 'shared')", "gives no name"),
        ("T.where()", "needs 1 arguments"),
        ("with T.Assert():\n    pass", "needs 1 arguments"),
        ('V = As_1.view("quux")', "unknown element type"),
        ('T.ptx_cp_async("quux", A, 0, A, 0, 16)', "unknown element type"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(body: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_dump(launched(body + "\n"), file="k.tir")
    assert message in str(caught.value)
    assert str(caught.value).startswith("k.tir:11: ")


def test_a_handle_that_is_allocated_twice_is_refused() -> None:
    body = 'X = T.handle("int8", "shared.dyn")\n'
    body += 'if n < 4:\n    X = T.allocate([4], "int8", "shared.dyn")\n' * 2
    with pytest.raises(InputError, match=":15: the handle X is allocated twice, in lines 13"):
        parse_dump(launched(body))


def test_apply_refuses_and_names_the_line() -> None:
    with pytest.raises(PlanError, match="line 6: As is allocated as in TVM before 2026"):
        merge_text(parse_dump(launched("As_1[0] = Bs_1[0]\n")), outer)


def test_apply_leaves_a_legacy_dump_alone_where_nothing_is_to_be_merged() -> None:
    source = dump(LAUNCH + 'As = T.allocate([4], "int8", "shared")\nAs[0] = n\n')
    assert merge_text(parse_dump(source), outer).source == source


def test_every_allocation_is_in_the_tree_once() -> None:
    kernel = kernel_of(launched("As_1[0] = Bs_1[0]\n"))
    made = [s.buffer.name for s in walk_statements(kernel.body) if isinstance(s, Allocate)]
    assert made == ["As", "Bs", "Al"]


def test_a_variable_that_is_bound_twice_is_refused() -> None:
    body = "x = T.var('int32')\nwith T.let(x, 1):\n    with T.let(x, {}):\n        pass\n"
    parse_dump(launched(body.format(1)), file="k.tir")
    with pytest.raises(InputError, match=r"k\.tir:13: x is bound twice, to other values"):
        parse_dump(launched(body.format(2)), file="k.tir")
