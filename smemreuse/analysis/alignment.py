"""The alignment that each allocation needs in the arena (rule 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from smemreuse.analysis.touches import find_aliases, touches_of
from smemreuse.model.expr import Call, walk
from smemreuse.model.kernel import Buffer, Kernel, element_bits, expressions_of, walk_statements

MIN_ALIGNMENT = 16
"""Bytes: the widest vector access (`float4`, 16-byte cp.async), and TVM's own minimum."""

SWIZZLE_ALIGNMENT = 1024
"""Bytes: the period of the 128-byte swizzle that TMA and MMA descriptors may ask for."""

SMEM_ALIGNMENT_MAP = "tl.smem_alignment_map"

_SWIZZLED_OPS = frozenset(
    {
        "tma_load",
        "tma_load_multicast",
        "tma_load_im2col",
        "tma_load_gather4",
        "tma_store",
        "tma_store_scatter4",
        "tma_store_cluster",
        "initialize_wgmma_descriptor",
        "initialize_tcgen05_descriptor",
    }
)


def alignments(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """Bytes of alignment for every allocation of `scope`: the strictest of all that is asked.

    The requirement that lowering recorded in `tl.smem_alignment_map` is exact and replaces the
    worst case assumed for operands of TMA and of MMA descriptors; element size and 16 bytes hold
    in any case.
    """
    explicit = _explicit(kernel)
    swizzled = _swizzled_buffers(kernel)
    result = {}
    for buffer in kernel.allocations(scope):
        recorded = _recorded(buffer.name, explicit)
        implied = SWIZZLE_ALIGNMENT if buffer in swizzled and recorded is None else 1
        element = _power_of_two(element_bits(buffer.dtype) // 8)
        result[buffer] = max(MIN_ALIGNMENT, element, recorded or 1, implied)
    return result


def _explicit(kernel: Kernel) -> Mapping[str, int]:
    recorded = kernel.attrs.get(SMEM_ALIGNMENT_MAP)
    if not isinstance(recorded, Mapping):
        return {}
    return {str(name): int(value) for name, value in recorded.items()}


def _recorded(name: str, explicit: Mapping[str, int]) -> int | None:
    """The recorded requirement of a buffer. The printer writes a second `Ws` as `Ws_1`."""
    if name in explicit:
        return explicit[name]
    return explicit.get(re.sub(r"_\d+$", "", name))


def _power_of_two(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()


def _swizzled_buffers(kernel: Kernel) -> set[Buffer]:
    """Allocations that reach an intrinsic whose hardware may swizzle them."""
    aliases = find_aliases(kernel.body)
    return {
        touch.buffer
        for stmt in walk_statements(kernel.body)
        for expr in expressions_of(stmt)
        for node in walk(expr)
        if isinstance(node, Call) and node.op in _SWIZZLED_OPS
        for touch in touches_of(node, aliases)
    }
