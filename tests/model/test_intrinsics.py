"""Which bytes a statement accesses (rule 1)."""

from __future__ import annotations

from smemreuse.checker import check_plan
from smemreuse.frontend.text import parse_dump
from smemreuse.model.intrinsics import accesses_of
from smemreuse.model.kernel import Kernel, walk_statements
from smemreuse.model.pointers import find_pointers

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
