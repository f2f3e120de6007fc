"""What TileLang's `InjectFenceProxy` takes an operation for; by TileLang 0.1.15's source.

The pass knows operations by name, whatever they do. So its lists are kept apart from the rows.
"""

from __future__ import annotations

FENCED = frozenset(
    {
        *("tma_load", "tma_load_im2col", "tma_load_multicast", "tma_load_gather4"),
        *("tma_store", "tma_store_scatter4", "ptx_cp_async_bulk"),
        *("ptx_wgmma_ss", "ptx_wgmma_rs", "ptx_wgmma_sp_ss", "ptx_wgmma_sp_rs"),
        *("ptx_tcgen05_mma_ss", "ptx_tcgen05_mma_ts", "ptx_tcgen05_mma_blockscaled_ss"),
    }
)
"""Before these comes a fence where a generic write may have come before."""

FENCES = frozenset({"fence_proxy_async"})
"""The fences of the kernel's own that it sees."""
