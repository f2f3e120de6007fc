"""The dataflow policy: inner's precision where it is proved, outer's caution where it is not.

Starts from the innermost gen and kill points and adds what the rules ask for: whole loops for
buffers whose bytes may be carried from one iteration to the next (rules 2 and 3), the time until a
wait for asynchronous accesses (rule 5), and conflicts between the arms of a branch that threads of
one block take differently (rule 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from smemreuse.analysis.async_lifetimes import in_flight
from smemreuse.analysis.divergence import ThreadFlow
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.analysis.privatization import Locality
from smemreuse.analysis.program_points import moments
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.policies.attribution import inner
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.semantics.table import is_block_barrier, waits_for_phase

Pair = frozenset[Buffer]


@dataclass(frozen=True)
class Reason:
    """Why a buffer is live beyond its touches, or two buffers conflict: the rule, and where."""

    rule: int
    text: str
    stmt: Stmt | None = None


@dataclass(frozen=True)
class Widening:
    """Why a buffer is live longer, and the positions that this added before and behind."""

    reason: Reason
    added: tuple[LiveRange, ...]

    def meets(self, other: LiveRange) -> bool:
        return any(part.overlaps(other) for part in self.added)


@dataclass(frozen=True)
class Dataflow:
    """Live ranges on inner's sequence, what widened each, and conflicts beyond their overlaps."""

    sequence: Linearization
    live: Mapping[Buffer, LiveRange]
    widened: Mapping[Buffer, tuple[Widening, ...]]
    concurrent: Mapping[Pair, Reason]


def dataflow(kernel: Kernel, scope: str, *, ordered_by_trace: bool = False) -> Dataflow:
    """Analyses one kernel and storage scope.

    With `ordered_by_trace` rules 4 and 5 are left to the checker, which follows mbarriers; a plan
    made that way is nothing without its verdict.
    """
    return facts_of(kernel).ask(dataflow_ranges, scope, ordered_by_trace)


def dataflow_ranges(facts: KernelFacts, scope: str, ordered_by_trace: bool) -> Dataflow:
    """As `dataflow`, worked out anew."""
    return _Analysis(facts, scope).run(ordered_by_trace)


class _Analysis:
    def __init__(self, facts: KernelFacts, scope: str):
        kernel = self._kernel = facts.kernel
        self._sequence = linearize(kernel, scope, inner)
        self._live = live_ranges(self._sequence.entries)
        self._widened: dict[Buffer, list[Widening]] = {buffer: [] for buffer in self._live}
        self._pointers = facts.pointers
        self._flow = ThreadFlow(kernel.body)
        self._accesses = facts.accesses
        self._locality = Locality(kernel.body, self._accesses, self._flow)
        self._proved: dict[tuple[Stmt, Buffer], bool] = {}
        self._spans = {
            entry.stmt: (position, position + entry.scope_pair_offset)
            for position, entry in enumerate(self._sequence.entries)
            if entry.scope_pair_offset > 0
        }

    def run(self, ordered_by_trace: bool) -> Dataflow:
        concurrent: dict[Pair, Reason] = {}
        if not ordered_by_trace:
            self._extend_in_flight()
            concurrent = dict(self._concurrent_pairs(self._kernel.body))
        self._extend_kept()
        self._extend_over_loops()
        widened = {buffer: tuple(found) for buffer, found in self._widened.items()}
        return Dataflow(self._sequence, self._live, widened, concurrent)

    def _extend(self, buffer: Buffer, begin: int, end: int, reason: Reason) -> None:
        live = self._live[buffer]
        wider = LiveRange(buffer, min(live.begin, begin), max(live.end, end))
        if wider != live:
            self._live[buffer] = wider
            before = LiveRange(buffer, wider.begin, live.begin)
            behind = LiveRange(buffer, live.end, wider.end)
            added = tuple(part for part in (before, behind) if part.begin < part.end)
            self._widened[buffer].append(Widening(reason, added))

    # Rule 1 -------------------------------------------------------------------------------------

    def _extend_kept(self) -> None:
        """A buffer whose address is kept in memory may be accessed at any time."""
        reason = Reason(1, "its address is kept in memory, where nobody follows it")
        for buffer in self._pointers.kept:
            if buffer in self._live:
                self._extend(buffer, 0, len(self._sequence.entries), reason)

    # Rule 5 -------------------------------------------------------------------------------------

    def _extend_in_flight(self) -> None:
        found = in_flight(self._kernel.body, self._accesses)
        ends = moments(self._kernel.body, self._sequence.entries).end
        for buffer, waits in found.retired_by.items():
            if buffer in self._live:
                until = max(ends[wait] for wait in waits)
                reason = Reason(5, "an asynchronous access is waited for only later", waits[-1])
                self._extend(buffer, self._live[buffer].begin, until, reason)
        carried = [(stmt, one) for stmt, one in found.carried if stmt in self._spans]
        carried.sort(key=lambda each: self._spans[each[0]])  # outermost first, which settles it
        for stmt, buffer in carried:
            if buffer in self._live:
                self._extend_over(
                    stmt, buffer, "an asynchronous access may outlast the iteration", 5
                )
        for buffer in found.never_retired & self._live.keys():
            reason = Reason(5, "an asynchronous access is never surely waited for")
            self._extend(buffer, self._live[buffer].begin, len(self._sequence.entries), reason)

    # Rules 2 and 3 ------------------------------------------------------------------------------

    def _extend_over_loops(self) -> None:
        """From the innermost loop outwards, so that a buffer carried within an inner loop is seen
        whole by the outer one."""
        loops = [
            stmt
            for stmt in walk_statements(self._kernel.body)
            if isinstance(stmt, (For, While)) and stmt in self._spans and not _runs_once(stmt)
        ]
        before = None
        while before != self._live:  # a buffer that grows may make another one's loops matter
            before = dict(self._live)
            for loop in reversed(loops):
                begin, end = self._spans[loop]
                for buffer in self._touched_in(loop):
                    if self._matters(buffer, begin, end + 1):
                        if not self._is_local(loop, buffer):
                            self._extend_over(loop, buffer, "its bytes may be carried around", 2)

    def _is_local(self, loop: For | While, buffer: Buffer) -> bool:
        known = self._proved.get((loop, buffer))
        if known is None:
            known = self._proved[loop, buffer] = self._locality.is_local(loop, buffer)
        return known

    def _extend_over(self, loop: Stmt, buffer: Buffer, text: str, rule: int) -> None:
        begin, end = self._spans[loop]
        self._extend(buffer, begin, end + 1, Reason(rule, text, loop))

    def _touched_in(self, loop: Stmt) -> list[Buffer]:
        begin, end = self._spans[loop]
        touched = {
            touch.buffer: None
            for entry in self._sequence.entries[begin : end + 1]
            for touch in entry.touched
        }
        return list(touched)

    def _matters(self, buffer: Buffer, begin: int, end: int) -> bool:
        """Whether being live in all of the loop would make the buffer meet one that it does not."""
        live = self._live[buffer]
        wider = LiveRange(buffer, min(live.begin, begin), max(live.end, end))
        return wider != live and any(
            wider.overlaps(other) and not live.overlaps(other)
            for other in self._live.values()
            if other.buffer is not buffer
        )

    # Rule 4 -------------------------------------------------------------------------------------

    def _concurrent_pairs(self, block: Block) -> Iterator[tuple[Pair, Reason]]:
        yield from self._consecutive_branches(block)
        for stmt in block:
            if isinstance(stmt, If) and stmt.orelse and self._flow.is_divergent(stmt):
                yield from self._pairs(stmt, stmt.then, stmt.orelse)
            for part in self._flow.parts_of_warps(stmt):
                yield from self._unseparable(stmt, part)
            for inner_block in nested_blocks(stmt):
                yield from self._concurrent_pairs(inner_block)

    def _consecutive_branches(self, block: Block) -> Iterator[tuple[Pair, Reason]]:
        """`if tx < 128: ...` and later `if 128 <= tx: ...`: nobody waits for the first to end.

        Where such branches wait for one another's mbarriers no later pass can put a barrier of all
        threads between them; elsewhere it can, and does where they share bytes.
        """
        before: list[If] = []
        for stmt in block:
            if is_block_barrier(stmt):
                before = []
            elif isinstance(stmt, If) and self._flow.is_divergent(stmt):
                for other in before:
                    if waits_for_phase((other, stmt)):
                        yield from self._pairs(stmt, (other,), (stmt,))
                before.append(stmt)

    def _unseparable(self, stmt: Stmt, block: Block) -> Iterator[tuple[Pair, Reason]]:
        """Rule 6: among part of a warp no barrier can stand between two statements."""
        reason = Reason(6, "used where no barrier can stand among the threads", stmt)
        for one, two in combinations(self._buffers(block), 2):
            yield frozenset((one, two)), reason

    def _pairs(self, stmt: If, one_arm: Block, other_arm: Block) -> Iterator[tuple[Pair, Reason]]:
        reason = Reason(4, "in arms that threads of one block take at the same time", stmt)
        for one in self._buffers(one_arm):
            for two in self._buffers(other_arm):
                if one is not two:
                    yield frozenset((one, two)), reason

    def _buffers(self, block: Block) -> set[Buffer]:
        return {
            access.buffer
            for stmt in walk_statements(block)
            for access in self._accesses[stmt]
            if access.buffer in self._live
        }


def _runs_once(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.extent in (Const(0), Const(1))
