"""A kernel that a compiler merged, taken apart again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.ir.kernel import Buffer, Kernel

_BYTES = ("uint8", "int8")


@dataclass(frozen=True)
class AppliedLayout:
    """A merged kernel with its buffers apart again, and where the compiler had put them (bytes).

    `by_view` tells that views of the arena were taken for buffers. Two of them may be views of one
    buffer, and then share their bytes on purpose. `beyond` says of each buffer whose accesses might
    leave the arena how far (a bound on an index, which no thread need reach), and of accesses to
    the arena itself, which may touch any buffer's bytes. `assumed` names the views that are taken
    to be of one buffer. `declared` are the bytes that the views of a buffer have, where it has any;
    the buffer is larger where its accesses may reach further.
    """

    kernel: Kernel
    offsets: Mapping[Buffer, int]
    arena: int
    by_view: bool = False
    beyond: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    declared: Mapping[Buffer, int] = field(default_factory=dict)


def beyond_arena(name: str, begin: int, end: int | None, arena: int) -> str:
    """That a buffer might be accessed outside of the arena; `end` is None where nothing bounds it.

    Both in bytes of the arena.
    """
    reach = f"up to byte {end - 1:,}" if end is not None and end > arena else f"from byte {begin:,}"
    return f"{name} may be accessed at {reach} of an arena of {arena:,}"


def arenas_of(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The allocations of bytes, any of which may be what a merge left, and their sizes."""
    return {
        buffer: buffer.size
        for buffer in kernel.allocations(scope)
        if buffer.dtype in _BYTES and buffer.size is not None
    }
