"""TileLang 0.1.15, by its source."""

from __future__ import annotations

from smemreuse.versions.fence_pass import FencePass
from smemreuse.versions.register_pass import RegisterPass
from smemreuse.versions.thread_sync import ThreadSync
from smemreuse.versions.version import MergeRules, Names, Version

_TMA_LOADS = ("tma_load", "tma_load_im2col", "tma_load_multicast", "tma_load_gather4")
_ATOMICS = ["add", "add_ret", "addx2", "addx4", "load", "store", "max", "max_ret", "min", "min_ret"]

VERSION = Version(
    key="tilelang-0.1.15",
    name="TileLang 0.1.15",
    dialect="tilelang",
    data_alignment=1,
    static_alignment=16,
    dynamic_alignment=1024,
    aligns_as_asked=False,
    synchronizes_later=True,
    keeps_unproved=True,
    merges_into_views=False,
    has_tilelang_operations=True,
    waits_for_uncommitted=True,
    merge=MergeRules("TileLang 0.1.15", "tilelang", "tilelang", aggressive="inner"),
    thread_sync=ThreadSync(
        copies=frozenset({*_TMA_LOADS, "ptx_cp_async"}),
        atomics=frozenset(f"atomic_{name}_elem_op" for name in _ATOMICS),
        barrier_after=frozenset({"ptx_wait_group"}),
        barriers=frozenset({"tvm_storage_sync", "sync_grid"}),
    ),
    fence_pass=FencePass(
        fenced=frozenset(
            {
                *_TMA_LOADS,
                *("tma_store", "tma_store_scatter4", "ptx_cp_async_bulk"),
                *("ptx_wgmma_ss", "ptx_wgmma_rs", "ptx_wgmma_sp_ss", "ptx_wgmma_sp_rs"),
                *("ptx_tcgen05_mma_ss", "ptx_tcgen05_mma_ts", "ptx_tcgen05_mma_blockscaled_ss"),
            }
        ),
        fences=frozenset({"fence_proxy_async"}),
    ),
    register_pass=RegisterPass(
        sets=frozenset({"set_max_nreg"}),
        keeps="no_set_max_nreg",
        asks=frozenset({"annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc"}),
        copies=frozenset({"ptx_cp_async"}),
        custom="kCustomWarpSpecialization",
        layouts=frozenset({(1, 1), (1, 2), (2, 2), (1, 3)}),
    ),
    names=Names(
        tir="tirx",
        passes="transform",
        merge_static="tirx.merge_static_smem",
        disable_sync="tl.disable_thread_storage_sync",
    ),
)
