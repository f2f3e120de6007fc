"""The dataflow policy: inner's precision where it is proved, outer's caution where it is not.

Live ranges begin as those of inner's gen and kill points, and grow by these clauses; pairs of
buffers conflict beyond them. Each is named for the rule that it carries out.

- F1 A buffer whose address is kept in memory, or that is handed to an operation which is not
  covered by the table of effects, is live in the whole kernel.
- F2 A buffer that is not private to a loop's iterations is live throughout the loop, if that makes
  it meet another one (rules 2 and 3). Once for each loop is enough: a range grows by loops that its
  buffer is used in, and so over all of any other loop or none, where it meets the same as before.
- F4 Buffers of two arms that threads take at the same time conflict; so do those of two branches
  one after the other, if one waits for an mbarrier and no barrier stands between them.
- F5 An asynchronous access keeps its buffer live until the last wait that retires it, throughout
  every loop that carries it, and to the end if nothing surely retires it.
- F6 Buffers that part of a warp uses alone conflict: no barrier is possible between their uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from smemreuse.analysis.accessed import Buffers, accessed_within
from smemreuse.analysis.async_lifetimes import async_lifetimes
from smemreuse.analysis.divergence import divergence
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.analysis.privatization import is_private
from smemreuse.analysis.program_points import program_points
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
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.semantics.table import is_block_barrier, waits_for_phase
from smemreuse.semantics.undeclared import declare_it

Pair = frozenset[Buffer]


@dataclass(frozen=True)
class Reason:
    """Why a buffer is live beyond its touches, or two buffers conflict: the rule, and where."""

    rule: Rule
    text: str
    stmt: Stmt | None = None


@dataclass(frozen=True)
class Widening:
    """Why a buffer is live longer, and the positions that this added before and after."""

    reason: Reason
    added: tuple[LiveRange, ...]

    def meets(self, other: LiveRange) -> bool:
        return any(part.overlaps(other) for part in self.added)


@dataclass(frozen=True)
class Dataflow:
    """Live ranges on inner's sequence, the reasons that widened each, and additional conflicts."""

    sequence: Linearization
    live: Mapping[Buffer, LiveRange]
    widened: Mapping[Buffer, tuple[Widening, ...]]
    concurrent: Mapping[Pair, Reason]


def dataflow(kernel: Kernel, scope: str) -> Dataflow:
    """Analyses one kernel and storage scope."""
    return facts_of(kernel).ask(dataflow_ranges, scope)


def dataflow_ranges(facts: KernelFacts, scope: str) -> Dataflow:
    """Computes the answer of `dataflow`, which remembers it."""
    grown = _Growing(facts, facts.ask(_inner_sequence, scope))
    grown.while_in_flight()
    conflicts = facts.ask(_conflicts)
    concurrent = {pair: why for pair, why in conflicts.items() if pair <= grown.live.keys()}
    grown.where_unknown()
    grown.over_loops()
    widened = {buffer: tuple(found) for buffer, found in grown.widened.items()}
    return Dataflow(grown.sequence, grown.live, widened, concurrent)


def _inner_sequence(facts: KernelFacts, scope: str) -> Linearization:
    return linearize(facts.kernel, scope, inner)


class _Growing:
    """The live ranges of one storage scope, and the clauses F1, F2 and F5 that widen them."""

    def __init__(self, facts: KernelFacts, sequence: Linearization):
        self.sequence = sequence
        self.live = live_ranges(sequence.entries)
        self.widened: dict[Buffer, list[Widening]] = {buffer: [] for buffer in self.live}
        self._facts = facts
        self._end = len(sequence.entries)
        self._spans = {
            entry.stmt: (position, position + entry.scope_pair_offset + 1)
            for position, entry in enumerate(sequence.entries)
            if entry.scope_pair_offset > 0
        }

    def _grow(self, buffer: Buffer, begin: int, end: int, reason: Reason) -> None:
        """Widens the live range of a buffer to include positions `begin` to `end`, and records the
        reason.
        """
        live = self.live[buffer]
        wider = LiveRange(buffer, min(live.begin, begin), max(live.end, end))
        if wider != live:
            self.live[buffer] = wider
            before = LiveRange(buffer, wider.begin, live.begin)
            after = LiveRange(buffer, live.end, wider.end)
            added = tuple(part for part in (before, after) if part.begin < part.end)
            self.widened[buffer].append(Widening(reason, added))

    def where_unknown(self) -> None:
        """Makes buffers live everywhere that have uncovered accesses or an address kept in memory
        (F1).
        """
        kept = "its address is stored in memory, where it cannot be followed"
        unknown = {
            access.buffer: Reason(Rule.EVERY_ACCESS, access.uncovered, stmt)
            for stmt, found in self._facts.accesses.items()
            for access in found
            if access.uncovered
        }
        unknown |= dict.fromkeys(self._facts.pointers.kept, Reason(Rule.EVERY_ACCESS, kept))
        for buffer, reason in unknown.items():
            if buffer in self.live:
                self._grow(buffer, 0, self._end, reason)

    def while_in_flight(self) -> None:
        """Keeps buffers live until their asynchronous accesses are waited for (F5)."""
        found = self._facts.ask(async_lifetimes)
        ends = program_points(self._facts.kernel.body, self.sequence.entries).end
        for buffer, waits in found.retired_by.items():
            if buffer in self.live:
                until = max(ends[wait] for wait in waits)
                text = "an asynchronous access is waited for only later"
                reason = self._because(Rule.IN_FLIGHT, buffer, text, waits[-1])
                self._grow(buffer, self.live[buffer].begin, until, reason)
        carried = [each for each in found.carried if each[0] in self._spans]
        carried.sort(key=lambda each: self._spans[each[0]])  # outermost first, which settles it
        for loop, buffer in carried:
            if buffer in self.live:
                text = "an asynchronous access may outlast the iteration"
                reason = self._because(Rule.IN_FLIGHT, buffer, text, loop)
                self._grow(buffer, *self._spans[loop], reason)
        for buffer in found.never_retired & self.live.keys():
            text = "an asynchronous access is never surely waited for"
            reason = self._because(Rule.IN_FLIGHT, buffer, text)
            self._grow(buffer, self.live[buffer].begin, self._end, reason)

    def _because(self, rule: Rule, buffer: Buffer, text: str, stmt: Stmt | None = None) -> Reason:
        """What `text` says of a statement; but for a buffer that a device function is handed that
        nobody knows, that it is to be declared: until then nothing else would help."""
        call = self._facts.undeclared.get(buffer)
        if call is None:
            return Reason(rule, text, stmt)
        return Reason(rule, f"{declare_it([call])}; it is called", call)

    def over_loops(self) -> None:
        """Keeps a buffer live through each loop that may carry its contents between rounds (F2)."""
        loops = [
            stmt
            for stmt in walk_statements(self._facts.kernel.body)
            if isinstance(stmt, (For, While)) and stmt in self._spans and not _runs_once(stmt)
        ]
        for loop in reversed(loops):
            begin, end = self._spans[loop]
            for buffer in self._touched_in(begin, end):
                if self._matters(buffer, begin, end):
                    if not self._facts.ask(is_private, loop, buffer):
                        text = "its bytes may be carried from one iteration to the next"
                        reason = self._because(Rule.LOOP_CARRIED, buffer, text, loop)
                        self._grow(buffer, begin, end, reason)

    def _touched_in(self, begin: int, end: int) -> list[Buffer]:
        entries = self.sequence.entries[begin:end]
        return list(dict.fromkeys(touch.buffer for entry in entries for touch in entry.touched))

    def _matters(self, buffer: Buffer, begin: int, end: int) -> bool:
        """Whether living through the whole loop would make the buffer overlap one that it does not
        now.
        """
        live = self.live[buffer]
        wider = LiveRange(buffer, min(live.begin, begin), max(live.end, end))
        return wider != live and any(
            wider.overlaps(other) and not live.overlaps(other)
            for other in self.live.values()
            if other.buffer is not buffer
        )


def _conflicts(facts: KernelFacts) -> Mapping[Pair, Reason]:
    """Pairs of buffers, of any scope, that conflict by F4 and F6."""
    return dict(_Conflicts(facts).within(facts.kernel.body))


class _Conflicts:
    """The pairs of buffers that conflict though their live ranges do not overlap: clauses F4 and
    F6.
    """

    def __init__(self, facts: KernelFacts):
        self._flow = facts.ask(divergence)
        self._within = facts.ask(accessed_within)

    def within(self, block: Block) -> Iterator[tuple[Pair, Reason]]:
        """The conflicts that a block and its nested blocks cause, each with its reason."""
        yield from self._consecutive_branches(block)
        for stmt in block:
            if isinstance(stmt, If) and stmt.orelse and self._flow.is_divergent(stmt):
                yield from self._pairs(stmt, stmt.then, stmt.orelse)  # F4
            for part in self._flow.parts_of_warps(stmt):
                yield from self._unseparable(stmt, part)
            for inner_block in nested_blocks(stmt):
                yield from self.within(inner_block)

    def _consecutive_branches(self, block: Block) -> Iterator[tuple[Pair, Reason]]:
        """F4: `if tx < 128: ...` and later `if 128 <= tx: ...`: no thread waits in between.

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
        """Pairs of buffers used where part of a warp may be alone, so that no barrier fits (F6)."""
        reason = Reason(Rule.BARRIER, "used where not all threads can meet at a barrier", stmt)
        for pair in combinations(self._buffers(block), 2):
            yield frozenset(pair), reason

    def _pairs(self, stmt: If, one_arm: Block, other_arm: Block) -> Iterator[tuple[Pair, Reason]]:
        """Pairs of one buffer from each of two arms that threads of a block take at the same time
        (F4).
        """
        reason = Reason(
            Rule.DIVERGENT_ARMS, "in branches that threads of one block take at the same time", stmt
        )
        for one in self._buffers(one_arm):
            for two in self._buffers(other_arm):
                if one is not two:
                    yield frozenset((one, two)), reason

    def _buffers(self, block: Block) -> Buffers:
        return frozenset().union(*(self._within[stmt] for stmt in block))


def _runs_once(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.extent in (Const(0), Const(1))
