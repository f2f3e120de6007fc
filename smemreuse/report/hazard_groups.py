"""Hazards of many kernels on one page: those of one cause together, with their kernels."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from rich.text import Text

from smemreuse.errors import printable
from smemreuse.report.hazard_counts import common_stage
from smemreuse.report.hazards import Linted, stage_words
from smemreuse.report.titles import counted
from smemreuse.results.evidence import seen_words, severity
from smemreuse.results.gate import Gate
from smemreuse.results.hazard_groups import shape_of
from smemreuse.results.hazards import (
    Hazard,
    HazardKind,
    HazardOrigin,
    condition_words,
    doubt_words,
    sure_words,
)
from smemreuse.results.symptoms import symptom_of_kind
from smemreuse.results.verdict import unfollowed_words
from smemreuse.results.words import to_be_declared, without_lines

MOST_NAMED = 4
"""Buffers and loops of a cause that are named."""

MOST_CAUSES = 6
"""Causes of one kind that are told; JSON has all hazards."""

MOST_NAMES = 8
"""Names of kernels in a folder that are listed for hazards that do not fail."""


@dataclass(frozen=True)
class _Heading:
    """What the hazards of one part of the page have in common; those that fail come first.

    `if_long` tells that they are certain only if a loop is long enough, `if_given` for some inputs.
    """

    fails: bool
    certain: bool
    if_long: bool
    if_given: bool
    kind: HazardKind
    origin: HazardOrigin

    @classmethod
    def of(cls, hazard: Hazard, gate: Gate) -> _Heading:
        long, given = bool(hazard.if_long), bool(hazard.if_given)
        return cls(gate.stops(hazard), hazard.certain, long, given, hazard.kind, hazard.origin)

    def order(self, grave: float) -> tuple[bool, bool, float, bool, bool, int]:
        """What it is sorted by, where hardware broke such a share of kernels."""
        kind = [*HazardKind].index(self.kind)
        return not self.fails, not self.certain, -grave, self.if_given, self.if_long, kind


@dataclass
class _Cause:
    """Hazards of one shape: how many, of which buffers, in which kernels, and the first of them.

    `loops` have to be long enough, where that decides, or `inputs` be so; `seen` is what hardware
    did with the certain ones, and `grave` the largest share of kernels that broke there; `doubts`
    say when possible ones are none.
    """

    shape: str
    buffers: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    loops: Counter[str] = field(default_factory=Counter)
    inputs: Counter[str] = field(default_factory=Counter)
    seen: dict[str, None] = field(default_factory=dict)
    doubts: dict[str, None] = field(default_factory=dict)
    grave: float = 0.0
    first: tuple[str, Hazard, str] = field(init=False)

    def add(self, kernel: str, hazard: Hazard, finding: str) -> None:
        if not self.kernels:
            self.first = (kernel, hazard, finding)
        self.kernels[kernel] += 1
        self.buffers.update(hazard.buffers)
        self.loops.update(filter(None, [" and ".join(hazard.if_long)]))
        self.inputs.update(filter(None, [" and ".join(map(str, hazard.if_given))]))
        if hazard.certain:
            self.seen[seen_words(hazard)] = None
            self.grave = max(self.grave, severity(hazard))
        else:
            self.doubts[doubt_words(hazard.kind, hazard.contention)] = None

    @property
    def count(self) -> int:
        return self.kernels.total()


def grouped_lines(found: Sequence[Linted], gate: Gate) -> Iterator[Text]:
    """The new hazards of many kernels by their cause, and what could not be followed."""
    telling = [one for one in found if one.hazards or one.unknown]
    if not telling:
        return
    names = _names(telling)
    # Where it is one for all kernels, the line above has told it.
    stages = {} if common_stage(found) else Counter(stage_words(one.report) for one in telling)
    for stage, count in stages.items():
        yield Text(f"{counted(count, 'kernel')} {stage}")
    parts: dict[_Heading, dict[str, _Cause]] = defaultdict(dict)
    for one, name in zip(telling, names, strict=True):
        for hazard, identity in one.open_hazards:
            causes = parts[_Heading.of(hazard, gate)]
            shape = shape_of(hazard)
            causes.setdefault(shape, _Cause(shape)).add(name, hazard, identity.short)
    graves = {heading: max(one.grave for one in parts[heading].values()) for heading in parts}
    for heading in sorted(parts, key=lambda one: one.order(graves[one])):
        yield from _part_lines(heading, [*parts[heading].values()])
    yield from _undeclared_lines(telling, names)
    yield from _unknown_lines(telling, names)
    yield Text("one file in full: smemreuse lint FILE; all hazards: --format json", style="dim")


def _part_lines(heading: _Heading, causes: list[_Cause]) -> Iterator[Text]:
    total = sum(one.count for one in causes)
    kernels = {name: None for one in causes for name in one.kernels}
    loops = sum((one.loops for one in causes), Counter[str]())
    inputs = sum((one.inputs for one in causes), Counter[str]())
    condition = condition_words(_most(loops, " or "), _most(inputs, " or "))
    sure = sure_words(heading.origin, certain=heading.certain, condition=condition)
    fails = "; exit code 1" if heading.fails else ""
    symptom = symptom_of_kind(heading.kind, certain=heading.certain)
    head = f"{symptom}: {heading.kind} ({sure}{fails}): "
    line = Text(head, "bold red" if heading.fails else "bold")
    line.append(f"{total:,} in {counted(len(kernels), 'kernel')}", "default")
    if not heading.fails:
        buffers = sum((one.buffers for one in causes), Counter[str]())
        yield line.append(f"{_of(buffers)}: {_listed([*kernels], MOST_NAMES)}", "default")
        for doubt in dict.fromkeys(words for one in causes for words in one.doubts):
            yield Text(f"  {doubt}", style="dim")
        return
    yield line.append(f". {heading.kind.sentence}.", "default")
    for seen in dict.fromkeys(words for one in causes for words in one.seen):
        yield Text(f"  {seen}", style="dim")
    causes.sort(key=lambda one: (-one.count, one.shape))
    for cause in causes[:MOST_CAUSES]:
        yield from _cause_lines(cause)
    rest = causes[MOST_CAUSES:]
    if rest:
        left = {name: None for one in rest for name in one.kernels}
        more = sum(one.count for one in rest)
        yield Text(f"  {more:,} of {counted(len(rest), 'more shape')}: {_listed([*left])}")


def _cause_lines(cause: _Cause) -> Iterator[Text]:
    what = f"{cause.count:,} {cause.shape}{_of(cause.buffers)}"
    yield Text(f"  {what}: {_listed([*cause.kernels])}")
    _, hazard, finding = cause.first
    yield Text(f"    fix, in the first [{finding}]: {hazard.mend.sentence}", style="dim")


def _of(buffers: Counter[str]) -> str:
    return f", of {_most(buffers)}" if buffers else ""


def _most(names: Counter[str], between: str = ", ") -> str:
    """The names that occur most often, and how many others there are."""
    told = [name for name, _ in names.most_common(MOST_NAMED)]
    more = len(names) - len(told)
    return between.join([*told, f"{more} more"] if more else told)


def _undeclared_lines(found: Sequence[Linted], names: Sequence[str]) -> Iterator[Text]:
    """What of the above there is only because nobody knows what a device function does."""
    hazards: dict[str, Counter[str]] = defaultdict(Counter)
    for one, name in zip(found, names, strict=True):
        for function in filter(None, (hazard.mend.undeclared for hazard in one.hazards)):
            hazards[function][name] += 1
    for function, kernels in sorted(hazards.items(), key=lambda one: -one[1].total()):
        line = Text(f"{to_be_declared(function)}; ", "bold")
        count = f"{kernels.total():,} of these in {counted(len(kernels), 'kernel')}"
        yield line.append(f"{count}: {_listed([*kernels], MOST_NAMES)}", "default")


def _unknown_lines(found: Sequence[Linted], names: Sequence[str]) -> Iterator[Text]:
    reasons: dict[str, dict[str, None]] = defaultdict(dict)
    for one, name in zip(found, names, strict=True):
        for reason in one.unknown:
            reasons[without_lines(reason)][name] = None
    if reasons:
        kernels = {name for listed in reasons.values() for name in listed}
        yield Text(f"not followed: {counted(len(kernels), 'kernel')}", style="bold")
    for reason, listed in sorted(reasons.items(), key=lambda one: -len(one[1])):
        yield Text(f"  {len(listed):,} {unfollowed_words(reason)}: {_listed([*listed])}")


# Names of kernels --------------------------------------------------------------------------------


def _names(found: Sequence[Linted]) -> list[str]:
    """Each kernel by its file, without what all files have in common, and by its own name where
    the file has several."""
    files = {one.file for one in found}
    kernels = Counter(file for file, _ in {(one.file, one.report.kernel) for one in found})
    parents = {str(PurePath(file).parent) for file in files}
    common = os.path.commonpath(parents) if _have_one_root(parents) else ""
    endings = {PurePath(file).suffix for file in files}
    names = []
    for one in found:
        path = PurePath(one.file)
        short = path.relative_to(common) if common else path
        name = str(short.with_suffix("") if len(endings) == 1 else short)
        more = f":{one.report.kernel}" if kernels[one.file] > 1 else ""
        names.append(printable(name) + more)
    return names


def _have_one_root(parents: set[str]) -> bool:
    return len({PurePath(one).is_absolute() for one in parents}) == 1


def _listed(names: Sequence[str], most: int | None = None) -> str:
    """The names, with what several begin with said once: `sm_90a/ gemm__main__{1,2}, mla__main`.

    Of more than `most` such the others are counted.
    """
    ends: dict[str, dict[str, list[str]]] = {}
    for name in names:
        folder, slash, rest = name.rpartition("/")
        head, mark, tail = rest.rpartition("_")
        beginning, end = (head + mark, tail) if head else (rest, "")
        ends.setdefault(folder + slash, {}).setdefault(beginning, []).append(end)
    listed, left = [], 0
    for folder, heads in ends.items():
        told = [
            f"{head}{tails[0]}" if len(tails) == 1 else f"{head}{{{','.join(tails)}}}"
            for head, tails in heads.items()
        ][:most]
        left += sum(len(tails) for tails in [*heads.values()][len(told) :])
        listed.append(f"{folder} {', '.join(told)}".strip())
    return "; ".join([*listed, f"and {left:,} more"] if left else listed)
