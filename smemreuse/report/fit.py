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
    change. Where nothing is known to help, `peak` are the buffers that are live together at `at`.
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

    @property
    def fits(self) -> bool:
        """Whether it fits as it is."""
        return self.bytes is not None and self.bytes <= self.limit

    @property
    def after(self) -> int | None:
        """The bytes of a block with all changes."""
        return self.steps[-1].bytes if self.steps else self.bytes


def fit_lines(found: Sequence[Fit]) -> Iterator[Text]:
    """A line for each kernel that does not fit, and one for each change; then the counts."""
    for one in found:
        if not one.fits:
            yield from _lines(one)
    fitting = sum(one.fits for one in found)
    changed = sum(bool(one.steps) for one in found)
    limit = f"at most {found[0].limit:,} bytes a block" if found else ""
    rest = len(found) - fitting - changed
    counts = {
        f"fit{'s' * (fitting == 1)} as smemreuse merges": fitting,
        f"fit{'s' * (changed == 1)} with the changes above": changed,
        f"do{'es' * (rest == 1)} not fit with any change that is known": rest,
    }
    if found:
        parts = [f"{number:,} {how}" for how, number in counts.items() if number]
        yield Text(f"{counted(len(found), 'kernel')}, {limit}: {', '.join(parts)}")


def _lines(one: Fit) -> Iterator[Text]:
    taken = "a size that only the launch knows" if one.bytes is None else f"{one.bytes:,} bytes"
    over = "" if one.bytes is None else f", {one.bytes - one.limit:,} more than {one.limit:,}"
    yield Text(f"{one.file}: {one.name} ({one.scope}) takes {taken}{over}", style="bold")
    for number, step in enumerate(one.steps, 1):
        yield Text(f"  {number}. {step.bytes:,} bytes {step.condition}")
    if one.why:
        peak = ", ".join(f"{name} ({size:,})" for name, size in one.peak[:MOST_LIVE])
        rest = f" and {len(one.peak) - MOST_LIVE} more" if one.peak[MOST_LIVE:] else ""
        live = f"; live together at {one.at}: {peak}{rest}" if one.peak else ""
        yield Text(f"  {one.why}{live}")


def fit_data(one: Fit) -> Data:
    """One of the `kernels` of `smemreuse.fit/1`."""
    return {
        **picked(one, "file name scope bytes fits after"),
        "steps": [picked(step, "kind buffers condition bytes") for step in one.steps],
        "peak": [{"name": name, "bytes": size} for name, size in one.peak],
        "at": one.at or None,
        "why": one.why or None,
    }
