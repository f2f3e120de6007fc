"""What a GPU takes as a launch, whatever the kernel does (CUDA guide, "Technical Specifications
per Compute Capability"; alike on all)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import Kernel
from smemreuse.ir.launch import AXES, MAX_THREADS, launches, tag_of

LIMITS: Mapping[str, int] = {
    "blockIdx.x": 2**31 - 1,
    "blockIdx.y": 65535,
    "blockIdx.z": 65535,
    "threadIdx.x": 1024,
    "threadIdx.y": 1024,
    "threadIdx.z": 64,
}


def why_no_launch(kernel: Kernel) -> str:
    """Why a kernel's launch is refused, as far as its constant extents show; empty if it is not."""
    threads: dict[str, int] = {}
    for launch in launches(kernel.body):
        tag, extent = tag_of(launch), constant(launch.value)
        if extent is None or tag not in LIMITS:
            continue
        if extent < 1 or extent > LIMITS[tag]:
            return f"an extent of {extent:,} along {tag}, which goes from 1 to {LIMITS[tag]:,}"
        if tag in AXES:
            threads[tag] = max(extent, threads.get(tag, 1))
    total = math.prod(threads.values())
    if total > MAX_THREADS:
        return f"a block of {total:,} threads, of at most {MAX_THREADS:,}"
    return ""
