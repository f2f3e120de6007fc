"""A pytest plugin: the fixture `smem_footprint`, which asserts how much shared memory kernels take.

Every pytest run of an environment with smemreuse loads this, so it imports nothing but pytest until
the fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["smem_footprint"]


@pytest.fixture(scope="session")
def smem_footprint() -> Callable[..., int]:
    """Asserts that each block of a kernel takes at most so many bytes of shared memory.

        def test_it_stays_small(smem_footprint):
            smem_footprint("kernel.tir", at_most="48 KiB")
            smem_footprint(matmul, 1024, 1024, 1024, at_most=100_000, arch="sm_90a")

    The kernel is a dump's path, a `smemreuse.Kernel`, a TileLang PrimFunc or compiled kernel, or a
    `@tilelang.jit` function, or one that makes a PrimFunc, with its arguments; of Apache TVM, a
    module or PrimFunc as the merge receives it. Nothing is compiled, and no GPU is needed. It
    returns the bytes of the largest kernel, under the plan that the passes apply by default;
    `objective="bytes"` takes the smallest plan instead, `stock=True` the compiler's own merge.
    Where they are too many, the error says where they are live, and what would lower them.
    """
    return _footprint


def _footprint(
    kernel: Any,
    *args: Any,
    at_most: int | str,
    arch: str | None = None,
    stock: bool = False,
    policy: str = "dataflow",
    objective: str = "speed",
    **kwargs: Any,
) -> int:
    __tracebackhide__ = True
    from smemreuse.api.footprints import bytes_of, measured

    limit = bytes_of(at_most)
    found = measured(
        kernel, args, kwargs, arch=arch, stock=stock, policy=policy, objective=objective
    )
    for one in found:
        if one.bytes > limit:
            more = f"{one.bytes - limit:,} more than the {limit:,} allowed"
            head = f"{one.kernel.name} takes {one.bytes:,} bytes of shared memory a block, {more}"
            raise AssertionError("\n".join([head, *(f"  {line}" for line in one.explained())]))
    return max(one.bytes for one in found)
