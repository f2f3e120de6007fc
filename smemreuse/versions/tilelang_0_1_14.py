"""TileLang 0.1.14, where it differs from 0.1.15."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_15 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.14",
    name="TileLang 0.1.14",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.14"),
)
