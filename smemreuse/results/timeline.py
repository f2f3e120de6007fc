"""Program order as pictures need it: one axis for all policies, with loops and barriers on it.

The axis is the linear sequence under policy inner, which has an entry for everything that any
policy records a touch on; live ranges of other sequences are carried over by their statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer, Stmt
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import LiveRange, StmtEntry

Span = tuple[int, int]
"""Positions on the axis, half-open."""


@dataclass(frozen=True)
class Step:
    """An entry of the sequence; `depth` counts the scopes around it."""

    position: int
    depth: int
    stmt: Stmt
    is_end: bool
    touches: Mapping[Buffer, Access]


@dataclass(frozen=True)
class Band:
    """A loop or a branch, from `begin` to before `end`; `depth` counts the bands around it."""

    kind: str  # "loop" or "branch"
    begin: int
    end: int
    depth: int
    stmt: Stmt


@dataclass(frozen=True)
class ConcurrentArm:
    """What one group of threads does while another one does something else, from `begin` to before
    `end`; `threads` are they, by their indices in the block, and `depth` counts the arms around
    it."""

    threads: str
    begin: int
    end: int
    depth: int


@dataclass(frozen=True)
class SyncMark:
    """A statement between two entries: a barrier of all threads, one that a later pass will
    or may insert at a statement, or a wait."""

    kind: str  # "barrier", "to come", "may come" or "wait"
    position: int
    stmt: Stmt


@dataclass(frozen=True)
class Peak:
    """The first position at which the most bytes are live, and the buffers that are."""

    position: int
    bytes: int
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Timeline:
    """One kernel and storage scope along its program order.

    `names` has all buffers, in program order. `points` are where each statement begins and is
    over. `arms` are those that groups of threads go through at the same time.
    """

    names: Mapping[Buffer, str]
    steps: tuple[Step, ...]
    bands: tuple[Band, ...]
    marks: tuple[SyncMark, ...]
    points: Mapping[Stmt, Span]
    arms: tuple[ConcurrentArm, ...] = ()

    @property
    def length(self) -> int:
        return len(self.steps)

    def spans(self, plan: Plan) -> dict[Buffer, Span]:
        """Where on this axis the buffers of a plan are live, in program order."""
        live = {buffer: plan.live[buffer] for buffer in plan.buffers if buffer in plan.live}
        return self.carried_over(plan.entries, live)

    def carried_over(
        self, entries: Sequence[StmtEntry], live: Mapping[Buffer, LiveRange]
    ) -> dict[Buffer, Span]:
        """Live ranges, in positions of another sequence of the same kernel, on this axis."""
        return {
            buffer: (self._begin(entries[found.gen]), self._end(entries[found.kill]))
            for buffer, found in live.items()
        }

    def _begin(self, entry: StmtEntry) -> int:
        begin, end = self.points[entry.stmt]
        return end - 1 if entry.scope_pair_offset < 0 else begin

    def _end(self, entry: StmtEntry) -> int:
        begin, end = self.points[entry.stmt]
        return begin + 1 if entry.scope_pair_offset > 0 else end


def peak_of(spans: Mapping[Buffer, Span]) -> Peak:
    """Where on the axis the most bytes are live; symbolic sizes count as none."""
    best = Peak(0, 0, ())
    for position in sorted({begin for begin, _ in spans.values()}):
        live = tuple(one for one, (begin, end) in spans.items() if begin <= position < end)
        total = sum(buffer.size or 0 for buffer in live)
        if total > best.bytes:
            best = Peak(position, total, live)
    return best
