"""A function that was stored lowers to the same kernel, layouts that it asks for among it."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.tilelang


def transposing() -> Any:
    """A kernel that asks for a layout of its shared buffer and of its fragment."""
    import tilelang.language as T
    from tilelang.layout import Fragment, Layout

    @T.prim_func  # type: ignore[untyped-decorator]
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):  # type: ignore
        with T.Kernel(1, threads=128) as _:
            tile = T.alloc_shared((64, 64), "float16")
            part = T.alloc_fragment((64, 64), "float16")
            T.annotate_layout(
                {
                    tile: Layout((64, 64), lambda i, j: [i, j ^ (i % 8 * 8)]),
                    part: Fragment(
                        (64, 64),
                        forward_thread_fn=lambda i, j: i % 8 * 16 + j // 4,
                        forward_index_fn=lambda i, j: i // 8 * 4 + j % 4,
                    ),
                }
            )
            T.copy(A, tile)
            T.copy(tile, part)
            T.copy(part, B)

    return main


def lowered(func: Any) -> Any:
    from tilelang import tvm
    from tilelang.backend.module import create_backend_context
    from tilelang.engine.lower import lower_to_host_device_ir

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with target, tvm.transform.PassContext(opt_level=3):
        return lower_to_host_device_ir(func, create_backend_context(target))[1]


def test_a_stored_function_lowers_to_the_same_kernel() -> None:
    pytest.importorskip("tilelang")
    from tilelang import tvm

    from scripts.applied.stored import function_of, text_of

    func = transposing()
    again = function_of(text_of(func))
    assert tvm.ir.structural_equal(lowered(func), lowered(again), map_free_vars=True)
