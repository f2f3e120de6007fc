"""What might mend a hazard, the least first. Whether it does is for the linter to say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from smemreuse.ir.expr import Call, Const, Var, constant
from smemreuse.ir.kernel import For, If, Kernel, Stmt, walk_statements
from smemreuse.ir.launch import AXES, UnknownThreads, launches, tag_of, thread_axes
from smemreuse.ir.tree import Spot, StatementTree
from smemreuse.linter.words import engine_of
from smemreuse.mender.candidate import MendCandidate
from smemreuse.mender.edited import last_of
from smemreuse.mender.waits import wait_candidates
from smemreuse.results.hazards import Hazard, HazardKind, Remedy
from smemreuse.results.mending import Guard, Inserted
from smemreuse.semantics.effects import Group, Signal
from smemreuse.semantics.synchronizing import (
    NAMED_BARRIERS,
    block_barrier,
    named_barrier,
    proxy_fence,
    warp_barrier,
)
from smemreuse.semantics.table import evaluated_call, evaluated_effect
from smemreuse.versions import version_of

RELEASES = (Signal.ARRIVE, Signal.ARRIVE_AND_EXPECT)
WARP = 32


@dataclass(frozen=True, eq=False)
class MendCandidates:
    """The edits that may mend a hazard of one kernel, the cheapest first.

    `scope` is the storage scope for which its barriers are written.
    """

    kernel: Kernel
    tree: StatementTree
    scope: str

    def of(
        self, hazard: Hazard, earlier: Stmt | None, later: Stmt | None
    ) -> Iterator[MendCandidate]:
        """The candidates for a hazard between two statements of the body.

        `later` is None where the hazard is at the kernel's end; without `earlier` there are none.
        """
        if hazard.mend.remedy is Remedy.NARROW and hazard.site.stmt is not None:
            yield from self._narrowed(hazard.site.stmt, hazard.mend.threads)
        elif earlier is None:
            return
        elif hazard.kind is HazardKind.MISSING_WAIT:
            yield from wait_candidates(self.tree, self.scope, hazard.mend.engine, earlier, later)
        elif later is None:
            return
        elif hazard.kind is HazardKind.MISSING_FENCE:
            yield from self._fences(earlier, later)
        elif hazard.mend.remedy is Remedy.BARRIER:
            yield from self._barriers(hazard, earlier, later)
            # What one arm has an engine do may be over too late for another that waits for it.
            engine = engine_of(earlier).value
            yield from wait_candidates(self.tree, self.scope, engine, earlier, later)

    def are_written(self, candidate: MendCandidate) -> bool:
        """Whether it is known how this kernel's compiler spells all inserted operations.

        Barriers are known everywhere, and so are the operations that the kernel already has.
        """
        if version_of(self.kernel).has_tilelang_operations:
            return True
        return candidate.operations <= {block_barrier(self.scope).op} | self._operations

    @cached_property
    def _operations(self) -> set[str]:
        calls = map(evaluated_call, walk_statements(self.kernel.body))
        return {call.op for call in calls if call is not None}

    # Waits of fewer warps ------------------------------------------------------------------------

    def _narrowed(self, wait: Stmt, acting: tuple[int, int] | None) -> Iterator[MendCandidate]:
        """Waits of the one warp that acts on them: all waits in the arm around this one, then this
        one alone. `acting` are the threads of that warp."""
        thread = self._thread
        if acting is None or thread is None:
            return
        arms = (spot.block for spot in self.tree.path(wait) if isinstance(spot.scope, If))
        arm = next(reversed(list(arms)), (wait,))
        condition = Call("eq", (Call("floordiv", (thread, Const(WARP))), Const(acting[0] // WARP)))
        waits = tuple(
            Guard(one, condition)
            for one in walk_statements(arm)
            for effect in (evaluated_effect(one),)
            if effect is not None and effect.signals is Signal.WAIT
        )
        if len(waits) > 1:
            yield MendCandidate(waits)
        yield MendCandidate((Guard(wait, condition),))

    @cached_property
    def _thread(self) -> Var | None:
        """The index of a thread in its block; None where that is not one variable alone."""
        axes = [one for one in launches(self.kernel.body) if tag_of(one) in AXES]
        mine = [one.var for one in axes if tag_of(one) == AXES[0]]
        flat = all(tag_of(one) == AXES[0] or constant(one.value) == 1 for one in axes)
        return mine[0] if flat and len(mine) == 1 else None

    # Fences -------------------------------------------------------------------------------------

    def _fences(self, earlier: Stmt, later: Stmt) -> Iterator[MendCandidate]:
        """Proxy fences: before the threads of the generic access signal its end, then before the
        async one.

        The latter is right where its thread waits for those threads first. Last comes the place
        directly after the generic access.
        """
        around = reversed(self.tree.unconditional(later))
        for anchor in dict.fromkeys((*self._releases(earlier), *around, later)):
            yield MendCandidate.of(anchor, False, Inserted(proxy_fence()))
        yield MendCandidate.of(earlier, True, Inserted(proxy_fence()))

    def _releases(self, stmt: Stmt) -> Iterator[Stmt]:
        """The next statement after `stmt` at which its thread signals others, and the scope around
        that.
        """
        for near in self.tree.after(stmt):
            release = next(filter(_is_release, walk_statements((near,))), None)
            if release is not None:
                yield release
                if near is not release:
                    yield near
                return

    # Barriers -----------------------------------------------------------------------------------

    def _barriers(self, hazard: Hazard, earlier: Stmt, later: Stmt) -> Iterator[MendCandidate]:
        """Barriers between the statements: of the warp if the hazard is not certain, of the block,
        or of the threads that the hazard names.
        """
        if self.tree.in_two_arms(earlier, later):
            return
        spots = list(dict.fromkeys(self._between(hazard, earlier, later)))
        barriers = [block_barrier(self.scope)]
        if not hazard.certain:
            barriers.insert(0, warp_barrier())
        barriers += self._partial(hazard)
        for barrier in barriers:
            for anchor, behind in spots:
                yield MendCandidate.of(anchor, behind, Inserted(barrier))

    def _between(self, hazard: Hazard, earlier: Stmt, later: Stmt) -> Iterator[tuple[Stmt, bool]]:
        """The places between two statements, or between their rounds of a loop.

        Each is an anchor statement and whether the insertion goes after it.
        """
        spots = self.tree.common(earlier, later)
        if spots is None:
            return
        one, two = spots
        around = self._round_of(hazard, earlier, later)
        path = self.tree.path(later)
        inner = [spot.stmt for spot in path[path.index(two) + 1 :]]
        if around is None and one.index < two.index:
            yield two.stmt, False
            yield from ((stmt, False) for stmt in inner)
            return
        common = [loop for loop in self.tree.loops(earlier) if loop in self.tree.loops(later)]
        wanted = [around] if around is not None else []
        for loop in [*wanted, *(other for other in reversed(common) if other is not around)]:
            mine, theirs = (self._in_loop(loop, stmt) for stmt in (earlier, later))
            places = [(last_of(loop.body), True), (theirs.stmt, False)]
            yield from reversed(places) if theirs.index > mine.index else places
        yield from ((stmt, False) for stmt in inner)

    def _round_of(self, hazard: Hazard, earlier: Stmt, later: Stmt) -> For | None:
        """The outermost common loop of which the two statements are in different rounds; None if
        none.
        """
        if hazard.other is None:
            return None
        rounds = dict(hazard.other.loops), dict(hazard.site.loops)
        around = self.tree.loops(later)
        for loop in self.tree.loops(earlier):
            if isinstance(loop, For) and loop in around:
                name = loop.var.name
                if rounds[0].get(name) != rounds[1].get(name):
                    return loop
        return None

    def _in_loop(self, loop: Stmt, stmt: Stmt) -> Spot:
        """What stands for a statement in the body of a loop around it."""
        return next(spot for spot in self.tree.path(stmt) if spot.scope is loop)

    def _partial(self, hazard: Hazard) -> list[Call]:
        """A barrier of only the threads that a hazard names, if these are several whole warps."""
        span = hazard.mend.threads
        number = self._free_number
        if span is None or number is None or self._threads is None:
            return []
        count = span[1] - span[0]
        if span[0] % WARP or count % WARP or not WARP < count < self._threads:
            return []
        return [named_barrier(self.scope, number, count)]

    @cached_property
    def _threads(self) -> int | None:
        try:
            return math.prod(thread_axes(self.kernel.body).values())
        except UnknownThreads:
            return None

    @cached_property
    def _free_number(self) -> int | None:
        """The highest number of a named barrier that the kernel does not use; None if not known.

        It is the highest because later passes take the lowest.
        """
        used: set[int] = set()
        for stmt in walk_statements(self.kernel.body):
            call, effect = evaluated_call(stmt), evaluated_effect(stmt)
            meeting = effect.meeting if effect is not None else None
            if call is None or meeting is None or meeting.group is not Group.NAMED:
                continue
            at = meeting.identity
            if at is None or at >= len(call.args):
                continue
            number = getattr(call.args[at], "value", None)
            if not isinstance(number, int):
                return None
            used.add(number)
        return max((one for one in NAMED_BARRIERS if one not in used), default=None)


def _is_release(stmt: Stmt) -> bool:
    """Whether a thread signals others at this statement that its earlier work is done."""
    effect = evaluated_effect(stmt)
    if effect is None:
        return False
    if effect.mbarrier is not None:
        return effect.mbarrier.signal in RELEASES and effect.mbarrier.hands_over
    meeting = effect.meeting
    return meeting is not None and meeting.arrives and meeting.group is not Group.NOBODY
