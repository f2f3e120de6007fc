"""TileLang 0.1.9, where it differs from 0.1.10."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_10 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.9",
    name="TileLang 0.1.9",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.9"),
    names=replace(newer.VERSION.names, tir="tir", merge_static="tir.merge_static_smem"),
)
