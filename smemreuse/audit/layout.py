"""A kernel that a compiler merged, taken apart again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.ir.kernel import Buffer, Kernel

_BYTES = ("uint8", "int8")


@dataclass(frozen=True)
class AppliedLayout:
    """A merged kernel with its buffers separated, and the offsets (bytes) that the compiler gave
    them.

    - `by_view`: each view of the arena was taken for a buffer. Two of them may be views of one
      buffer, and then share their bytes on purpose.
    - `beyond`: clauses for accesses that may leave the arena (by the bound of an index, which no
      thread need reach), and for accesses to the arena itself, which may touch any buffer.
    - `assumed`: clauses for views that are assumed to be of one buffer, and for indices that are
      assumed to stay inside their views.
    - `declared`: bytes that the views of a buffer declare; the buffer is larger where accesses may
      reach further.
    """

    kernel: Kernel
    offsets: Mapping[Buffer, int]
    arena: int
    by_view: bool = False
    beyond: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    declared: Mapping[Buffer, int] = field(default_factory=dict)


def beyond_arena(name: str, begin: int, end: int | None, arena: int) -> str:
    """A clause that a buffer may be accessed outside of the arena.

    `begin` and `end` are bytes of the arena; `end` is None where the access is unbounded.
    """
    reach = f"up to byte {end - 1:,}" if end is not None and end > arena else f"from byte {begin:,}"
    return f"{name} may be accessed at {reach} of an arena of {arena:,}"


def byte_allocations(kernel: Kernel, scope: str) -> list[Buffer]:
    """The allocations of a scope that a merge may have left, by their type."""
    return [buffer for buffer in kernel.allocations(scope) if buffer.dtype in _BYTES]


def arenas_of(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The byte allocations of a scope, each of which may be the arena of a merge, with
    their sizes; without those whose size is not known.
    """
    allocations = byte_allocations(kernel, scope)
    return {buffer: buffer.size for buffer in allocations if buffer.size is not None}
