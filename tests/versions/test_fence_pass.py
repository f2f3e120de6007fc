"""Where TileLang's `InjectFenceProxy` puts fences, re-enacted on small kernels.

That it does so in whole kernels too is in tests/compilers/tilelang.
"""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import walk_statements
from smemreuse.versions import VERSIONS, version_of

HEADER = """
X = T.handle("int32", "global")
D = T.decl_buffer((64,), "int32", data=X)
A = T.alloc_buffer((64,), "int32", scope="shared.dyn")
m = T.alloc_buffer((4,), "uint64", scope="shared.barrier")
l = T.alloc_buffer((4,), "int32", scope="local")
tx = T.launch_thread("threadIdx.x", 64)
"""

_POINTER = 'T.tvm_access_ptr(T.type_annotation("int32"), A.data, 0, 64, {})'
LOAD = f"T.tma_load(X, m[0], {_POINTER.format(2)}, 0)"
WRITE = "A[tx] = 1"
READ = "D[tx] = A[tx]"


def fenced(*lines: str) -> list[int]:
    """The lines, counted from 0, before which a fence comes."""
    (kernel,) = parse_dump(HEADER + "\n".join(lines)).kernels
    found = version_of(kernel).fence_pass.fences_to_come(kernel.body)
    first = HEADER.count("\n") + 1
    return sorted((one.line or 0) - first for one in walk_statements(kernel.body) if one in found)


def generic(argument: str) -> str:
    return f'T.call_extern("handle", "f", {argument})'


@pytest.mark.parametrize(
    "before",
    [
        WRITE,
        "m[0] = T.uint64(0)",  # of the same rank
        generic(_POINTER.format(2)),
        generic(_POINTER.format(3)),
        generic("T.address_of(A[0])"),
        generic(f"T.handle_add_byte_offset({_POINTER.format(2)}, 4)"),
        f"T.ptx_cp_async({_POINTER.format(2)}, X, 4)",
    ],
)
def test_a_generic_write_is_fenced(before: str) -> None:
    assert fenced(before, LOAD) == [1]


@pytest.mark.parametrize(
    "before",
    [
        READ,
        "l[0] = 1",
        generic(_POINTER.format(1)),
        generic("A[0]"),
        generic("A.data"),
        f"D[tx] = {generic(_POINTER.format(3))}",
        f"T.ptx_ldmatrix(T.bool(False), 4, {_POINTER.format(1)}, l.data)",
        "T.ptx_arrive_barrier(m[0])",
        'T.tvm_storage_sync("shared")',
        LOAD,
    ],
)
def test_reads_and_all_else_are_not(before: str) -> None:
    assert fenced(before, LOAD) == []


def test_a_fence_serves_until_the_next_write() -> None:
    assert fenced(WRITE, LOAD, LOAD, READ, LOAD, WRITE, LOAD) == [1, 6]
    assert fenced(WRITE, "T.fence_proxy_async()", LOAD) == []


def test_what_is_no_known_operation_gets_none() -> None:
    store = f"T.tma_store_cluster({_POINTER.format(2)}, {_POINTER.format(1)}, 1, 256, m[0])"
    assert fenced(WRITE, store) == []
    assert fenced(store, LOAD) == [1]


@pytest.mark.parametrize(
    ("operation", "since"),
    [
        ("tma_load", 9),
        ("tma_load_multicast", 10),
        ("tma_load_gather4", 14),
        ("ptx_wgmma_sp_ss", 15),
        ("ptx_tcgen05_mma_blockscaled_ss", 15),
    ],
)
def test_what_each_version_fences(operation: str, since: int) -> None:
    for number in range(9, 16):
        fenced = VERSIONS[f"tilelang-0.1.{number}"].fence_pass.fenced
        assert (operation in fenced) is (number >= since), number


def test_it_is_put_inside_a_branch_and_stays_due_behind_it() -> None:
    assert fenced(WRITE, "if tx == 0:", f"    {LOAD}", "if tx == 1:", f"    {LOAD}") == [2, 4]


def test_a_fence_moves_before_a_branch_whose_arms_are_both_asynchronous() -> None:
    arms = ("if tx < 32:", f"    {LOAD}", "else:", f"    {LOAD}")
    assert fenced(WRITE, *arms) == [1]
    assert fenced(WRITE, *arms[:3], f"    {WRITE}", f"    {LOAD}") == [2, 5]


def test_what_one_arm_writes_is_not_fenced_in_the_other() -> None:
    assert fenced("if tx < 32:", f"    {WRITE}", "else:", f"    {LOAD}") == []


@pytest.mark.parametrize("header", ["for k in range(4):", "while D[0] > 0:"])
def test_loops_go_round(header: str) -> None:
    assert fenced(header, f"    {LOAD}", f"    {WRITE}") == [1]
    assert fenced(header, f"    {LOAD}", f"    {READ}") == []
    assert fenced(WRITE, header, f"    {LOAD}") == [1]  # once, before it
    assert fenced(WRITE, header, f"    {WRITE}", f"    {LOAD}") == [3]


def test_a_loop_that_may_not_run_leaves_a_fence_due() -> None:
    loop = (f"    {WRITE}", f"    {LOAD}", LOAD)
    assert fenced(WRITE, "for k in range(4):", *loop) == [3]
    assert fenced(WRITE, "for k in range(D[0]):", *loop) == [3, 4]
