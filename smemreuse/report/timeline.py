"""Program order as pictures need it: one axis for all policies, with loops and barriers on it.

The axis is the linear sequence under policy inner, which has an entry for everything that any
policy records a touch on; live ranges of other sequences are carried over by their statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.program_points import program_points
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    While,
    nested_blocks,
    unique_names,
    walk_statements,
)
from smemreuse.policies.attribution import inner
from smemreuse.results.sequence import LiveRange, Plan, StmtEntry
from smemreuse.semantics.intrinsics import WAIT_PARITY, WAITS, evaluated_call

Range = tuple[int, int]
"""Positions on the axis, half-open."""

_BARRIER = "tvm_storage_sync"


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
class Mark:
    """A statement between two entries: a barrier of all threads, or a wait."""

    kind: str  # "barrier" or "wait"
    position: int
    stmt: Stmt


class Timeline:
    """One kernel and storage scope along its program order."""

    def __init__(self, kernel: Kernel, scope: str):
        self.names = unique_names(kernel.allocations(scope))
        entries = linearize(kernel, scope, inner).entries
        self._points = program_points(kernel.body, entries)
        self.steps = tuple(_steps(entries))
        self.bands = tuple(self._bands(kernel.body, 0))
        self.marks = tuple(self._marks(kernel.body))

    @property
    def length(self) -> int:
        return len(self.steps)

    def ranges(self, plan: Plan) -> dict[Buffer, Range]:
        """Where on this axis the buffers of a plan are live, in program order."""
        live = {buffer: plan.live[buffer] for buffer in plan.buffers if buffer in plan.live}
        return self.carried_over(plan.entries, live)

    def carried_over(
        self, entries: Sequence[StmtEntry], live: Mapping[Buffer, LiveRange]
    ) -> dict[Buffer, Range]:
        """Live ranges, in positions of another sequence of the same kernel, on this axis."""
        return {
            buffer: (self._begin(entries[found.gen]), self._end(entries[found.kill]))
            for buffer, found in live.items()
        }

    def _begin(self, entry: StmtEntry) -> int:
        if entry.scope_pair_offset < 0:
            return self._points.end[entry.stmt] - 1
        return self._points.begin[entry.stmt]

    def _end(self, entry: StmtEntry) -> int:
        begins_scope = entry.scope_pair_offset > 0
        return self._points.begin[entry.stmt] + 1 if begins_scope else self._points.end[entry.stmt]

    def _bands(self, block: Block, depth: int) -> Iterator[Band]:
        for stmt in block:
            kind = _band_kind(stmt)
            begin, end = self._points.begin[stmt], self._points.end[stmt]
            if kind is not None and begin < end:
                yield Band(kind, begin, end, depth, stmt)
            for nested in nested_blocks(stmt):
                yield from self._bands(nested, depth + (kind is not None))

    def _marks(self, block: Block) -> Iterator[Mark]:
        for stmt in walk_statements(block):
            call = evaluated_call(stmt)
            if call is not None and call.op == _BARRIER:
                yield Mark("barrier", self._points.begin[stmt], stmt)
            elif call is not None and (call.op in WAITS or call.op == WAIT_PARITY):
                yield Mark("wait", self._points.begin[stmt], stmt)


def _band_kind(stmt: Stmt) -> str | None:
    if isinstance(stmt, (For, While)):
        return "loop"
    return "branch" if isinstance(stmt, If) else None


def _steps(entries: Sequence[StmtEntry]) -> Iterator[Step]:
    depth = 0
    for position, entry in enumerate(entries):
        is_end = entry.scope_pair_offset < 0
        depth -= is_end
        yield Step(position, depth, entry.stmt, is_end, _accesses(entry))
        depth += entry.scope_pair_offset > 0


def _accesses(entry: StmtEntry) -> dict[Buffer, Access]:
    """What an entry touches; reads and writes of one buffer together are a read-write."""
    found: dict[Buffer, Access] = {}
    for touch in entry.touched:
        before = found.get(touch.buffer, touch.access)
        found[touch.buffer] = touch.access if before is touch.access else Access.READ_WRITE
    return found
