"""Why one plan takes more bytes than another: causes, whose bytes add up to the difference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from smemreuse.results.residents import Registers, Residents
from smemreuse.results.words import Worded

Names = frozenset[str]
"""Two buffers by their names."""


class CauseKind(Worded):
    """What changed, in the order in which bytes are attributed; the value is the word in JSON.

    `sentence` says what the bytes of such a cause are.
    """

    VANISHED = "vanished", "buffers that are no longer there"
    SIZE = "size", "buffers that grew or shrank"
    RANGE = "live range", "live ranges that got longer or shorter"
    CONFLICT = "conflict", "pairs that must not share though they are not live together"
    APPEARED = "appeared", "buffers that are new"
    ALIGNMENT = "alignment", "alignment padding"
    PACKING = "packing", "what packing leaves beyond all that"


@dataclass(frozen=True)
class NamedLayout:
    """One plan of a kernel and scope with buffers by name, from a dump or from a verb's JSON.

    Sizes, alignments, offsets and `arena` are bytes; buffers of symbolic size are left out. `live`
    are half-open positions. `conflicts` are pairs that must not share although their live ranges
    do not overlap. `ends` are the statements between which a buffer is live, with their lines;
    `touches` what the kernel does with it, by which renamed buffers are found;
    `stages` how many stages of a pipeline it has, where that is known;
    `why` says why two must not share, or nothing. `residents` are those by shared memory and
    threads alone, which is what a plan changes. `symbolic` is the whole arena where its size is
    an expression, of which `arena` is the constant part. `is_absent`: the kernel has no buffers in
    this scope, and the other side has. `registers` are those of a thread, where they are known;
    `objective` is what the plan was made for.
    """

    file: str
    kernel: str
    scope: str
    sizes: Mapping[str, int]
    alignments: Mapping[str, int]
    offsets: Mapping[str, int]
    arena: int
    live: Mapping[str, tuple[int, int]]
    conflicts: frozenset[Names] = frozenset()
    ends: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    touches: Mapping[str, object] = field(default_factory=dict)
    stages: Mapping[str, int] = field(default_factory=dict)
    why: Callable[[str, str], str] = field(default=lambda one, two: "", repr=False, compare=False)
    residents: Residents | None = None
    symbolic: str = ""
    is_absent: bool = False
    registers: Registers | None = None
    objective: str = ""

    def together(self, one: str, two: str) -> bool:
        """Whether two are live at one position."""
        (begin, end), (other_begin, other_end) = self.live[one], self.live[two]
        return begin < other_end and other_begin < end


@dataclass(frozen=True)
class DifferenceCause:
    """One change, and the bytes that it adds; fewer than none where it takes some away.

    `text` is the whole sentence. `buffers` have their names of the new plan, or of the old plan if
    they vanished. `alone` are the bytes by which the new arena is larger than with all changes but
    this one, None where that is not known: they need not add up.
    """

    kind: CauseKind
    buffers: tuple[str, ...]
    bytes: int
    text: str
    alone: int | None = None


@dataclass(frozen=True)
class Difference:
    """Two plans of one kernel and scope. `renamed` are buffers that are taken to be the same: old
    name, new name. `restoring` are the fewest changes without which the new kernel has as many
    resident blocks as the old one; empty where none is lost, and where a few are not enough."""

    old: NamedLayout
    new: NamedLayout
    causes: tuple[DifferenceCause, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    restoring: tuple[DifferenceCause, ...] = ()

    @property
    def bytes(self) -> int:
        """What the arena grew by."""
        return self.new.arena - self.old.arena

    @property
    def blocks(self) -> tuple[int, int] | None:
        """Resident blocks before and after; None where one is not known."""
        before, after = self.old.residents, self.new.residents
        return None if before is None or after is None else (before.blocks, after.blocks)

    @property
    def are_strangers(self) -> bool:
        """Whether the two may be different kernels, as no buffer name is common to both; of one
        without buffers, as its name is another one."""
        old, new = self.old, self.new
        are_named = old.kernel == new.kernel and not (old.sizes and new.sizes)
        return bool(old.sizes or new.sizes) and not are_named and not {*old.sizes} & {*new.sizes}

    @property
    def may_be_growth(self) -> bool:
        """Whether it may take more bytes, for a size that is not known."""
        return may_exceed(self.new.symbolic, self.old.symbolic)

    @property
    def is_growth(self) -> bool:
        """Whether it takes more bytes, or may for a size that is not known, or a block was lost."""
        lost = self.blocks is not None and self.blocks[1] < self.blocks[0]
        return self.may_be_growth or self.bytes > 0 or lost


@dataclass(frozen=True)
class KernelDifference:
    """The two states of one kernel, in all its `scopes`."""

    scopes: tuple[Difference, ...]

    @property
    def bytes(self) -> int:
        """What its arenas grew by together."""
        return sum(one.bytes for one in self.scopes)

    @property
    def lost(self) -> tuple[int, int] | None:
        """Resident blocks before and after, where it has fewer."""
        pairs = [one.blocks for one in self.scopes if one.blocks is not None]
        return next((pair for pair in pairs if pair[1] < pair[0]), None)

    @property
    def may_be_growth(self) -> bool:
        """Whether it may take more bytes, for a size that is not known."""
        return any(one.may_be_growth for one in self.scopes)

    @property
    def is_growth(self) -> bool:
        """Whether it takes more bytes, or may for a size that is not known, or a block was lost."""
        return self.may_be_growth or self.bytes > 0 or self.lost is not None

    @property
    def named(self) -> Difference:
        """The scope by which its names on both sides are known."""
        both = (one for one in self.scopes if not (one.old.is_absent or one.new.is_absent))
        return next(both, self.scopes[0])


_Kernel = tuple[str, str]
"""A file and the name of a kernel in it."""


def by_kernel(found: Sequence[Difference]) -> list[KernelDifference]:
    """The differences of scopes, those of one kernel together.

    Kernels of one name in one file are not told apart: there each scope stands for itself, so that
    what one of them grew by is not made up for by another.
    """
    is_now: dict[_Kernel, _Kernel] = {
        (one.old.file, one.old.kernel): (one.new.file, one.new.kernel)
        for one in found
        if not (one.old.is_absent or one.new.is_absent)
    }
    scopes: dict[_Kernel, list[Difference]] = defaultdict(list)
    for one in found:
        new = (one.new.file, one.new.kernel)
        scopes[is_now.get(new, new) if one.new.is_absent else new].append(one)
    made = []
    for group in scopes.values():
        sides = [[side.scope for side in (each.old, each.new)] for each in group]
        repeated = any(max(Counter(side).values()) > 1 for side in zip(*sides, strict=True))
        parts = [[one] for one in group] if repeated else [group]
        made += [KernelDifference(tuple(part)) for part in parts]
    return made


def may_exceed(symbolic: str, before: str) -> bool:
    """Whether a size of which one part is this expression may be larger than one of which it was
    another; empty for a constant size."""
    return bool(symbolic) and symbolic != before
