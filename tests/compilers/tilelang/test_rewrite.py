"""What a plan makes of a live function."""

from __future__ import annotations

import pytest
from tilelang import tvm

from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.compilers.tilelang.visitor import IN_SEQUENCE, TirVisitor
from smemreuse.errors import BackendError
from smemreuse.pipeline.planning import plan_kernel

pytestmark = pytest.mark.tilelang

SIZED = """
# from tvm.script import tirx as T

@T.prim_func
def main(A: T.handle("float32", "global"), n: T.int32):
    D = T.decl_buffer((64,), "float32", data=A)
    {before}
    tx = T.launch_thread("threadIdx.x", 32)
    {inside}
    X = T.alloc_buffer((m,), "float32", scope="shared.dyn")
    Y = T.alloc_buffer((32,), "float32", scope="shared.dyn")
    X[tx] = T.float32(1)
    Y[tx] = X[tx]
    D[tx] = Y[tx]
"""


def merged(before: str, inside: str) -> str:
    """The text of the function with its two buffers in one arena."""
    func = tvm.script.from_source(SIZED.format(before=before, inside=inside))
    visitor = TirVisitor()
    (kernel,) = visitor.kernels("main", func)
    return str(apply_plans(func, visitor, [[plan_kernel(kernel, "shared.dyn")]]).script())


@pytest.mark.skipif(not IN_SEQUENCE, reason="its text is older")
def test_a_size_is_known_before_the_arena_that_is_made_of_it() -> None:
    size = "m: T.int32 = n * 2"
    text = merged(size, "T.evaluate(0)")
    assert text.index("m: T.int32 = n * 2") < text.index("buf_dyn_shmem = T.alloc_buffer(")
    with pytest.raises(BackendError, match="the size `m` is not known where the kernel begins"):
        merged("T.evaluate(0)", size)
