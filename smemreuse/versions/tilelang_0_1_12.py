"""TileLang 0.1.12, where it differs from 0.1.13, by the sources of both.

Its merge gives each element of a 4-bit type a byte. Its `ThreadSync` does not look at what
variables are bound to, and takes them for the same in all threads. In rows of less than a warp it
moves barriers before any branch, also where all threads agree on its condition.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_13 as newer
from smemreuse.versions.thread_sync import BoundValues

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.12",
    name="TileLang 0.1.12",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.12", packs_four_bits=False),
    thread_sync=replace(
        newer.VERSION.thread_sync, bindings=BoundValues.UNKNOWN, keeps_where_all_agree=False
    ),
)
