"""Which bytes a statement accesses (rule 1)."""

from __future__ import annotations

import pytest

from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import Call, Const, Load, Var
from smemreuse.ir.kernel import Bind, Buffer, Kernel, Store, walk_statements
from smemreuse.semantics.accesses import WHOLE, MemoryAccess, accesses_of
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.pointers import find_pointers
from smemreuse.semantics.rows import TABLE

HEADER = """
bx = T.launch_thread("blockIdx.x", 1)
As = T.alloc_buffer((32,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((32,), "int32", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 32)
"""


def kernel_of(body: str) -> Kernel:
    (kernel,) = parse_dump(HEADER + body).kernels
    return kernel


def accessed(body: str) -> list[tuple[str, str]]:
    """The buffer and kind of every access to shared memory, in order."""
    kernel = kernel_of(body)
    pointers = find_pointers(kernel.body)
    return [
        (access.buffer.name, access.access.value)
        for stmt in walk_statements(kernel.body)
        for access in accesses_of(stmt, pointers)
        if access.buffer.scope == "shared.dyn"
    ]


def test_contents_read_to_compute_an_address() -> None:
    bound = 'p: T.handle("int32", "shared.dyn") = T.address_of(As[Bs[0]])\n'
    assert accessed(bound) == [("Bs", "read")]
    used = bound + 'T.call_extern("int32", "f", p)\n'
    assert accessed(used) == [("Bs", "read"), ("As", "read-write")]


def test_an_offset_that_is_loaded() -> None:
    call = 'T.call_extern("int32", "f", T.handle_add_byte_offset(As.data, Bs[0]))\n'
    assert accessed(call) == [("Bs", "read"), ("As", "read-write")]
    copy = (
        'T.ptx_cp_async(T.tvm_access_ptr(T.type_annotation("int32"), As.data, Bs[tx], 4, 2), '
        'T.tvm_access_ptr(T.type_annotation("int32"), X, 0, 4, 1), 4)\n'
    )
    assert accessed('X = T.handle("int32", "global")\n' + copy) == [("Bs", "read"), ("As", "write")]


POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), {}, 0, 4, {})'


def of_as(body: str) -> MemoryAccess:
    """The only access to As."""
    kernel = kernel_of('X = T.handle("int32", "global")\n' + body)
    pointers = find_pointers(kernel.body)
    (found,) = (
        access
        for stmt in walk_statements(kernel.body)
        for access in accesses_of(stmt, pointers)
        if access.buffer.name == "As"
    )
    return found


def test_a_copy_to_a_typed_pointer_covers_its_elements() -> None:
    copy = of_as(f"T.ptx_cp_async({POINTER.format('As.data', 2)}, {POINTER.format('X', 1)}, 4)\n")
    assert (copy.footprint.size, copy.certain, copy.engine) == (16, True, Engine.CP_ASYNC)


@pytest.mark.parametrize(
    ("form", "certain"),
    [("{}, {}, 4, tx < 3", True), ('"int32", {}, {}, 16, tx < 3', False)],
)
def test_a_copy_under_a_predicate_fills_up_with_zeros(form: str, certain: bool) -> None:
    """The form that counts bytes is also that of compilers that then leave the bytes alone."""
    operands = form.format(POINTER.format("As.data", 2), POINTER.format("X", 1))
    copy = of_as(f"T.ptx_cp_async({operands})\n")
    assert (copy.footprint.size, copy.certain) == (16, certain)


def test_a_copy_to_a_plain_address_may_count_bytes_or_elements() -> None:
    copy = of_as(f"T.ptx_cp_async(T.address_of(As[0]), {POINTER.format('X', 1)}, 4)\n")
    assert (copy.footprint.size, copy.certain, copy.engine) == (16, False, Engine.CP_ASYNC)


@pytest.mark.parametrize("op", ["ptx_cp_async", "ptx_cp_async_bulk", "an_operation_of_tomorrow"])
def test_an_operation_in_an_unknown_form_is_in_flight_and_not_covered(op: str) -> None:
    copy = of_as(f"T.{op}(0, As.data, 2, 3, 4, 5, 6, 7, 8)\n")
    assert (copy.footprint, copy.certain, copy.access.value) == (WHOLE, False, "read-write")
    assert copy.engine is not Engine.THREAD
    assert f"`{op}`" in copy.uncovered


@pytest.mark.parametrize(
    ("matrices", "lanes"), [("4", 32), ("2", 16), ("1", 8), ("3", None), ("T.min(4, bx)", None)]
)
def test_eight_lanes_name_the_rows_of_a_matrix(matrices: str, lanes: int | None) -> None:
    pointer = POINTER.format("As.data", 2)
    stored = of_as(f"T.ptx_stmatrix(0, {matrices}, {pointer}, 1, 2, 3, 4)\n")
    assert (stored.certain, stored.lanes) == (lanes is not None, lanes or 32)


def test_an_address_computed_inside_an_access_pointer() -> None:
    inner = "T.address_of(As[Bs[0]])"
    call = f'T.call_extern("int32", "f", {POINTER.format(inner, 1)})\n'
    assert accessed(call) == [("Bs", "read"), ("As", "read")]


def test_an_index_kept_in_shared_memory_must_survive() -> None:
    """The read that only computes an address is one that the checker sees."""
    kernel = kernel_of(
        """
Bs[tx] = 1
As[tx] = 0
p: T.handle("int32", "shared.dyn") = T.address_of(As[Bs[0]])
T.call_extern("int32", "f", p)
"""
    )
    buffers = kernel.allocations("shared.dyn")
    verdict = check_plan(kernel, "shared.dyn", dict.fromkeys(buffers, 0), 128, {})
    assert verdict.verdict == "unsound"


@pytest.mark.parametrize(
    ("call", "engine"),
    [
        ('T.s_tir.cp_async_raw("int32", As.data, tx, X, tx, 4)', Engine.CP_ASYNC),
        ("T.ptx.cp.async_.cg(T.address_of(As[tx * 4]), X, 16)", Engine.UNKNOWN_ASYNC),
        ("T.cuda.wgmma.encode_matrix_descriptor(d, As.data, 1, 2, 3)", Engine.UNKNOWN_ASYNC),
        ('T.ptx.ldmatrix(r, As.data, "sync", "m8n8", "x1", "shared", "b16", "")', Engine.THREAD),
        ("T.ptx.ldmatrix(As.data, r, 0)", Engine.UNKNOWN_ASYNC),
        ('T.cuda.func_call("f", As.data, source_code="")', Engine.UNKNOWN_ASYNC),
        ('T.cuda.func_call("f", As.data, source_code="void f(int*) {}")', Engine.THREAD),
    ],
)
def test_an_instruction_of_apache_tvm_may_go_on_behind_its_call(call: str, engine: Engine) -> None:
    """Unless it is known to be over: nothing says how long the bytes are in use (rule 5)."""
    kernel = kernel_of(f"T.evaluate({call})\n")
    pointers = find_pointers(kernel.body)
    found = [
        access.engine
        for stmt in walk_statements(kernel.body)
        for access in accesses_of(stmt, pointers)
        if access.buffer.name == "As"
    ]
    assert found == [engine]


VALUE_OF_BS = 'T.reinterpret("int32", {})'


@pytest.mark.parametrize("value", ["Bs[tx]", "Bs[tx] + 1", "T.exp(Bs[tx])"])
@pytest.mark.parametrize(
    "used",
    [
        "L[0] = {}\n",
        'L[0] = T.Cast("int64", {})\n',
        "v: T.int32 = {}\nL[0] = v\n",
        "L[0] = X[{}]\n",
        "if {} > 3:\n    L[0] = 1\n",
        "L[0] = T.if_then_else({} > 3, 1, 2)\n",
    ],
)
def test_a_value_read_as_another_type_is_read(value: str, used: str) -> None:
    """As a top-k in one warp does it: packed keys, and their floats as bits."""
    declared = 'L = T.alloc_buffer((1,), "int64", scope="local")\n'
    declared += 'X = T.decl_buffer((32,), "int64")\n'
    assert accessed(declared + used.format(VALUE_OF_BS.format(value))) == [("Bs", "read")]


LOCAL = Buffer("L", "int64", (Const(1),), "local")


@pytest.mark.parametrize("operands", range(1, 5))
def test_what_is_read_in_an_operand_is_read_whatever_the_operation(operands: int) -> None:
    """An operation may do more with it; that it does less is what nobody notices."""
    kernel = kernel_of("As[tx] = 1\n")
    (shared, _) = kernel.allocations("shared.dyn")
    read = Call("add", (Load(shared, (Const(0),)), Const(1)))
    for name in TABLE:
        inner = Call("cast", (Const("int64"), Call(name, (read,) * operands)))
        for stmt in (Store(LOCAL, (Const(0),), inner), Bind(Var("v"), inner)):
            found = accesses_of(stmt, find_pointers(kernel.body))
            assert any(one.buffer is shared for one in found), name
