"""What the traces of a kernel of itself have found: each hazard once, where it shows."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.convergence import Convergence
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Bind, Block, Buffer, For, Stmt, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.linter.doubtful import BlockIndices, DoubtfulReads, RacingReads
from smemreuse.linter.guards import Guards
from smemreuse.linter.undecided import NOTHING_OPEN, Open, undecided_of
from smemreuse.results.hazards import AssumedAt, Hazard, HazardKind, Mend
from smemreuse.results.sites import Site
from smemreuse.semantics.accesses import MemoryAccess

SAME_VALUE = (
    "threads that store to one byte in one statement store the same value, where lint does not "
    "know the values (as of a replicated fragment)"
)
WHOLE_OPERANDS = (
    "an operand that names more of a buffer than has been written reads only what has been written"
)

RACED = (
    "what a thread reads while another one writes it does no harm where it decides nothing: no "
    "address, no branch, nothing in global memory"
)

INSIDE = "every index that depends on input data or on the block stays inside its buffer"
NO_NEGATIVE_LENGTH = "what data give as a length, of a sequence say, is not negative"
ELSEWHERE = "an mbarrier that the kernel itself does not initialize is initialized elsewhere"
LANES_TOGETHER = (
    "lanes of a warp that wait for one phase together go on together, where some of them alone "
    "signal what they have waited for"
)

Key = tuple[HazardKind, Stmt, frozenset[Buffer]]


@dataclass
class WaitsBehind:
    """Waits of the same warps that nothing keeps in step, the first one first, and how the one that
    was reported is mended."""

    sites: dict[Stmt, Site] = field(default_factory=dict)
    mend: Mend | None = None


@dataclass
class LintContext:
    """What the traces of one lint share, and the hazards that they have found.

    `changing` is the global memory that the kernel may write. `uniform` are variables with the same
    value in all threads of a block. `registers` are accumulators, and matrices that a wgmma reads
    from registers; only what is in flight there is followed. `behind` are warps whose waits nothing
    keeps in step, each with these waits. `doubtful` are reads in the blocks that are traced
    now, `settled` those in other ones. `followed` are statements after which the compiler inserts a
    barrier.
    """

    body: Block
    accesses: Mapping[Stmt, tuple[MemoryAccess, ...]]
    guards: Guards
    vectors: Vectors
    changing: Set[Buffer | Var] = frozenset()
    uniform: Set[Var] = frozenset()
    registers: frozenset[Buffer] = frozenset()
    hazards: dict[Key, Hazard] = field(default_factory=dict)
    assumed: dict[AssumedAt, None] = field(default_factory=dict)
    behind: dict[bytes, WaitsBehind] = field(default_factory=dict)
    doubtful: DoubtfulReads = field(default_factory=DoubtfulReads)
    settled: list[DoubtfulReads] = field(default_factory=list)
    followed: frozenset[Stmt] = frozenset()

    def settle(self, blocks: BlockIndices) -> None:
        """What was traced since the last time is done by the thread blocks of these indices."""
        self.settled.append(replace(self.doubtful, blocks=blocks))
        self.doubtful = DoubtfulReads()

    def assume(self, sentence: str, buffer: str = "", line: int | None = None) -> None:
        """Notes what the absence of hazards rests on, and where, if at one place."""
        self.assumed.setdefault(AssumedAt(sentence, buffer, line))

    @cached_property
    def convergence(self) -> Convergence:
        return Convergence(self.body)

    @cached_property
    def set_in_body(self) -> frozenset[Var]:
        """The variables of loops and bindings: what they are worth may change."""
        kinds = (For, Bind)
        return frozenset(one.var for one in walk_statements(self.body) if isinstance(one, kinds))

    @cached_property
    def tree(self) -> StatementTree:
        return StatementTree(self.body)


class Collected(Findings):
    """The hazards that one trace finds, which are added to those of the other traces. `block` is
    the block index."""

    def __init__(self, known: LintContext, layout: ByteLayout, block: Mapping[Var, int]) -> None:
        super().__init__()
        self._known = known
        self._layout = layout
        self._block = block

    def _site(self, number: int) -> Site:
        event = self._events[number]
        return Site.of(event.stmt, event.loops)

    def _races_at(self, stmt: Stmt, buffer: Buffer) -> RacingReads:
        everyone = self._known.vectors.everyone
        return self._known.doubtful.races_at(stmt, buffer, len(everyone))

    def _is_known(self, kind: HazardKind, certain: bool, stmt: Stmt, *buffers: Buffer) -> bool:
        """Whether `_add` would not keep a hazard, so that its words need not be made."""
        known = self._known.hazards.get((kind, stmt, frozenset(buffers)))
        certain = certain and not self.forked
        sureness = certain, certain, not (certain and self.long)
        return known is not None and sureness <= known.sureness

    def _add(
        self,
        hazard: Hazard,
        stmt: Stmt,
        *buffers: Buffer,
        notes_reads: bool = False,
        what: Open = NOTHING_OPEN,
    ) -> Key | None:
        """Keeps the first hazard of a kind at a statement and on a buffer, or the first certain
        one; returns its key if it is kept. Of a race it is not known what it makes of what is read,
        but where that is noted by the caller. `what` is open about one that is not certain."""
        if hazard.kind is HazardKind.RACE and not notes_reads:
            for buffer in buffers:
                self._races_at(stmt, buffer).is_known = False
        certain = hazard.certain and not self.forked
        found = replace(
            hazard,
            certain=certain,
            if_long=tuple(dict.fromkeys(var.name for var in self.long)) if certain else (),
            blocks=tuple((var.name, index) for var, index in self._block.items()),
        )
        key = (hazard.kind, stmt, frozenset(buffers))
        known = self._known.hazards.get(key)
        if known is not None and found.sureness <= known.sureness:
            return None
        if not certain:
            open_ = undecided_of(hazard, what, self.forks, self.long.keys(), self._known.tree)
            found = replace(found, undecided=open_)
        self._known.hazards[key] = found
        return key
