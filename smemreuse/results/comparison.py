"""What the policies make of one kernel, without the kernel: small enough for thousands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from smemreuse.results.regressions import DOES_NOT_FIT, BaselineChange, BaselineEntry
from smemreuse.results.residents import BLOCKS, SHARED_MEMORY, Registers, Residents
from smemreuse.results.verdict import UNPROVED, UNSOUND, VerdictKind

KEPT = "builds have this layout by default; it is neither proved nor refuted, so it may be wrong"

CHOSEN = "chosen"
"""What the layout of `APPLIED` is called, for people."""


def _not_worth(why: str = ",") -> str:
    return f"sharing bytes gains no block{why} and no L1 that is worth its barriers"


NOT_WORTH = _not_worth()
"""Why objective `speed` shares no more."""

APPLIED, STOCK = "dataflow", "outer"
"""The policy whose plan would be applied, and the one that compilers have by default."""


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """One policy's plan and the verdict on it.

    `arena_text` is the arena for people: bytes, or an expression where it is `symbolic`, of which
    `arena_bytes` is the constant part. `blocks` are those that one SM holds by shared memory and
    threads alone, `resident` by the `registers` of each thread, too, and `fits` whether it holds
    one; None is not known. `finding` is the first thing that keeps the plan from being sound,
    `objective` what it is planned for, `own` whether the layout is that of the default merge, `l1`
    the bytes that the resident blocks leave to L1, None where they are not known.
    """

    policy: str
    arena_bytes: int
    arena_text: str
    lower_bound_bytes: int
    gap: str
    optimal: bool
    blocks: int | None
    fits: bool | None
    verdict: VerdictKind
    kept: bool
    finding: str
    symbolic: str = ""
    resident: int | None = None
    registers: Registers | None = None
    objective: str = "bytes"
    own: bool = False
    l1: int | None = None

    @property
    def gap_bytes(self) -> int:
        """What the arena is above the lower bound."""
        return self.arena_bytes - self.lower_bound_bytes


class Concern(str, Enum):
    """What there may be to say against a kernel, the gravest first; the value says it."""

    UNSOUND = "unsound"
    TOO_LARGE = "does not fit"
    STOCK_UNSOUND = "outer is unsound"
    UNPROVED = "unproved"
    HOPED = "perhaps smaller"
    GAP = "packing gap"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kernel and storage scope of a file under each policy, by its name.

    `line` is where its first shared buffer is allocated. `limit` says in words what a block may
    have at most, `hoped` of a smaller plan that is not proved and that the objective would
    have, and why it is not; that takes `hoped_bytes`. Blocks are those of an SM of `arch`. `change`
    is what became of it since a baseline, None without one. `default_bytes`, `default_blocks`
    and `default_l1` are those of the default merge of its `compiler`, which leaves static shared
    memory as it is; None where it makes no layout. `default` has all of it, where it was judged.
    """

    file: str
    kernel: str
    scope: str
    line: int | None
    buffers: int
    side_by_side_bytes: int
    limit: str
    policies: Mapping[str, PolicyResult]
    hoped: str | None = None
    hoped_bytes: int | None = None
    arch: str = ""
    change: BaselineChange | None = None
    compiler: str = ""
    default_bytes: int | None = None
    default_blocks: int | None = None
    default_l1: int | None = None
    default: PolicyResult | None = None
    at_bound: Residents | None = None

    @property
    def baseline_entry(self) -> BaselineEntry:
        """What a later run is compared with: the plan that would be applied."""
        applied = self.applied
        faults = frozenset([DOES_NOT_FIT] if applied.fits is False else [])
        return BaselineEntry(
            *(self.file, self.kernel, self.scope, applied.arena_bytes, applied.verdict, faults),
            symbolic=applied.symbolic,
            blocks=applied.blocks,
            arch=self.arch,
        )

    @property
    def is_changed(self) -> bool:
        """Whether it is not as in the baseline; without one, not as compilers make it."""
        return self.saved_bytes != 0 if self.change is None else self.change.is_any

    @property
    def applied(self) -> PolicyResult:
        """What would be applied; where that is not among the policies, the last."""
        return self.policies.get(APPLIED) or [*self.policies.values()][-1]

    @property
    def stock(self) -> PolicyResult:
        """What compilers do by default; where that is not among the policies, the first."""
        return self.policies.get(STOCK) or next(iter(self.policies.values()))

    @property
    def saved_bytes(self) -> int:
        """By how much smaller the applied arena is than `usual_bytes`."""
        return self.usual_bytes - self.applied.arena_bytes

    @property
    def usual_bytes(self) -> int:
        """The bytes of the default merge or, where they are not known, of policy outer."""
        return self.stock.arena_bytes if self.default_bytes is None else self.default_bytes

    @property
    def gains_block(self) -> bool:
        """Whether an SM holds more blocks than by default."""
        usual = self.stock.resident if self.default_bytes is None else self.default_blocks
        return (self.applied.resident or 0) > (usual or 0)

    @property
    def gained_l1(self) -> int | None:
        """Bytes more that resident blocks leave to L1 than by default; None where not known."""
        usual = self.stock.l1 if self.default_bytes is None else self.default_l1
        now = self.applied.l1
        return None if now is None or usual is None else now - usual

    @property
    def concern(self) -> Concern | None:
        """The gravest thing to say against it."""
        applied = self.applied
        found = {
            Concern.UNSOUND: applied.verdict is UNSOUND,
            Concern.TOO_LARGE: applied.fits is False,
            Concern.STOCK_UNSOUND: self.stock.verdict is UNSOUND,
            Concern.UNPROVED: applied.verdict is UNPROVED,
            Concern.HOPED: self.hoped_bytes is not None,
            Concern.GAP: applied.gap_bytes > 0 and applied.objective == "bytes",
        }
        return next((concern for concern, holds in found.items() if holds), None)

    @property
    def weight(self) -> int:
        """How many bytes the concern is about."""
        if self.concern is Concern.HOPED and self.hoped_bytes is not None:
            return self.applied.arena_bytes - self.hoped_bytes
        return self.applied.gap_bytes if self.concern is Concern.GAP else self.applied.arena_bytes

    @property
    def why(self) -> str:
        """What the concern rests on."""
        applied = self.applied
        if self.concern is Concern.TOO_LARGE:
            return f"{applied.arena_text} bytes, {self.limit}"
        if self.concern is Concern.STOCK_UNSOUND:
            return self.stock.finding
        if self.concern is Concern.HOPED:
            return self.hoped or ""
        if self.concern is Concern.GAP:
            bound = f"{applied.gap_bytes:,} bytes above the lower bound"
            return f"{bound}, proved smallest" if applied.optimal else bound
        if self.concern is Concern.UNPROVED and applied.own:
            return f"{KEPT}: {applied.finding}"
        return applied.finding

    @property
    def why_above_bound(self) -> str:
        """Why the chosen layout, planned for speed, takes more bytes than its lower bound; empty
        where it does not, or a concern tells it."""
        applied, then = self.applied, self.at_bound
        if not applied.gap_bytes or self.concern is not None or applied.objective != "speed":
            return ""
        if applied.optimal:
            return "no layout with these live ranges takes fewer bytes, which is proved"
        if then is None or applied.resident is None:
            return NOT_WORTH
        if then.blocks > applied.resident:
            resident = f"{then.blocks} blocks would be resident"
            return f"with the bound {resident}; no such layout is proved"
        if SHARED_MEMORY in then.limits:
            return NOT_WORTH
        no_more = f"{' and '.join(then.limits)} allow no more"
        if BLOCKS in then.limits:
            no_more = "an SM holds no more"
        return _not_worth(f", as {no_more},")
