"""TileLang 0.1.10, where it differs from 0.1.11."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_11 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.10",
    name="TileLang 0.1.10",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.10"),
)
