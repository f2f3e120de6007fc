"""What is worse than in a baseline: bytes, verdicts and violations of one kernel's plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from smemreuse.results.findings import FindingKind
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, VerdictKind

DOES_NOT_FIT = "a block does not fit"

_RANK = {SOUND: 0, UNPROVED: 1, UNSOUND: 2}


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """How a kernel and scope stands: the bytes of its plan, the verdict, and what is wrong.

    `faults` are the same from run to run: they name no lines.
    """

    file: str
    kernel: str
    scope: str
    arena_bytes: int
    verdict: VerdictKind
    faults: frozenset[str] = frozenset()


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
        return self.before is None or replace(self.before, file=self.now.file) != self.now


def changes(now: Sequence[BaselineEntry], before: Sequence[BaselineEntry]) -> list[BaselineChange]:
    """Each kernel held against the one of the baseline that it is."""
    found = matched(now, before)
    return [BaselineChange(one, then) for one, then in zip(now, found, strict=True)]


def _regressions(now: BaselineEntry, before: BaselineEntry | None) -> Iterator[Regression]:
    """What is worse; a kernel that is not in the baseline has no bytes to be compared."""
    if before is not None and now.arena_bytes > before.arena_bytes:
        change = f"{before.arena_bytes:,} -> {now.arena_bytes:,} bytes"
        yield Regression(FindingKind.LARGER, change)
    then = before.verdict if before is not None else SOUND
    if _RANK[now.verdict] > _RANK[then]:
        was = then.value if before is not None else "new"
        yield Regression(FindingKind.WORSE, f"{was} -> {now.verdict}")
    known = before.faults if before is not None else frozenset()
    for fault in sorted(now.faults - known):
        yield Regression(FindingKind.NEW, fault)


def matched(
    now: Sequence[BaselineEntry], before: Sequence[BaselineEntry]
) -> list[BaselineEntry | None]:
    """For each kernel the one of the baseline that it is, if any.

    It is that of its file; else that of a file of the same name elsewhere; else the only one of its
    name that is left, for files may be named anew. Several of one name in one file go by their
    order.
    """
    found: list[BaselineEntry | None] = [None] * len(now)
    free = dict(enumerate(before))
    keys: tuple[Callable[[BaselineEntry], Hashable], ...] = (
        lambda one: (one.file, one.kernel, one.scope),
        lambda one: (PurePath(one.file).name, one.kernel, one.scope),
    )
    for key in keys:
        waiting = defaultdict(list)
        for place, one in free.items():
            waiting[key(one)].append(place)
        for index, one in enumerate(now):
            if found[index] is None and waiting[key(one)]:
                found[index] = free.pop(waiting[key(one)].pop(0))
    _match_single(now, found, free)
    return found


def _match_single(
    now: Sequence[BaselineEntry], found: list[BaselineEntry | None], free: dict[int, BaselineEntry]
) -> None:
    """Those that are the only ones of their name left on both sides."""
    left, right = defaultdict(list), defaultdict(list)
    for index, one in enumerate(now):
        if found[index] is None:
            left[one.kernel, one.scope].append(index)
    for one in free.values():
        right[one.kernel, one.scope].append(one)
    for name, indices in left.items():
        if len(indices) == len(right[name]) == 1:
            found[indices[0]] = right[name][0]
