"""TileLang 0.1.13, where it differs from 0.1.14, by the sources of both.

TODO14
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_14 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.13",
    name="TileLang 0.1.13",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.13"),
)
