"""Where a plan comes from, as data: what was asked for, what vouches for it, what went wrong.

Decisions are made on these fields; `report/provenance.py` alone puts them into words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from smemreuse.results.residents import Registers

PolicyName: TypeAlias = str
PackerName: TypeAlias = str
"""`outer`, `inner`, `dataflow`, and `best`, `tilelang`, `tvm`, and what users add to them."""

ObjectiveName: TypeAlias = Literal["bytes", "speed", "none"]
"""`bytes`: the smallest arena. `none`: buffers side by side, nothing is reused. `speed`: the most
blocks on each SM that shared memory, threads and registers allow, then the most L1, then little
sharing."""


class Origin(Enum):
    """Where a plan's sharing comes from."""

    POLICY = "policy"
    """What the policy says by itself."""

    INNER_PROVED = "inner proved"
    """Policy inner's ranges, but for pairs that the checker does not prove; it proves the rest."""

    COMPILER_PROVED = "compiler proved"
    """The layout that the compiler makes by itself, smaller than our own, and proved."""

    KEPT_FROM_COMPILER = "kept from compiler"
    """The one exception to applying only what is proved, so that no kernel grows: what the compiler
    does by default, smaller than all that is proved, and neither proved nor refuted."""


@dataclass(frozen=True, slots=True)
class PackerFallback:
    """The packer that was asked for has no placement that holds; `used` made this one."""

    failed: PackerName
    used: PackerName
    why: str


class StockFault(Enum):
    """Why a compiler's own pass does not compile a kernel."""

    SMALL = "small"
    """It takes a buffer of a few bits for a register, and gives it no place."""

    ADDRESS_ONLY = "address only"
    """It does not see that a buffer is used, and gives it no place."""

    READ_OUTSIDE = "read outside"
    """A buffer is read outside of any statement or scope below its allocation."""


@dataclass(frozen=True, slots=True)
class StockFailure:
    """A fault, and the name of the buffer that has it. Our plan of such a merge is a guess."""

    fault: StockFault
    buffer: str


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What objective `speed` reckoned with.

    `blocks` are those on each SM by shared memory, threads and the `registers` of each thread: at
    most so many where `threads_known` is not, and 0 where a block does not fit. `l1_left` are the
    bytes that the carve-out leaves to L1. `assumed` tells that neither the kernel nor the user
    named `arch`.
    """

    blocks: int
    arch: str
    assumed: bool
    threads_known: bool
    l1_left: int
    registers: Registers | None = None

    @property
    def fits(self) -> bool:
        return self.blocks > 0


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a plan was made.

    `fallback` tells that another packer made it. `overlap` says which buffers a compiler's pass
    lays over each other though its own rules forbid it; `failures`, that it does not compile the
    kernel at all. `occupancy` is None for other objectives, and where it is not known how many
    blocks fit.
    """

    policy: PolicyName
    packer: PackerName
    objective: ObjectiveName
    origin: Origin = Origin.POLICY
    fallback: PackerFallback | None = None
    overlap: str | None = None
    failures: tuple[StockFailure, ...] = ()
    occupancy: Occupancy | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the plan may be applied unproved, since the compiler's own is no better."""
        return self.origin is Origin.KEPT_FROM_COMPILER

    @property
    def is_own(self) -> bool:
        """Whether the layout is the one that the compiler makes by itself."""
        return self.origin in (Origin.KEPT_FROM_COMPILER, Origin.COMPILER_PROVED)
