"""TileLang 0.1.10, where it differs from 0.1.11, by the sources of both.

Under its aggressive option the merge ends a live range inside a loop, where another buffer's begins
there: a buffer that is filled before a loop and read in each of its rounds is overwritten (TileLang
2199, mended by 2204). Its `ThreadSync` takes one index for one element also where element sizes
differ.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.versions import tilelang_0_1_11 as newer

VERSION = replace(
    newer.VERSION,
    key="tilelang-0.1.10",
    name="TileLang 0.1.10",
    merge=replace(newer.VERSION.merge, name="TileLang 0.1.10", stops_at_gens=True),
    thread_sync=replace(newer.VERSION.thread_sync, compares_bytes=False),
)
