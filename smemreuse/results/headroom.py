"""What a plan's bytes hang on: the peak, the next resident block, and what would lower them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from smemreuse.results.residents import Residents
from smemreuse.results.timeline import Peak, Step


class ChangeKind(str, Enum):
    """What is changed; the value is the word in JSON."""

    PAIR = "pair"
    """What one rule says against a pair's sharing: a barrier, a wait, a fence, a loop."""

    RANGE = "live range"
    """The order of the statements that touch one of two buffers."""

    STAGES = "stages"
    """One stage of a software pipeline less."""

    TILES = "tiles"
    """A tile with a smaller side; `fit` alone tries it."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ChangeStep:
    """A change of the kernel, of which it is not known whether the algorithm allows it.

    `condition` says it, as in `if ...`. `statements` is how many have to change; each thread needs
    `registers` more for it, at least.
    """

    kind: ChangeKind
    buffers: tuple[str, ...]
    condition: str
    statements: int
    registers: int = 0


@dataclass(frozen=True)
class NextBlock:
    """What it takes that one more block is resident on an SM.

    `bytes_over` are those that each block must lose for shared memory to have room, None where no
    number of bytes would do. `changes` together are the fewest that gain a block: the kernel's
    buffers would take `arena_bytes` then, and `blocks` be resident. `stopped_by` are the words for
    what else stops it, so that no change of bytes gains one. `is_searched` tells that changes were
    looked for, `is_complete` that where none is told no combination of those known gains a block.
    """

    bytes_over: int | None
    changes: tuple[ChangeStep, ...] = ()
    arena_bytes: int | None = None
    blocks: int | None = None
    stopped_by: tuple[str, ...] = ()
    is_searched: bool = False
    is_complete: bool = False

    @property
    def why_not(self) -> str:
        """Why nothing gains a block; empty where something does, or nothing was looked for."""
        return self.why_none("gains a block")

    def why_none(self, does: str) -> str:
        """The same, in words for what no change `does`."""
        if self.stopped_by:
            verb = "stops" if self.stopped_by == ("blocks of an SM",) else "stop"
            what = " and ".join(self.stopped_by)
            what = what.replace("blocks of an SM", "the number of blocks of an SM")
            return f"fewer bytes gain none: {what} {verb} it"
        if self.changes or not self.is_searched:
            return ""
        if self.is_complete:
            return f"no combination of the changes that smemreuse knows {does}"
        return f"of the changes that smemreuse knows no combination was found that {does}"


@dataclass(frozen=True)
class SmallerTile:
    """A buffer that would take `after` bytes instead of `bytes`, as its tile has a smaller side."""

    name: str
    bytes: int
    after: int


@dataclass(frozen=True)
class SmallerTiles:
    """Tiles that would have to be smaller after these changes so that a kernel fits, the bytes of a
    block after each of the changes, and with all of it. Live ranges are taken as they are."""

    tiles: tuple[SmallerTile, ...]
    steps: tuple[ChangeStep, ...]
    bytes_after: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class WithinLimit:
    """What it takes that a block of a kernel takes at most `limit` bytes.

    `bytes` are those that it takes now, merged by smemreuse; None where a size is known only at
    launch. `steps` together are the fewest changes that fit it, `bytes_after` what it takes after
    each. Where none are known `why` says so, `live` are the buffers at the peak, at `step`, and
    `least` are changes with which it gets as small as is known, `least_after` the bytes after each;
    `apart` are the buffers, by name and bytes, of which no two may share even then.
    `smaller` are tiles with which it would fit, if any are known.
    """

    limit: int
    bytes: int | None
    steps: tuple[ChangeStep, ...] = ()
    bytes_after: tuple[int, ...] = ()
    live: tuple[LiveThere, ...] = ()
    step: Step | None = None
    why: str = ""
    least: tuple[ChangeStep, ...] = ()
    least_after: tuple[int, ...] = ()
    apart: tuple[tuple[str, int], ...] = ()
    smaller: SmallerTiles | None = None

    @property
    def fits(self) -> bool:
        """Whether it fits as it is."""
        return self.bytes is not None and self.bytes <= self.limit

    @property
    def can_fit(self) -> bool:
        """Whether it fits, or does with the changes."""
        return self.fits or bool(self.steps)


@dataclass(frozen=True)
class Change:
    """A change of the kernel after which its buffers would take `arena_bytes`.

    It was planned anew with that one change, and all else as it is: whether the algorithm allows it
    is not known. `condition` says it, as in `if ...`. `statements` is how many have to change.
    `blocks` would then be resident on an SM, None where that is not known; `adds_block` if those
    are more than now. `stopped_by` is what has no room for one more then.
    """

    kind: ChangeKind
    buffers: tuple[str, ...]
    condition: str
    statements: int
    arena_bytes: int
    blocks: int | None
    adds_block: bool
    stopped_by: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Headroom:
    """One plan: where most bytes are live, at which statement, and what that leaves.

    `arena_bytes` may be more than the peak's, by what alignment and packing cost, and by buffers
    that must not share though they are not live together. `step` is the statement at the peak, None
    where nothing is live. `residents` is None where a size or the architecture is not known.
    `changes` are the cheapest of each kind that lowers the arena, those that bring a block first;
    `next_block` says what it takes to gain one, None where nothing is live or `residents` is None.
    `beyond` are the buffers with bytes that none of those at the peak covers.
    """

    arena_bytes: int
    peak: Peak
    step: Step | None
    live: tuple[LiveThere, ...]
    residents: Residents | None
    changes: tuple[Change, ...]
    next_block: NextBlock | None = None
    beyond: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line: the bytes, the blocks, and how many changes would lower them."""
        blocks = "" if self.residents is None else f", {self.residents.blocks} blocks"
        peak = f"peak {self.peak.bytes:,} of {self.arena_bytes:,} bytes"
        return f"Headroom({peak}{blocks}; {len(self.changes)} changes lower them)"


@dataclass(frozen=True)
class LiveThere:
    """A buffer that is live at the peak, its bytes, and the statements from and to which it is."""

    name: str
    bytes: int
    first: Step
    last: Step
