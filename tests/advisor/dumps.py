"""Small kernels written as fragments of a dump."""

from __future__ import annotations

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel

HEADER = """
T.func_attr({{"target": T.target({{"arch": "sm_90a", "kind": "cuda"}})}})
n = T.int32()
A_1 = T.handle("float32", "global")
A = T.decl_buffer((1048576,), "float32", data=A_1)
O_1 = T.handle("float32", "global")
O = T.decl_buffer((1048576,), "float32", data=O_1)
bx = T.launch_thread("blockIdx.x", {grid})
As = T.alloc_buffer((4096,), "float32", scope="shared.dyn")
R = T.alloc_buffer((8,), "float32", scope="local")
tx = T.launch_thread("threadIdx.x", {threads})
"""


def kernel_of(body: str, grid: str = "8", threads: int = 128) -> Kernel:
    """A kernel of `threads` threads a block over A and O, with 16 KB of shared As and locals R."""
    (kernel,) = parse_dump(HEADER.format(grid=grid, threads=threads) + body).kernels
    return kernel
