"""The alignment that each allocation needs in the arena (rule 7)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from smemreuse.errors import InputError
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import (
    TVM_ALIGNMENT,
    Buffer,
    Kernel,
    element_bits,
)
from smemreuse.versions import version_of

MIN_ALIGNMENT = 16
"""Bytes: the widest vector access (`float4`, 16-byte cp.async), and TVM's own minimum."""

SWIZZLE_ALIGNMENT = 1024
"""Bytes: the period of the 128-byte swizzle that TMA and MMA descriptors may ask for."""

MAX_ALIGNMENT = 2**17
"""Bytes: no larger power of two fits into the shared memory of any GPU."""

_ALIGNMENTS = [2**exponent for exponent in range(MAX_ALIGNMENT.bit_length())]

SMEM_ALIGNMENT_MAP = "tl.smem_alignment_map"


def alignments(kernel: Kernel, scope: str) -> Mapping[Buffer, int]:
    """The alignment in bytes of every allocation of `scope`: the strictest requirement.

    A requirement that lowering recorded in `tl.smem_alignment_map` is exact and replaces the worst
    case assumed for operands of TMA and of MMA descriptors. Element size, 16 bytes, and a buffer's
    own `data_alignment` (TVM's default only where the dialect says so) always hold.
    """
    return facts_of(kernel).ask(needed_alignments, scope)


def needed_alignments(facts: KernelFacts, scope: str) -> Mapping[Buffer, int]:
    """Computes the answer of `alignments`, which remembers it."""
    kernel = facts.kernel
    recorded = recorded_alignments(kernel.attrs)
    swizzled = _swizzled_buffers(kernel)
    result = {}
    for buffer in kernel.allocations(scope):
        element = _power_of_two(element_bits(buffer.dtype) // 8)
        implied = SWIZZLE_ALIGNMENT if buffer in swizzled else 1
        stated = _stated(buffer, version_of(kernel).data_alignment)
        required = max(stated, _required(buffer.name, recorded, implied))
        result[buffer] = max(MIN_ALIGNMENT, element, required)
    return result


def recorded_alignments(attrs: Mapping[str, object]) -> dict[str, int]:
    """The alignments that lowering recorded, in bytes by buffer name.

    Raises `InputError` for a number that is no alignment.
    """
    recorded = attrs.get(SMEM_ALIGNMENT_MAP)
    if not isinstance(recorded, Mapping):
        return {}
    for name, value in recorded.items():
        if value not in _ALIGNMENTS:
            raise InputError(
                f"{SMEM_ALIGNMENT_MAP} gives buffer {name} an alignment that is no power of two "
                f"up to {MAX_ALIGNMENT}"
            )
    return {str(name): int(value) for name, value in recorded.items()}


def _stated(buffer: Buffer, default: int) -> int:
    """The alignment that a buffer itself requests, in bytes; raises `InputError` if it is none."""
    if buffer.alignment in (None, TVM_ALIGNMENT):
        return default
    if buffer.alignment not in _ALIGNMENTS:
        raise InputError(
            f"buffer {buffer.name} has an alignment that is no power of two up to {MAX_ALIGNMENT}"
        )
    return buffer.alignment


def _required(name: str, recorded: Mapping[str, int], implied: int) -> int:
    """The recorded requirement of a buffer in bytes, or where none is recorded what its use
    `implied`.

    The printer writes a second `Ws` as `Ws_1`. The text does not say whether `Ws_1` is that or a
    name of its own. So it gets the stricter of what `Ws` requires and what its own use implies.
    """
    if name in recorded:
        return recorded[name]
    return max(implied, recorded.get(re.sub(r"_\d+$", "", name), 1))


def _power_of_two(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length()


def _swizzled_buffers(kernel: Kernel) -> set[Buffer]:
    """Allocations that reach an operation whose hardware may swizzle them."""
    accesses = facts_of(kernel).accesses.values()
    return {access.buffer for found in accesses for access in found if access.swizzled}
