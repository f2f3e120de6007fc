"""What it takes that kernels fit into a number of bytes for each block, for people and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from smemreuse.report.data import Data
from smemreuse.report.headroom import MOST_LIVE
from smemreuse.report.titles import counted
from smemreuse.results.serialized import picked


@dataclass(frozen=True)
class FitStep:
    """A change, and the bytes of a block with it and those before it."""

    kind: str
    buffers: tuple[str, ...]
    condition: str
    bytes: int


@dataclass(frozen=True)
class Fit:
    """One kernel's buffers of one scope: the bytes that each block takes, and what would have to
    change. Where nothing is known to be enough, `peak` are the buffers that are live together at
    `at`, `least` the changes with which it gets as small as is known, and `apart` the buffers of
    which no two may share even then.
    """

    file: str
    name: str
    scope: str
    limit: int
    bytes: int | None
    steps: tuple[FitStep, ...]
    peak: tuple[tuple[str, int], ...]
    at: str
    why: str
    least: tuple[FitStep, ...] = ()
    apart: tuple[tuple[str, int], ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it fits as it is."""
        return self.bytes is not None and self.bytes <= self.limit

    @property
    def after(self) -> int | None:
        """The bytes of a block with all changes."""
        return self.steps[-1].bytes if self.steps else self.bytes

    @property
    def least_bytes(self) -> int | None:
        """The fewest bytes that are known to be reached."""
        return self.least[-1].bytes if self.least else self.after


FEW = 4
"""Kernels of which also those that fit get a line."""


def fit_lines(found: Sequence[Fit]) -> Iterator[Text]:
    """A line for each kernel that does not fit, and one for each change; then the counts."""
    for one in found:
        if not one.fits or len(found) <= FEW:
            yield from _lines(one)
    fitting = sum(one.fits for one in found)
    changed = sum(bool(one.steps) for one in found)
    limit = f"at most {found[0].limit:,} bytes a block" if found else ""
    rest = len(found) - fitting - changed
    counts = {
        f"fit{'s' * (fitting == 1)} with the layout of smemreuse": fitting,
        f"fit{'s' * (changed == 1)} with the changes above": changed,
        f"do{'es' * (rest == 1)} not fit with any change that is known": rest,
    }
    if found:
        parts = [f"{number:,} {how}" for how, number in counts.items() if number]
        yield Text(f"{counted(len(found), 'kernel')}, {limit}: {', '.join(parts)}")


def _lines(one: Fit) -> Iterator[Text]:
    name = f"{one.file}: {one.name} ({one.scope})"
    if one.bytes is None:
        yield Text(f"{name} takes a size that only the launch knows", style="bold")
    elif one.fits:
        yield Text(f"{name} takes {one.bytes:,} bytes, {one.limit - one.bytes:,} left")
    else:
        over = f"{one.bytes - one.limit:,} more than {one.limit:,}"
        yield Text(f"{name} takes {one.bytes:,} bytes, {over}", style="bold")
    if one.why:
        yield Text(f"  {_least_words(one)}")
    for number, step in enumerate(one.steps or one.least, 1):
        yield Text(f"  {number}. {step.bytes:,} bytes {step.condition}")


def _least_words(one: Fit) -> str:
    """How small it gets, and what that hangs on."""
    least = one.least_bytes
    if least is None:
        return one.why
    over = f"{least:,} bytes, {least - one.limit:,} too many"
    if one.least:
        some = len(one.least) > 1
        changes = f"the {len(one.least)} changes below" if some else "the change below"
        buffers = f": no two of {_listed(one.apart)} can share bytes" if one.apart else ""
        if len(one.apart) == 1:
            buffers = f": {one.apart[0][0]} alone takes {one.apart[0][1]:,}"
        return f"with {changes}, the least that is known, it takes {over}{buffers}"
    live = f": at {one.at} {_listed(one.peak)} are live together" if len(one.peak) > 1 else ""
    if len(one.peak) == 1:
        live = f": {_listed(one.peak)} alone is live at {one.at}"
    return f"no change that smemreuse knows lowers it{live}"


def _listed(buffers: Sequence[tuple[str, int]]) -> str:
    """Buffers and their bytes."""
    listed = ", ".join(f"{name} ({size:,})" for name, size in buffers[:MOST_LIVE])
    rest = len(buffers) - MOST_LIVE
    return f"{listed} and {rest} more" if rest > 0 else listed


def fit_data(one: Fit) -> Data:
    """One of the `kernels` of `smemreuse.fit/1`."""
    return {
        **picked(one, "file name scope bytes fits after"),
        "steps": [picked(step, "kind buffers condition bytes") for step in one.steps],
        "peak": [{"name": name, "bytes": size} for name, size in one.peak],
        "at": one.at or None,
        "why": one.why or None,
        "least": [picked(step, "kind buffers condition bytes") for step in one.least],
        "apart": [{"name": name, "bytes": size} for name, size in one.apart],
    }
