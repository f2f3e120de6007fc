"""How many blocks one SM holds, what stops the next one, and on whose word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SHARED_MEMORY = "shared memory"
THREADS = "threads"
BLOCKS = "blocks of an SM"
REGISTERS = "registers"
BARRIERS = "named barriers"
"""What one more block may have no room in; the words in JSON."""


class RegisterSource(str, Enum):
    """Where a number of registers is from; the value is the word in JSON."""

    PTXAS = "ptxas"
    """The compiled kernel has them."""

    HAND_OVER = "hand-over"
    """Warp groups hand them over, which fixes what each thread has at launch."""

    ESTIMATE = "estimate"
    """The kernel's local arrays, and an allowance for other values; ptxas has not been asked."""

    def __str__(self) -> str:
        return self.value


MOST_REGISTERS = 255
"""The most that a thread can have, on every architecture."""

REGISTER_STEP = 8
"""Registers of a thread come in steps of so many, as an SM allocates 256 at a time to a warp."""


def allocated_registers(count: int) -> int:
    """What a thread takes of its SM that needs so many registers, at least one step."""
    return -(-max(count, 1) // REGISTER_STEP) * REGISTER_STEP


ESTIMATED = "estimated from local arrays, not ptxas' count"
_FROM = {
    RegisterSource.PTXAS: "by ptxas",
    RegisterSource.HAND_OVER: "as many as the kernel's setmaxnreg asks for",
    RegisterSource.ESTIMATE: ESTIMATED,
}
"""Where a number of registers is from, in words."""


@dataclass(frozen=True)
class Registers:
    """Registers of each thread of a block at launch, and where the number is from."""

    count: int
    source: RegisterSource

    @property
    def words(self) -> str:
        """As in `162 a thread, by ptxas`."""
        return f"{self.count} a thread{self.rounding}, {self.origin}"

    @property
    def rounding(self) -> str:
        """What an SM allocates for a thread where that is more, behind a comma; or that no thread
        can have more."""
        if self.count == MOST_REGISTERS:
            return ", the most that one can have"
        taken = allocated_registers(self.count)
        return f", allocated as {taken}" if taken != self.count else ""

    @property
    def origin(self) -> str:
        """Where the number is from, in words."""
        return _FROM[self.source]


@dataclass(frozen=True)
class Residents:
    """How many blocks an SM holds, and what stops the next one.

    `blocks` are as many as shared memory, threads, registers, barriers and the SM's own limit
    allow, `by_memory` as many as do without the registers; 0 does not launch. `limits` are the
    words for what one more block has no room in. `block_bytes` is all that a block takes of shared
    memory, `most_bytes` how many it may have for one more, None where no number of bytes would do.
    `assumed` tells that nobody named `arch`. `threads` and `registers` are None where they are not
    known. `barriers` are those of a block, its own one included. `most_registers` are the most of
    a thread with which registers have room for one more block, where they stop it and any do.
    """

    arch: str
    assumed: bool
    blocks: int
    by_memory: int
    limits: tuple[str, ...]
    block_bytes: int
    most_bytes: int | None
    threads: int | None
    registers: Registers | None
    barriers: int = 1
    most_registers: int | None = None

    @property
    def bytes_over(self) -> int | None:
        """Bytes that a block must lose for shared memory to have room for one more; 0 where it has,
        None where no number of bytes would do."""
        return None if self.most_bytes is None else max(0, self.block_bytes - self.most_bytes)

    @property
    def excess(self) -> int | None:
        """Bytes that a block must lose for one more to be resident, if those would do."""
        return self.bytes_over if self.limits == (SHARED_MEMORY,) else None

    def taken(self, parts: str = "") -> str:
        """All that a block asks for, in words, with the parts that this is made of; what
        `most_bytes` are held against."""
        return f"a block takes {self.block_bytes:,} bytes{parts}, without what the driver reserves"

    @property
    def words(self) -> str:
        """How many blocks there are on an SM, and what stops one more."""
        on = f"{self.arch}{' (assumed)' if self.assumed else ''}"
        limits = " and ".join(map(self._limit, self.limits))
        if not self.blocks:
            return f"no block launches on {on}, stopped by {limits}"
        return f"blocks per SM of {on}: {self.blocks}; one more is stopped by {limits}"

    def _limit(self, limit: str) -> str:
        if limit == REGISTERS and self.registers is not None:
            room = f"; {self.most_registers} would allow it" if self.most_registers else ""
            of = f" for each of {self.threads:,} threads" if self.threads else " a thread"
            each = f"{self.registers.count}{of}"
            return f"registers ({each}{self.registers.rounding}, {self.registers.origin}{room})"
        if limit == THREADS:
            return f"threads ({self.threads:,} a block)"
        if limit == SHARED_MEMORY and self.most_bytes is not None:
            return f"shared memory ({self.taken()}; {self.most_bytes:,} would allow it)"
        words = (REGISTERS, THREADS, SHARED_MEMORY)
        return limit if limit in words else f"the number of {limit}"
