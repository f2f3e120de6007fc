"""TileLang 0.1.14, where it differs from 0.1.15, as its passes have been seen to work.

It fences no operands of sparse wgmma and block-scaled tcgen05.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_15 as newer

_UNFENCED = ("ptx_wgmma_sp_ss", "ptx_wgmma_sp_rs", "ptx_tcgen05_mma_blockscaled_ss")

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.14",
    name="TileLang 0.1.14",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.14"),
    fence_pass=replace(
        newer.VERSION.fence_pass, fenced=newer.VERSION.fence_pass.fenced.difference(_UNFENCED)
    ),
)
