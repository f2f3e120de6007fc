"""TileLang 0.1.9, where it differs from 0.1.10, by the sources of both.

Its merge puts on top of all what fits into no free block, and cannot be asked to reuse nothing. Its
`ThreadSync` takes two threads to agree in what a variable is bound to, so that behind `v = 63 - tx`
no two accesses collide. Its passes do not know multicast loads. What a kernel asks of registers is
`set_max_nreg` alone.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_10 as newer
from smemreuse.versions.thread_sync import BoundValues

_MULTICAST = "tma_load_multicast"

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.9",
    name="TileLang 0.1.9",
    merge=replace(
        newer.VERSION.merge,
        name="TileLang 0.1.9",
        packs_as="tilelang on top",
        swizzle_alignments=((0, 16), (90, 1024), (100, 16)),
    ),
    thread_sync=replace(
        newer.VERSION.thread_sync,
        copies=newer.VERSION.thread_sync.copies - {_MULTICAST},
        bindings=BoundValues.COMMON,
    ),
    fence_pass=replace(
        newer.VERSION.fence_pass, fenced=newer.VERSION.fence_pass.fenced - {_MULTICAST}
    ),
    register_pass=replace(newer.VERSION.register_pass, asks=frozenset()),
    names=replace(newer.VERSION.names, tir="tir", merge_static="tir.merge_static_smem"),
)
