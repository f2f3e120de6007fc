"""What is worse than in a baseline: bytes, verdicts and violations of one kernel's plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from smemreuse.results.difference import may_exceed
from smemreuse.results.findings import FindingKind
from smemreuse.results.matching import matched, unmatched
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, VerdictKind

DOES_NOT_FIT = "a block does not fit"

_RANK = {SOUND: 0, UNPROVED: 1, UNSOUND: 2}


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """How a kernel and scope stands: the bytes of its plan, the verdict, and what is wrong.

    `faults` are the same from run to run: they name no lines. `symbolic` is the whole arena where
    its size is an expression, of which `arena_bytes` are the constant part. `planned` is false
    where there are buffers and no plan. `assumed` is what a proof takes for granted of the kernel
    itself, `blocks` are those that one SM of `arch` holds; None is not known.
    """

    file: str
    kernel: str
    scope: str
    arena_bytes: int
    verdict: VerdictKind
    faults: frozenset[str] = frozenset()
    symbolic: str = ""
    planned: bool = True
    assumed: frozenset[str] | None = None
    blocks: int | None = None
    arch: str = ""

    @property
    def size(self) -> str:
        """Its bytes for people."""
        return f"{self.symbolic or format(self.arena_bytes, ',')} bytes"


@dataclass(frozen=True, slots=True)
class Regression:
    """One thing that is worse, and how much."""

    kind: FindingKind
    sentence: str


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """How a kernel stands, how it stood before if it was there, and what is worse."""

    now: BaselineEntry
    before: BaselineEntry | None

    @property
    def worse(self) -> tuple[Regression, ...]:
        return tuple(_regressions(self.now, self.before))

    @property
    def is_any(self) -> bool:
        """Whether anything is not as before."""
        was = self.before
        return was is None or bool(self.worse) or self._placed(was) != self.now

    @property
    def renamed_from(self) -> BaselineEntry | None:
        """What it was, where that had another name or was in another scope."""
        was, now = self.before, self.now
        same = was is None or (was.kernel, was.scope) == (now.kernel, now.scope)
        return None if same else was

    def _placed(self, was: BaselineEntry) -> BaselineEntry:
        now = self.now
        same = replace(was, file=now.file, planned=now.planned, assumed=now.assumed)
        return replace(same, blocks=now.blocks, arch=now.arch)


@dataclass(frozen=True, slots=True)
class SinceBaseline:
    """What became of each kernel, in their order, and what of the baseline is `missing`."""

    rows: tuple[BaselineChange, ...]
    missing: tuple[BaselineEntry, ...]


def changes(
    now: Sequence[BaselineEntry],
    before: Sequence[BaselineEntry],
    asked: Callable[[str], bool] = lambda file: True,
) -> SinceBaseline:
    """Each kernel held against the one of the baseline that it is.

    A kernel of the baseline is missing if its file was read and does not have it, or if `asked`
    says that its file should have been. A scope that a kernel did not have took no bytes before.
    """
    found = matched(now, before, lambda one: asked(one.file))
    kernels = {
        (one.file, one.kernel) for one, place in zip(now, found, strict=True) if place is not None
    }
    rows = []
    for one, place in zip(now, found, strict=True):
        then = None if place is None else before[place]
        if then is None and (one.file, one.kernel) in kernels:
            then = BaselineEntry(one.file, one.kernel, one.scope, 0, SOUND)
        rows.append(BaselineChange(one, then))
    read = {one.file for one in now} | {before[place].file for place in found if place is not None}
    gone = (before[place] for place in unmatched(found, before))
    missing = tuple(one for one in gone if one.file in read or asked(one.file))
    return SinceBaseline(tuple(rows), missing)


def _regressions(now: BaselineEntry, before: BaselineEntry | None) -> Iterator[Regression]:
    """What is worse; a kernel that is not in the baseline has no bytes to be compared."""
    if before is not None and _may_be_larger(now, before):
        yield Regression(FindingKind.LARGER, f"{before.size.removesuffix(' bytes')} -> {now.size}")
    then = before.verdict if before is not None else SOUND
    if before is not None and before.planned and not now.planned:
        yield Regression(FindingKind.WORSE, f"{then.value} -> no plan")
    elif _RANK[now.verdict] > _RANK[then]:
        was = then.value if before is not None else "new"
        yield Regression(FindingKind.WORSE, f"{was} -> {now.verdict}")
    known = before.faults if before is not None else frozenset()
    for fault in sorted(now.faults - known):
        yield Regression(FindingKind.NEW, fault)
    if before is not None:
        yield from _weaker(now, before)


def _weaker(now: BaselineEntry, before: BaselineEntry) -> Iterator[Regression]:
    """What is worse where neither bytes nor verdict tell it."""
    if now.verdict is before.verdict is SOUND and before.planned and before.assumed is not None:
        more = sorted((now.assumed or frozenset()) - before.assumed)
        if more:
            yield Regression(FindingKind.ASSUMED, "; ".join(more))
    blocks = (before.blocks, now.blocks) if before.arch == now.arch else (None, None)
    if blocks[0] is not None and blocks[1] is not None and blocks[1] < blocks[0]:
        fewer = f"{blocks[0]} -> {blocks[1]} blocks per SM by shared memory, threads and barriers"
        yield Regression(FindingKind.FEWER, fewer)


def _may_be_larger(now: BaselineEntry, before: BaselineEntry) -> bool:
    """Whether it takes more bytes, or may for some size that is not known."""
    return may_exceed(now.symbolic, before.symbolic) or now.arena_bytes > before.arena_bytes
