"""Where in a kernel `ThreadSync` may put barriers, whatever it takes to collide (rule 6).

The pass visits the statements of a branch or loop first, and gives what collides there a barrier of
the threads that reach it. When it visits the scope around, it finds that barrier and takes it for
one that all threads surely meet at: also where the arm is not taken, the loop has no iteration, or
only some threads are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations, islice, product

from smemreuse.ir.expr import constant
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.effects import Effect, Group
from smemreuse.versions.thread_sync import ThreadSync
from smemreuse.versions.thread_sync.access_entries import AccessEntry
from smemreuse.versions.thread_sync.collisions import Collisions
from smemreuse.versions.thread_sync.once import once

Effects = Callable[[Stmt], Iterable[Effect]]


@dataclass(frozen=True)
class Kind:
    """What decides whether two entries may be taken to collide, wherever they are."""

    buffer: Buffer
    is_write: bool
    by_pointer: bool
    is_copy: bool


def _kind_of(entry: AccessEntry) -> Kind:
    return Kind(entry.buffer, entry.is_write, entry.by_pointer, entry.is_copy)


MAX_PAIRS = 16
"""Pairs of statements of which it is asked whether they surely collide."""

MAX_GROUPS = 32
"""Statements since a barrier that are kept separate."""

Kinds = frozenset[Kind]
NOTHING: Kinds = frozenset()


@dataclass(frozen=True)
class _Group:
    """What is accessed in a statement, and by which; `is_whole`: no barrier can be in it."""

    kinds: Kinds
    statements: tuple[Stmt, ...]
    is_whole: bool


class BarrierCandidates:
    """The places in one kernel at which the pass may put barriers.

    `partners` gives for each buffer those that share its bytes.
    """

    def __init__(
        self,
        body: Block,
        collisions: Collisions,
        effects: Effects,
        rules: ThreadSync,
        followed: Set[Stmt],
        partners: Mapping[Buffer, Collection[Buffer]],
        surely: Callable[[Stmt, Stmt], bool],
    ):
        """`effects` are those of a statement's operations; `followed` those of `after_waits`.
        `surely`: whether the pass surely takes a statement to collide with a later one."""
        self._collisions = collisions
        self._effects = effects
        self._rules = rules
        self._partners = partners
        self._surely = surely
        self._followed = followed
        self._preceded: set[Stmt] = set()
        self._colliding: set[Stmt] = set()
        self.added: set[Stmt] = set()
        """Statements before or behind which there may be a barrier that the kernel has not."""
        self._find(body, False)

    def scopes(self, stmt: Stmt) -> dict[str, None]:
        """The storage scopes that are accessed in a statement, one of which a barrier there is
        for."""
        entries = (self._collisions.entries.get(one, ()) for one in walk_statements((stmt,)))
        return dict.fromkeys(entry.buffer.scope for found in entries for entry in found)

    # Before statements ----------------------------------------------------------------------------

    def may_precede(self, stmt: Stmt) -> bool:
        """Whether there may be a barrier right before a statement."""
        return stmt in self._preceded

    @once
    def may_be_at(self, stmt: Stmt) -> bool:
        """Whether there may be one before a statement, or in it."""
        return any(map(self.may_precede, walk_statements((stmt,))))

    def may_collide_before(self, stmt: Stmt) -> bool:
        """Whether there may be a barrier right before a statement for what it collides with, and
        not for what the pass moves out of it."""
        return stmt in self._colliding

    def _find(self, block: Block, looping: bool) -> list[_Group]:
        """Finds the candidates in a block, and returns what may have been accessed in it after the
        last barrier; `looping` if a loop around it repeats it.

        These are: before a statement that collides with an earlier one (in a loop, with any);
        before a loop whose writes collide; and before a branch out of which the pass moves its
        barrier.
        """
        before: list[_Group] = []
        if looping:
            before.append(_Group(NOTHING.union(*map(self._within, block)), (), False))
        self._sequence(block, before, {one.kinds for one in before})
        return before

    def _sequence(self, block: Block, before: list[_Group], since: set[Kinds]) -> None:
        """`before` is what may have been accessed since the last barrier of the pass. Where some of
        it surely collides with a statement, a barrier separates that and all before it from what
        follows. `since` is what may have been since the last barrier in the kernel."""
        for stmt in block:
            if isinstance(stmt, (Attr, Assert)):
                self._sequence(stmt.body, before, since)
                continue
            kinds = self._within(stmt)
            may_meet = isinstance(stmt, (If, For, While)) and self.may_be_inside(stmt)
            if self.may_be_before(stmt) or any(
                self._may_collide(one.kinds, kinds) for one in before
            ):
                self._colliding.add(stmt)
            if may_meet or self.is_barrier(stmt) or stmt in self._colliding:
                self._preceded.add(stmt)
            follows = self.is_followed(stmt)
            if follows or any(self._may_collide(one, kinds) for one in since):
                self.added.add(stmt)
            if not nested_blocks(stmt) and self.is_barrier(stmt):
                since.clear()
            since.add(kinds)
            if follows:
                before.clear()
            if kinds:
                now = _Group(kinds, self._seen(stmt), not may_meet)
                for at in reversed(range(len(before))):
                    if self._must_collide(before[at], now):
                        del before[: at + before[at].is_whole]
                        break
            within = (
                self._find(one, isinstance(stmt, (For, While))) for one in nested_blocks(stmt)
            )
            left = [group for groups in within for group in groups]
            kinds = self._own(stmt).union(*(group.kinds for group in left))
            if kinds:
                seen = chain.from_iterable(group.statements for group in left)
                own = (stmt,) if self._own(stmt) else ()
                before.append(_Group(kinds, (*own, *seen), not may_meet))
                if len(before) > MAX_GROUPS:
                    before[:2] = [_Group(before[0].kinds | before[1].kinds, (), False)]

    @once
    def _within(self, stmt: Stmt) -> Kinds:
        """What is accessed in a statement."""
        inner = (self._within(one) for block in nested_blocks(stmt) for one in block)
        return self._own(stmt).union(*inner)

    # Barriers inside -----------------------------------------------------------------------------

    @once
    def may_be_in(self, block: Block) -> bool:
        """Whether there may be a barrier in a block."""
        return any(map(self.is_barrier, walk_statements(block))) or self._clashes(block, (), set())

    def _clashes(self, block: Block, loops: tuple[For, ...], seen: set[Kinds]) -> bool:
        """Whether a statement in a block may collide with itself in another round, or with what was
        `seen` before, to which all that is in the block is added. `loops` are the `for` loops
        around it: from round to round of a `while` the pass compares nothing."""
        for stmt in block:
            kinds = self._own(stmt)
            if kinds and (
                self._may_repeat(stmt, loops)
                or any(self._may_collide(before, kinds) for before in seen)
            ):
                return True
            seen.add(kinds)
            within = (*loops, stmt) if isinstance(stmt, For) else loops
            if isinstance(stmt, If) and not within:  # no round has both arms, nor the next one
                arms = seen.copy(), seen.copy()
                clash = any(map(self._clashes, nested_blocks(stmt), ((), ()), arms))
                seen.update(*arms)
            else:
                clash = any(self._clashes(one, within, seen) for one in nested_blocks(stmt))
            if clash:
                return True
        return False

    @once
    def may_be_inside(self, stmt: Stmt) -> bool:
        """Whether there may be a barrier in a branch or loop."""
        if not isinstance(stmt, (For, While)):
            return any(map(self.may_be_in, nested_blocks(stmt)))
        return self.may_be_in((stmt,)) and not self._only_writes(stmt)

    def may_be_before(self, stmt: Stmt) -> bool:
        """Whether there may be one before a loop for what its rounds write: where the loop reads
        nothing the pass puts it there."""
        return isinstance(stmt, For) and self._only_writes(stmt) and self.may_be_in((stmt,))

    def _only_writes(self, stmt: For | While) -> bool:
        """Whether a loop reads nothing, and a round of it has no place for a barrier."""
        reads = any(not kind.is_write for kind in self._within(stmt))
        return isinstance(stmt, For) and not reads and not self.may_be_in(stmt.body)

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

    def _may_repeat(self, stmt: Stmt, loops: Sequence[For]) -> bool:
        """Whether a statement may be taken to collide with itself in the next round of a loop."""
        if not loops or not self._may_collide(self._own(stmt), self._own(stmt)):
            return False
        entries = self._collisions.entries[stmt]
        kinds = map(_kind_of, entries)
        if any(one.by_pointer for one in entries) or any(
            self._compares(one, two) for one, two in combinations(kinds, 2)
        ):
            return True
        return not all(self._collisions.moves_on(stmt, loop) for loop in loops)

    def is_barrier(self, stmt: Stmt) -> bool:
        """Whether several warps meet at a statement, or the pass puts a barrier right after it."""
        meetings = (effect.meeting for effect in self._effects(stmt))
        several = (one for one in meetings if one and one.group not in (Group.WARP, Group.NOBODY))
        return self.is_followed(stmt) or any(several)

    def is_followed(self, stmt: Stmt) -> bool:
        """Whether the pass puts a barrier directly after a statement, whatever collides."""
        return stmt in self._followed

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
        kinds = NOTHING
        for stmt in reversed(block) if last else block:
            if self.is_barrier(stmt) or (not last and self.may_be_before(stmt)):
                return found, True
            here, ends = self._edge_of(stmt, last)
            now = NOTHING.union(*map(self._own, here))
            if self._may_collide(*((now, kinds) if last else (kinds, now))):
                return found, True
            found, kinds = here + found if last else found + here, kinds | now
            if ends:
                return found, True
        return found, False

    def _edge_of(self, stmt: Stmt, last: bool) -> tuple[tuple[Stmt, ...], bool]:
        """As `_edge`, for a single statement."""
        if isinstance(stmt, (Attr, Assert)):
            return self._edge(stmt.body, last=last)
        if not self.may_be_inside(stmt):
            return self._seen(stmt), last and self.may_be_before(stmt)
        if isinstance(stmt, (For, While)):
            return self._end_of_round(stmt.body) if last else ((), True)
        if not isinstance(stmt, If):
            return (), True
        return self.ends(stmt) if last else self.heads(stmt), True

    def _end_of_round(self, body: Block) -> tuple[tuple[Stmt, ...], bool]:
        """As `_edge`, for the end of a loop's body: before any statement there may be a barrier for
        what another round accesses, so only the last ones that access anything are surely left."""
        for stmt in reversed(body):
            if self.is_barrier(stmt):
                return (), True
            if isinstance(stmt, (Attr, Assert)):
                found, ends = self._end_of_round(stmt.body)
            else:
                found, ends = self._edge_of(stmt, last=True)
            if found or ends:
                return found, True
        return (), False

    def _seen(self, stmt: Stmt) -> tuple[Stmt, ...]:
        return tuple(one for one in walk_statements((stmt,)) if self._own(one))

    # What may collide ----------------------------------------------------------------------------

    @once
    def _own(self, stmt: Stmt) -> Kinds:
        return frozenset(map(_kind_of, self._collisions.entries.get(stmt, ())))

    def _may_collide(self, before: Kinds, after: Kinds) -> bool:
        return any(self._compares(one, two) for one in before for two in after)

    def _must_collide(self, before: _Group, after: _Group) -> bool:
        """Whether the pass surely takes something there to collide with something here."""
        if not self._may_collide(before.kinds, after.kinds):
            return False
        pairs = product(before.statements, after.statements)
        return any(self._surely(one, two) for one, two in islice(pairs, MAX_PAIRS))

    def _compares(self, one: Kind, two: Kind) -> bool:
        """Whether the pass compares two kinds of access: one writes, and their bytes, or where it
        compares no bytes their indices, may be the same.
        """
        if not (one.is_write or two.is_write) or one.buffer.scope != two.buffer.scope:
            return False
        if one.is_write and two.is_write and one.is_copy and two.is_copy:
            return False
        if one.buffer is two.buffer or two.buffer in self._partners.get(one.buffer, ()):
            return True
        return one.by_pointer or two.by_pointer or not self._rules.compares_bytes
