"""What TileLang's `ThreadSync` takes an operation for; by TileLang 0.1.15's source.

The pass knows operations by name, whatever they do. So its lists are kept apart from the rows.
"""

from __future__ import annotations

COPIES = frozenset(
    {
        *("tma_load", "tma_load_im2col", "tma_load_multicast", "tma_load_gather4"),
        "ptx_cp_async",
    }
)
"""What two of these write it does not compare."""
