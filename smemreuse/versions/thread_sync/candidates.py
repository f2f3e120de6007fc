"""Where in a kernel there may be a barrier once `ThreadSync` has been there (rule 6).

The pass visits the statements of a branch or loop first, and gives what collides there a barrier of
the threads that reach it. When it visits the scope around, it finds that barrier and takes it for
one that all threads surely meet at: also where the arm is not taken, the loop has no iteration, or
only some threads are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.effects import Effect, Group
from smemreuse.versions.thread_sync.access_entries import AccessEntry
from smemreuse.versions.thread_sync.insertion import Inserted
from smemreuse.versions.thread_sync.once import once

Effects = Callable[[Stmt], Iterable[Effect]]


class BarrierCandidates:
    """The places in one kernel at which there may be a barrier: one of its own or of the pass."""

    def __init__(
        self,
        entries: Mapping[Stmt, tuple[AccessEntry, ...]],
        effects: Effects,
        inserted: Iterable[Inserted],
        followed: Set[Stmt],
    ):
        """`entries` are the accesses that the pass sees of a statement, `effects` those of its
        operations; `followed` those of `after_waits`."""
        self._entries = entries
        self._effects = effects
        self._inserted = frozenset[Stmt]().union(*inserted)
        self._followed = followed

    @property
    def are_added(self) -> bool:
        """Whether there may be a barrier that the kernel has not."""
        return bool(self._inserted or self._followed)

    def is_barrier(self, stmt: Stmt) -> bool:
        """Whether several warps meet at a statement, or the pass puts a barrier right after it."""
        meetings = (effect.meeting for effect in self._effects(stmt))
        several = (one for one in meetings if one and one.group not in (Group.WARP, Group.NOBODY))
        return self.is_followed(stmt) or any(several)

    def is_followed(self, stmt: Stmt) -> bool:
        """Whether the pass puts a barrier directly after a statement, whatever collides."""
        return stmt in self._followed

    def is_preceded(self, stmt: Stmt) -> bool:
        """Whether the pass may put one right before a statement."""
        return stmt in self._inserted

    @once
    def may_precede(self, stmt: Stmt) -> bool:
        """Whether there may be a barrier right before a statement, or in a branch or loop."""
        return self.is_barrier(stmt) or self.is_preceded(stmt) or self.may_be_inside(stmt)

    def may_be_at(self, stmt: Stmt) -> bool:
        """Whether there may be one before a statement, or in it."""
        return self.may_be_in((stmt,))

    @once
    def may_be_in(self, block: Block) -> bool:
        """Whether there may be a barrier in a block."""
        return any(self.is_barrier(one) or self.is_preceded(one) for one in walk_statements(block))

    @once
    def may_be_inside(self, stmt: Stmt) -> bool:
        """Whether there may be a barrier in a branch or loop."""
        return isinstance(stmt, (If, For, While)) and any(map(self.may_be_in, nested_blocks(stmt)))

    @once
    def may_be_skipped(self, stmt: Stmt) -> bool:
        """Whether threads that pass a statement may leave out a barrier that is in it."""
        if isinstance(stmt, (If, While)):
            return self.may_be_inside(stmt)
        if isinstance(stmt, For) and not (constant(stmt.extent) or 0) > 0:
            return self.may_be_inside(stmt)
        return any(
            map(self.may_be_skipped, (one for inner in nested_blocks(stmt) for one in inner))
        )

    # First and last statements -------------------------------------------------------------------

    @once
    def heads(self, branch: If) -> tuple[Stmt, ...]:
        """The statements of a branch that no barrier within it can precede: what collides with one
        of them gets its barrier before the branch."""
        then, ends = self._edge(branch.then)
        return then if ends else then + self._edge(branch.orelse)[0]

    @once
    def tail(self, block: Block) -> frozenset[Stmt]:
        """The statements of an arm that no barrier within it can follow."""
        return frozenset(self._edge(block, last=True)[0])

    @once
    def ends(self, branch: If) -> tuple[Stmt, ...]:
        """The last statements of a branch, as far as the pass remembers them.

        It forgets those of the first arm where there may be a barrier in the second.
        """
        orelse = self._edge(branch.orelse, last=True)[0]
        if self.may_be_in(branch.orelse):
            return orelse
        return self._edge(branch.then, last=True)[0] + orelse

    def _edge(self, block: Block, *, last: bool = False) -> tuple[tuple[Stmt, ...], bool]:
        """The first statements of a block, or its last ones, and whether there may be a barrier
        after the first, or before the last."""
        found: tuple[Stmt, ...] = ()
        for stmt in reversed(block) if last else block:
            if self.is_barrier(stmt) or (not last and self.is_preceded(stmt)):
                return found, True
            here, ends = self._edge_of(stmt, last)
            found = here + found if last else found + here
            if ends or self.is_preceded(stmt):
                return found, True
        return found, False

    def _edge_of(self, stmt: Stmt, last: bool) -> tuple[tuple[Stmt, ...], bool]:
        """As `_edge`, for a single statement."""
        if isinstance(stmt, (Attr, Assert)):
            return self._edge(stmt.body, last=last)
        if not self.may_be_inside(stmt):
            return tuple(one for one in walk_statements((stmt,)) if one in self._entries), False
        if isinstance(stmt, If):
            return self.ends(stmt) if last else self.heads(stmt), True
        return self._edge(nested_blocks(stmt)[0], last=True) if last else ((), True)
