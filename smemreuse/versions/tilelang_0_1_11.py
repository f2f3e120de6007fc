"""TileLang 0.1.11, where it differs from 0.1.12."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_12 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.11",
    name="TileLang 0.1.11",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.11"),
)
