"""TileLang 0.1.11, where it differs from 0.1.12, by the sources of both.

Its merge aligns operands of TMA and of MMA descriptors by the target alone; lowering records
nothing. Registers are handed over whatever the number of warp groups.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_12 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.11",
    name="TileLang 0.1.11",
    merge=replace(
        newer.VERSION.merge,
        name="TileLang 0.1.11",
        swizzle_alignments=((0, 16), (90, 1024), (100, 128)),
    ),
    fence_pass=replace(
        newer.VERSION.fence_pass,
        fenced=newer.VERSION.fence_pass.fenced | {"tl_gemm", "tl_gemm_sp"},
    ),
    register_pass=replace(newer.VERSION.register_pass, layouts=None),
)
