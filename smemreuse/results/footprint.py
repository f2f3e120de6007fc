"""The shared memory that the blocks of a compiled kernel take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelFootprint:
    """The shared memory of each block of one kernel, in bytes.

    `bytes_before` is what the compiler's own merge asks for and `bytes_after` what smemreuse's
    does; both hold everything of a block, among it `static_bytes`, of buffers and barriers that
    are allocated statically, and what pads those up to the dynamic array. `limit` is the most that
    a block may have on `arch`, opting in, and `fits` whether one merged by smemreuse has room.
    Blocks per SM are as many as shared memory, threads, named barriers and `registers` of each
    thread, by ptxas, allow; 0 does not launch. Where the kernel has not been compiled they go by
    all but the registers, and `expected_registers` may allow fewer: `resident_before` and
    `resident_after` reckon with those then. The compiler's own merge is taken to need as many. What
    is None is not known: bytes of a symbolic size, blocks of a symbolic number of `threads`,
    anything of an architecture that the kernel's target does not name.
    """

    name: str
    arch: str | None
    threads: int | None
    registers: int | None
    bytes_before: int | None
    bytes_after: int | None
    static_bytes: int | None
    blocks_before: int | None
    blocks_after: int | None
    limit: int | None
    fits: bool | None
    expected_registers: int | None = None
    resident_before: int | None = None
    resident_after: int | None = None

    @property
    def summary(self) -> str:
        """Its name, the bytes before and after, and of how many, in a few words."""
        before, after = (_bytes(each) for each in (self.bytes_before, self.bytes_after))
        limit = f" of {self.limit:,}" if self.limit is not None else ""
        return f"{self.name}: {before} to {after} bytes{limit}"


def _bytes(size: int | None) -> str:
    return f"{size:,}" if size is not None else "?"
