"""What all processes of one run have lowered: each kernel once, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from smemreuse.results.carried import ScopePlans
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import LintReport
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict, VerdictKind

_WORST_FIRST = (UNSOUND, UNPROVED, SOUND)


@dataclass(frozen=True)
class Judgement:
    """The verdict on all plans of a kernel, which is the worst of them, and what it rests on."""

    verdict: VerdictKind
    finding: str = ""

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Judgement | None:
        """None where there is no plan to judge."""
        if not verdicts:
            return None
        worst = min(verdicts, key=lambda each: _WORST_FIRST.index(each.verdict))
        return cls(worst.verdict, "" if worst.sound else worst.first_finding)


@dataclass
class SuiteKernel:
    """A kernel of a run: what its blocks take before and after, and how often it was lowered.

    `compiler` is the judgement on the merge that the compiler makes by itself, `ours` the one on
    what was applied; None where there is nothing to merge, or it is not known. `kept` says that the
    compiler's own layout, unproved, was left as it is. `processes` are the numbers of those that
    lowered it; `dump` is the file with what its merge received, if that was asked. `key` tells it
    from all others: a name for what the merge received, and which of its kernels this is.

    `elaborations` are the calls that made it, each once, in the order of the records.

    What was not asked for is empty: `scopes` are its plans, to be drawn, `lint` what was found of
    its own hazards, `mends` what was put in against these, and `unmended` those that could not be
    mended, a sentence each.
    """

    footprint: KernelFootprint
    compiler: Judgement | None = None
    ours: Judgement | None = None
    kept: bool = False
    lowered: int = 0
    processes: set[int] = field(default_factory=set)
    dump: str | None = None
    key: str = ""
    scopes: tuple[ScopePlans, ...] = ()
    lint: LintReport | None = None
    mends: tuple[str, ...] = ()
    unmended: tuple[str, ...] = ()
    elaborations: list[Elaboration] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.footprint.name

    @property
    def received(self) -> tuple[str, int]:
        """What tells the function that the merge received from others, and which of its kernels
        this is."""
        function, _, number = self.key.rpartition("/")
        return function, int(number)

    @property
    def gained(self) -> int:
        """Bytes that it takes less than before; below 0 where it takes more."""
        return (self.footprint.bytes_before or 0) - (self.footprint.bytes_after or 0)


@dataclass(frozen=True)
class Trouble:
    """A function that was not merged by us, or not compiled at all, and the first telling line."""

    name: str
    why: str


TROUBLES = ("left", "failed", "untold")
"""The fields of `Suite` that count troubles."""


@dataclass
class Suite:
    """What all processes of one run have recorded.

    `left` counts functions that the compiler's own merge had to merge instead, `failed` those that
    were not compiled. `untold` counts functions whose report is incomplete; what was done to them
    stands. `reloaded` are functions from TileLang's cache that no process of the run lowered.
    `stopped` counts calls of kernels that were lowered but not compiled. `blind` are programs whose
    kernels could not be observed, with the reason; of these `unhooked` counts those whose compiler
    smemreuse could not get into. `lost` counts records that were cut off because
    their process was killed. `unfinished` are functions without any record after their merge.
    """

    kernels: list[SuiteKernel] = field(default_factory=list)
    left: Counter[Trouble] = field(default_factory=Counter)
    failed: Counter[Trouble] = field(default_factory=Counter)
    untold: Counter[Trouble] = field(default_factory=Counter)
    reloaded: list[str] = field(default_factory=list)
    blind: list[Trouble] = field(default_factory=list)
    unhooked: int = 0
    stopped: int = 0
    lost: int = 0
    unfinished: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether no process has come across a kernel, or could have."""
        troubles = self.left or self.failed or self.untold or self.reloaded or self.blind
        troubles = troubles or self.unfinished
        return not (self.kernels or troubles)

    @property
    def merged(self) -> list[SuiteKernel]:
        """The kernels that have shared memory at all."""
        return [each for each in self.kernels if each.footprint.bytes_before != 0]

    @property
    def linted(self) -> bool:
        """Whether hazards of the kernels themselves were looked for."""
        return any(each.lint is not None for each in self.kernels)

    @property
    def refuted(self) -> list[SuiteKernel]:
        """The kernels whose blocks overwrite what they need under the compiler's own merge."""
        return [one for one in self.kernels if one.compiler and one.compiler.verdict is UNSOUND]

    @property
    def bytes_before(self) -> int:
        return sum(each.footprint.bytes_before or 0 for each in self.kernels)

    @property
    def bytes_after(self) -> int:
        return sum(each.footprint.bytes_after or 0 for each in self.kernels)

    @property
    def smaller(self) -> int:
        """How many kernels take fewer bytes than before."""
        return sum(each.gained > 0 for each in self.kernels)

    @property
    def larger(self) -> int:
        """How many take more."""
        return sum(each.gained < 0 for each in self.kernels)

    @property
    def more_blocks(self) -> int:
        """How many kernels have more resident blocks than before."""
        pairs = (
            (each.footprint.resident_before, each.footprint.resident_after) for each in self.kernels
        )
        return sum(None not in (one, two) and (two or 0) > (one or 0) for one, two in pairs)

    def verdicts(self, whose: str) -> Counter[str]:
        """How many kernels there are of each verdict, on the merge of `compiler` or `ours`."""
        found = (getattr(each, whose) for each in self.kernels)
        return Counter(each.verdict.value for each in found if each is not None)
