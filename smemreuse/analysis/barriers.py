"""Where a plan needs barriers that the kernel does not have (rule 6).

Two buffers that share bytes are separated in time only by the block's threads meeting in between.
A state is the set of buffers that may have been accessed since the threads last met, as Triton's
`Membar` has its intervals; it is ordered by inclusion and joined by union.

- B1 *Meeting.* After a barrier of the whole block nothing has been accessed.
- B2 *Access.* A statement adds the buffers that it accesses.
- B3 *Wait.* A wait adds every buffer that something asynchronous accesses: a copy in flight may
  land as late as that.
- B4 *Parts of the block.* Some threads may reach what is in a divergent branch, in a `while`, in a
  loop that threads count differently, or where threads jump, without the others. No barrier can
  stand there, and one that does is not relied on: the statement is one step that accesses all.
- B5 *Collision.* The threads must meet before a statement that accesses bytes of a buffer in the
  state under another name, as far as it does so before its own first barrier. That is remembered:
  no other round of a loop takes it back.
- B6 *Any loop may have no round*, also one whose trip count is a constant.

Whether a kernel with its barriers is sound is for the checker to say, not for this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from smemreuse.analysis.accessed import Buffers, accessed_within
from smemreuse.analysis.divergence import divergence
from smemreuse.analysis.solver import Analysis, Solver
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    While,
    rounds_of,
    walk_statements,
    with_blocks,
)
from smemreuse.semantics.effects import Engine
from smemreuse.semantics.table import BLOCK_BARRIER, is_block_barrier, leaves, returns, waits

_NOTHING: Buffers = frozenset()


def barriers_needed(kernel: Kernel, offsets: Mapping[Buffer, int]) -> set[Stmt]:
    """Statements of `kernel` before which all threads must meet for this plan (bytes) to hold.

    None are found for a kernel whose threads may return early: a barrier could wait for ever.
    """
    found = facts_of(kernel).ask(BarrierFacts)
    if found.threads_return:
        return set()
    placement = _Placement(found, _partners(offsets))
    Solver(placement, keep=False).solve(kernel.body, _NOTHING)
    return placement.needed


def with_barriers(block: Block, before: Iterable[Stmt]) -> Block:
    """The block with a barrier inserted before each of the given statements."""
    wanted = set(before)
    result: list[Stmt] = []
    for stmt in block:
        if stmt in wanted:
            result.append(Evaluate(BLOCK_BARRIER))
        result.append(with_blocks(stmt, partial(with_barriers, before=wanted)))
    return tuple(result)


def _partners(offsets: Mapping[Buffer, int]) -> dict[Buffer, Buffers]:
    """For each buffer, the other buffers whose bytes in the arena overlap with its own."""

    def share(one: Buffer, other: Buffer) -> bool:
        begin = max(offsets[one], offsets[other])
        return begin < min(offsets[one] + (one.size or 0), offsets[other] + (other.size or 0))

    return {
        one: frozenset(other for other in offsets if other is not one and share(one, other))
        for one in offsets
    }


class BarrierFacts:
    """The facts of a kernel that barrier placement needs; they do not depend on the plan."""

    def __init__(self, facts: KernelFacts):
        self._flow = facts.ask(divergence)
        self._within = facts.ask(accessed_within)
        self._exposed: dict[Stmt, Buffers] = {}
        self.threads_return = returns(facts.kernel.body)
        self.accessed = {
            stmt: frozenset(one.buffer for one in found) for stmt, found in facts.accesses.items()
        }
        self.in_flight = frozenset(
            one.buffer
            for found in facts.accesses.values()
            for one in found
            if one.engine is not Engine.THREAD
        )
        self.in_parts = {
            stmt for stmt in walk_statements(facts.kernel.body) if self._is_in_parts(stmt)
        }

    def _is_in_parts(self, stmt: Stmt) -> bool:
        """Whether a statement has parts that some threads may reach without the others (B4)."""
        if isinstance(stmt, If):
            return self._flow.is_divergent(stmt) or leaves(stmt)
        if isinstance(stmt, For):
            return self._flow.depends_on_thread(rounds_of(stmt)) or leaves(stmt)
        return isinstance(stmt, While)

    def exposed(self, stmt: Stmt) -> Buffers:
        """What a statement may access before its own first barrier."""
        if stmt not in self._exposed:
            found = _BeforeMeeting(self)
            end = Solver(found, keep=False).solve((stmt,), _NOTHING).end
            self._exposed[stmt] = found.met_with | (end or _NOTHING)
        return self._exposed[stmt]

    def within(self, stmt: Stmt) -> Buffers:
        """What a statement accesses with all that is in it."""
        return self._within[stmt]


class _Accessed(Analysis[Buffers]):
    """Clauses B4 and B6 of this module, which both analyses of barriers share."""

    def __init__(self, facts: BarrierFacts):
        self._facts = facts

    def join(self, one: Buffers, other: Buffers) -> Buffers:
        return one | other

    def surely_runs(self, loop: For | While) -> bool:
        return False  # B6

    def opaque(self, stmt: Stmt, state: Buffers) -> Buffers | None:
        if stmt not in self._facts.in_parts:
            return None
        return (self.transfer(stmt, state) or _NOTHING) | self._facts.within(stmt)  # B4


class _BeforeMeeting(_Accessed):
    """The buffers that a statement may access before its own first barrier.

    `met_with` collects the buffers that have been accessed when threads reach that first barrier.
    """

    def __init__(self, facts: BarrierFacts):
        super().__init__(facts)
        self.met_with = _NOTHING

    def transfer(self, stmt: Stmt, state: Buffers) -> Buffers | None:
        if is_block_barrier(stmt):
            self.met_with |= state
            return None  # nothing after it comes before it
        return state | self._facts.accessed[stmt]


class _Placement(_Accessed):
    """The buffers accessed since the last barrier under one plan (clauses B1 to B6).

    `needed` collects the statements that need a barrier before them.
    """

    def __init__(self, facts: BarrierFacts, partners: Mapping[Buffer, Buffers]):
        super().__init__(facts)
        self.needed: set[Stmt] = set()
        self._partners = partners

    def transfer(self, stmt: Stmt, state: Buffers) -> Buffers:
        """The buffers accessed since the last barrier, after `stmt`; records `stmt` if it needs a
        barrier.
        """
        if is_block_barrier(stmt):
            return _NOTHING  # B1
        if stmt in self.needed or self._collides(stmt, state):  # B5
            self.needed.add(stmt)
            state = _NOTHING
        if waits(stmt):
            state |= self._facts.in_flight  # B3
        return state | self._facts.accessed[stmt]  # B2

    def _collides(self, stmt: Stmt, state: Buffers) -> bool:
        exposed = self._facts.exposed(stmt)
        return any(self._partners.get(buffer, _NOTHING) & state for buffer in exposed)
