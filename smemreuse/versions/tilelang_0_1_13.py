"""TileLang 0.1.13, where it differs from 0.1.14, by its source.

Its passes do not know TMA's gathers and scatters. Its `ThreadSync` does not take a barrier of the
grid for one of the block.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_14 as newer

_LOADS = ("tma_load", "tma_load_im2col", "tma_load_multicast")

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.13",
    name="TileLang 0.1.13",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.13"),
    thread_sync=replace(
        newer.VERSION.thread_sync,
        copies=frozenset({*_LOADS, "ptx_cp_async"}),
        barriers=newer.VERSION.thread_sync.barriers - {"sync_grid"},
    ),
    fence_pass=replace(
        newer.VERSION.fence_pass,
        fenced=frozenset(
            {
                *_LOADS,
                *("tma_store", "ptx_cp_async_bulk", "ptx_wgmma_ss", "ptx_wgmma_rs"),
                *("ptx_tcgen05_mma_ss", "ptx_tcgen05_mma_ts"),
            }
        ),
    ),
)
