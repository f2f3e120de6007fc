"""Where `ThreadSync` is going to put barriers into a kernel under a plan (rule 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product

from smemreuse.checker.budget import Work
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.operations import operations_of
from smemreuse.ir.expr import Expr, Load, Var, variables_in, walk
from smemreuse.ir.kernel import (
    DYNAMIC_SCOPE,
    Block,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    walk_statements,
)
from smemreuse.ir.launch import (
    AXES,
    UnknownThreads,
    launches,
    tag_of,
    thread_axes,
    thread_extents,
    thread_indices,
)
from smemreuse.semantics.pointers import Pointers
from smemreuse.versions import Version, version_of
from smemreuse.versions.thread_sync import ThreadSync
from smemreuse.versions.thread_sync.access_entries import AccessEntry, declared_scopes, entries_of
from smemreuse.versions.thread_sync.access_ranges import AccessRanges
from smemreuse.versions.thread_sync.active_threads import Frame
from smemreuse.versions.thread_sync.after_waits import followed_by_barriers
from smemreuse.versions.thread_sync.branch_barriers import BranchBarriers, SharedNumber
from smemreuse.versions.thread_sync.candidates import BarrierCandidates
from smemreuse.versions.thread_sync.collisions import Collisions
from smemreuse.versions.thread_sync.conflicts import Conflicts
from smemreuse.versions.thread_sync.insertion import Inserted, PassView, insertions
from smemreuse.versions.thread_sync.participants import Participants, participants_in
from smemreuse.versions.thread_sync.path_conditions import PathConditions

MAX_PAIRS = 16
"""Pairs of statements of which it is asked whether they surely collide."""


@dataclass(frozen=True)
class ThreadSyncView:
    """A kernel as `ThreadSync` sees it, and the fences that are inserted into it, whatever the plan
    is."""

    rules: ThreadSync
    paths: PathConditions
    collisions: Collisions
    ranges: AccessRanges
    thread_variables: frozenset[Var]
    fenced: frozenset[Stmt]
    branch_barriers: BranchBarriers
    followed: frozenset[Stmt]

    @staticmethod
    def of(body: Block, pointers: Pointers, version: Version) -> ThreadSyncView:
        """Raises `UnknownThreads`."""
        rules, axes = version.thread_sync, thread_axes(body)
        _refuse_late_blocks(body, axes)
        paths = PathConditions(body, axes, rules.bindings)
        entries: dict[Stmt, tuple[AccessEntry, ...]] = {}
        scopes = declared_scopes(body)
        for stmt in walk_statements(body):
            found = entries_of(stmt, pointers, rules, scopes)
            if found:
                entries[stmt] = found
        fenced = version.fence_pass.fences_to_come(body)
        indices = thread_indices(body)
        branches = BranchBarriers(
            body, paths, indices, axes, keeps_where_all_agree=rules.keeps_where_all_agree
        )
        followed = frozenset(followed_by_barriers(body, rules))
        ranges = AccessRanges(paths, thread_extents(body))
        collisions = Collisions(paths, entries, rules, ranges)
        return ThreadSyncView(rules, paths, collisions, ranges, indices, fenced, branches, followed)


def view_of(kernel: Kernel, pointers: Pointers) -> ThreadSyncView:
    """That of a kernel, kept with it. Raises `UnknownThreads`."""
    return kernel.memo.once(
        ThreadSyncView, lambda: ThreadSyncView.of(kernel.body, pointers, version_of(kernel))
    )


@dataclass
class Prediction:
    """The barriers that `ThreadSync` will insert under a plan: `offsets` (bytes) in one arena.

    With `optimistic`, all accesses that the pass compares are assumed to collide, and a barrier to
    be at every candidate: no proof, only for plans that are checked again with the real barriers.
    """

    view: ThreadSyncView
    inserted: Mapping[str, Inserted]
    candidates: BarrierCandidates
    offsets: Mapping[Buffer, int]
    work: Work
    _positions: Mapping[Stmt, int]
    optimistic: bool = False
    _known: dict[tuple[Stmt, Stmt, For | None], bool] = field(default_factory=dict)

    @staticmethod
    def of(
        kernel: Kernel,
        pointers: Pointers,
        offsets: Mapping[Buffer, int],
        work: Work,
        *,
        optimistic: bool = False,
    ) -> Prediction:
        """Raises `UnknownThreads`, and `Uncovered` where that is too much work."""
        body, view = kernel.body, view_of(kernel, pointers)
        conflicts = Conflicts(
            view.ranges,
            view.collisions,
            offsets,
            work.do,
            compares_bytes=view.rules.compares_bytes,
        )
        entries, followed = view.collisions.entries, view.followed
        branches = view.branch_barriers
        pass_view = PassView(
            *(entries, conflicts, view.rules.barriers, followed), branches.stays, branches.moves
        )
        inserted = insertions(body, pass_view)
        effects = operations_of(kernel).effects
        candidates = BarrierCandidates(entries, effects, inserted.values(), followed)
        positions = _positions(body, candidates)
        return Prediction(view, inserted, candidates, offsets, work, positions, optimistic)

    @staticmethod
    def under(
        kernel: Kernel,
        scope: str,
        layout: ByteLayout,
        pointers: Pointers,
        work: Work,
        *,
        optimistic: bool = False,
    ) -> Prediction:
        """That of a plan for one storage scope: the pass knows the offsets of buffers in the
        dynamic one; in others it takes each buffer for separate memory. Raises as `of`."""
        offsets = layout.offsets if scope == DYNAMIC_SCOPE else {}
        return Prediction.of(kernel, pointers, offsets, work, optimistic=optimistic)

    def shared_number(self) -> SharedNumber | None:
        """A barrier that is put in and may disturb another one, if there is any."""
        branches, entries = self.view.branch_barriers, self.view.collisions.entries.values()
        scopes = {entry.buffer.scope for found in entries for entry in found}
        if len(scopes) < 2 and not branches.own_numbers:
            return None  # one run alone gives no number twice
        return branches.shared_number(self.inserted, self.view.followed)

    def sees(self, stmt: Stmt) -> bool:
        """Whether a statement itself is compared with others."""
        return stmt in self.view.collisions.entries

    def position(self, stmt: Stmt) -> int:
        """The number of candidates up to a statement: two with the same have no barrier between."""
        return self._positions[stmt]

    def known(self, one: Stmt, two: Stmt, loop: For | None) -> bool | None:
        """The answer that `collides` gave before; None if it was not asked."""
        return self._known.get((one, two, loop))

    def collides(self, one: Stmt, two: Stmt, loop: For | None) -> bool:
        """Whether the pass surely takes a statement to collide with a later one, or with one in the
        next round of a loop."""
        key = (one, two, loop)
        if key not in self._known:
            collisions = self.view.collisions
            self._known[key] = (
                collisions.perhaps(one, two, loop, self.offsets)
                if self.optimistic
                else not self.view.branch_barriers.misleads
                and collisions.surely(one, two, loop, self.offsets, self.work.do)
                and not any(map(self.view.branch_barriers.leaves, self._common_arms(one, two)))
            )
        return self._known[key]

    def _common_arms(self, one: Stmt, two: Stmt) -> Iterator[Frame]:
        """The arms of branches that both statements are in, outermost first."""
        frames = self.view.paths.frames
        for mine, theirs in zip(frames[one], frames[two], strict=False):
            if mine.stmt is not theirs.stmt or mine.holds != theirs.holds:
                return
            if isinstance(mine.stmt, If):
                yield mine

    def collides_latest(self, one: Stmt, two: Stmt) -> bool:
        """As `collides`, for the latest execution of a statement before another: in the same
        rounds if it stands before that, else in the round before of a common loop."""
        paths = self.view.paths
        if paths.order[one] < paths.order[two]:
            return self.collides(one, two, None)
        common = {*paths.loops(one)} & {*paths.loops(two)}
        return any(self.collides(one, two, loop) for loop in common)

    def participants(self, one: Stmt, two: Stmt) -> Participants:
        """Who has to come to a barrier between two statements: it is put into the branches that
        both are in."""
        arms = self._common_arms(one, two)
        branches = [(arm.stmt.condition, arm.holds) for arm in arms if isinstance(arm.stmt, If)]
        return participants_in(branches, self.view.thread_variables)

    def may_part(self, stmt: Stmt) -> bool:
        """Whether the pass may put a barrier of all threads right before a statement: for what it
        collides with, or moved out of a branch of which the pass does not know the threads."""
        if not isinstance(stmt, If):
            return self.candidates.may_precede(stmt)
        known = participants_in([(stmt.condition, True)], self.view.thread_variables)
        moved = known is not Participants.BRANCH and self.candidates.may_be_inside(stmt)
        return moved or self.candidates.is_preceded(stmt)

    def surely_parts(self, branch: If, stmt: Stmt) -> bool:
        """Whether the pass surely puts a barrier of all threads between a branch and a statement
        that comes next: what no barrier in the branch can follow collides with what none in the
        statement can precede."""
        last = self.candidates.ends(branch)
        first = self.candidates.heads(stmt) if isinstance(stmt, If) else (stmt,)
        pairs = product(last, first)
        return any(
            self.participants(one, two) is Participants.ALL and self.collides(one, two, None)
            for one, two in islice(pairs, MAX_PAIRS)
            if self.sees(one) and self.sees(two)
        )

    def is_of_thread(self, condition: Expr) -> bool:
        """Whether a condition depends on thread indices alone: under any other one the pass leaves
        no barrier, since it does not know which threads are there."""
        if any(isinstance(node, Load) for node in walk(condition)):
            return False
        return variables_in(condition) <= self.view.thread_variables


def _refuse_late_blocks(body: Block, axes: Mapping[str, int]) -> None:
    """Raises `UnknownThreads` where an axis of the threads is not among the last three launches,
    which the pass takes for those: it takes all threads along that axis for one."""
    last = {tag_of(one) for one in islice(reversed([*launches(body)]), len(AXES))}
    for axis, extent in axes.items():
        if extent > 1 and axis not in last:
            raise UnknownThreads(f"{axis} is launched before blocks are, and ThreadSync misses it")


def _positions(body: Block, candidates: BarrierCandidates) -> dict[Stmt, int]:
    """The number of candidates up to each statement."""
    found: dict[Stmt, int] = {}
    last = 0
    for stmt in walk_statements(body):
        last += candidates.may_be_at(stmt)
        found[stmt] = last
    return found
