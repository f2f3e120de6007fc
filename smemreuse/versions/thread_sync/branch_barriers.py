"""Barriers of the block that stand in a branch of some threads: the pass makes them those threads'.

Behind its own barriers it gives every barrier that names neither a number nor threads, wherever it
came from, both: those of the branch, and the next number from 3 on, one for each set of threads.
It looks at no number that is in use already, and begins with 3 again for each storage scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from smemreuse.ir.expr import Call, Expr, Load, Pointer, Var, constant, variables_in, walk
from smemreuse.ir.kernel import Bind, Block, If, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.ir.launch import AXES
from smemreuse.ir.source import at_line
from smemreuse.semantics.effects import Group
from smemreuse.semantics.synchronizing import NAMED_BARRIERS, named_barrier
from smemreuse.semantics.table import BLOCK_BARRIER, evaluated_call, evaluated_effect
from smemreuse.versions.thread_sync.active_threads import Frame
from smemreuse.versions.thread_sync.insertion import Inserted
from smemreuse.versions.thread_sync.once import once
from smemreuse.versions.thread_sync.participants import Participants, participants_in
from smemreuse.versions.thread_sync.path_conditions import PathConditions

FIRST = NAMED_BARRIERS.start
WARP = 32

Team = bytes
"""The numbers of threads, as they are in memory."""

EVERYONE: Team = b""


@dataclass(frozen=True)
class NumberedBarrier:
    """Where threads come to a barrier with one of some numbers; None where these, or the threads,
    are not known. `is_sure`: whether it is surely there."""

    stmt: Stmt
    team: Team | None
    numbers: range | None
    is_sure: bool = True

    @property
    def number(self) -> int | None:
        """The only number that it may have."""
        if self.numbers is None or len(self.numbers) != 1 or self.team is None:
            return None
        return self.numbers.start

    @property
    def threads(self) -> np.ndarray:
        """The numbers of the threads that come to it; none where these are not known."""
        return np.frombuffer(self.team or b"", np.int64)

    def may_disturb(self, other: NumberedBarrier) -> bool:
        """Whether the other may have the same number, for other threads."""
        if self.team is not None and self.team == other.team:
            return False
        if self.numbers is None or other.numbers is None:
            return True
        return not {*self.numbers}.isdisjoint(other.numbers)


@dataclass(frozen=True)
class SharedNumber:
    """Two barriers of different threads that may have one number, the second put in by the pass."""

    one: NumberedBarrier
    two: NumberedBarrier

    @property
    def is_sure(self) -> bool:
        """Whether both are surely there, with the same number."""
        return self.one.is_sure and self.two.is_sure and self.one.number == self.number is not None

    @property
    def number(self) -> int | None:
        return self.two.number

    def __str__(self) -> str:
        given = self.one.numbers
        name = f"named barrier {given.start}" if given and len(given) == 1 else "one named barrier"
        first, second = (
            f"`{label(one.stmt)}`{at_line(one.stmt.line)}" for one in (self.one, self.two)
        )
        return (
            f"barriers that the compiler may insert at {second} and at {first} may both be "
            f"{name}, though different threads come to them"
        )


class BranchBarriers:
    """What becomes of the barriers of the block in one kernel's branches."""

    def __init__(
        self,
        body: Block,
        paths: PathConditions,
        indices: Set[Var],
        axes: Mapping[str, int],
        *,
        keeps_where_all_agree: bool,
    ):
        """`indices` are those of the threads, and `axes` the extents of the axes of a block.
        `keeps_where_all_agree` is `ThreadSync`'s."""
        self._keeps_where_all_agree = keeps_where_all_agree
        self._body, self._paths, self._indices = body, paths, indices
        self._everyone, self._row = prod(axes.values()), axes.get(AXES[0], 1)

    @cached_property
    def renamed(self) -> Mapping[Stmt, Call]:
        """The operations that take the place of barriers that the kernel has."""
        numbers: dict[Team, int] = {}
        found = {}
        for stmt, call in self._barriers():
            team = self._team(stmt) if len(call.args) == 1 else None
            if not team:
                continue
            number = numbers.setdefault(team, FIRST + len(numbers))
            scope = str(getattr(call.args[0], "value", ""))
            found[stmt] = named_barrier(scope, number, len(np.frombuffer(team, np.int64)))
        return found

    def stays(self, branch: If, holds: bool) -> bool:
        """Whether a barrier surely stays in the arm of a branch where its condition holds, or does
        not: all threads agree on that, or the pass knows those that are there. Of what is found
        through an address some versions take it that they do not agree."""
        if any(isinstance(node, Pointer) for node in walk(branch.condition)):
            return False
        if not self._depends_on_threads(branch.condition):
            if not self._keeps_where_all_agree:
                around = self._paths.in_branches(branch, self._indices)
                if around is None or not self.has_rows(around):
                    return False
            return self._team(branch) is not None
        # Some versions ask of the first arm, whichever the barrier is in.
        firsts = [one[0] for one in (branch.then, () if holds else branch.orelse) if one]
        ids = [self._paths.in_branches(one, self._indices) for one in firsts]
        if not all(one is not None and self.has_rows(one) for one in ids):
            return False
        return self._team(firsts[-1]) is not None

    def moves(self, branch: If) -> bool:
        """Whether a barrier in the arm of a branch where its condition holds surely is moved before
        it: fewer than a warp of neighbours go there at one place at least, as all versions see."""
        around = self._team(branch)
        if around is None or not variables_in(branch.condition) <= self._indices:
            return False
        if any(isinstance(node, (Load, Pointer)) for node in walk(branch.condition)):
            return False
        return self.leaves(Frame(branch))

    @once
    def leaves(self, arm: Frame) -> bool:
        """Whether a barrier leaves an arm since fewer than a warp of neighbours go there at some
        place."""
        assert isinstance(arm.stmt, If)
        block = arm.stmt.then if arm.holds else arm.stmt.orelse
        ids = self._paths.in_branches(block[0], self._indices) if block else None
        outside = self._paths.in_branches(arm.stmt, self._indices)
        if ids is None or outside is None or not 0 < len(ids) < len(outside):
            return False  # those who all go there, the pass shows to agree
        return not self.has_rows(ids)

    def has_rows(self, ids: np.ndarray) -> bool:
        """Whether the pass leaves a barrier of these threads where it is: along threadIdx.x, the
        one axis that it asks of, a warp of neighbours or more go there at each place."""
        along = np.unique(ids % self._row)
        ends = np.flatnonzero(np.diff(along) != 1)
        runs = np.diff(np.concatenate(([-1], ends, [len(along) - 1])))
        return bool(len(along)) and bool(runs.min() >= WARP)

    def shared_number(
        self, inserted: Mapping[str, Inserted], followed: Set[Stmt]
    ) -> SharedNumber | None:
        """A barrier that the pass may put into a branch with the number of one that other threads
        come to, if there may be any: one that is sure, before others.

        `inserted`: those of each run; directly after each statement in `followed` the first run
        puts one as well.
        """
        runs = [self.own_numbers]
        given = {stmt for stmt, call in self._barriers() if len(call.args) == 1}
        for one in inserted.values():
            runs.append(tuple(_numbered(self._events(one, given, followed))))
            given, followed = set(), frozenset()
        found = [
            SharedNumber(mine, theirs)
            for first, second in combinations(runs, 2)
            for mine, theirs in product(first, second)
            if mine.may_disturb(theirs)
        ]
        return next((one for one in found if one.is_sure), found[0] if found else None)

    def _events(
        self, inserted: Inserted, given: Set[Stmt], followed: Set[Stmt]
    ) -> Iterator[tuple[Stmt, Team | None, bool]]:
        """The barriers that one run may number, in their order: where, for whom, whether surely."""
        for stmt in walk_statements(self._body):
            if stmt in inserted:
                yield stmt, self._team(stmt), inserted[stmt]
            if stmt in given or stmt in followed:
                yield stmt, self._team(stmt), True

    def _barriers(self) -> Iterator[tuple[Stmt, Call]]:
        """The barriers of the block, in their order, and others that have a number."""
        for stmt in walk_statements(self._body):
            call, effect = evaluated_call(stmt), evaluated_effect(stmt)
            if call is not None and effect is not None and effect.meeting is not None:
                if effect.meeting.group is Group.NAMED:
                    yield stmt, call

    @cached_property
    def own_numbers(self) -> tuple[NumberedBarrier, ...]:
        """The barriers that have a number before the pass."""
        found = []
        for stmt, call in self._barriers():
            effect = evaluated_effect(stmt)
            assert effect is not None
            assert effect.meeting is not None
            at = effect.meeting.identity
            if at is not None and at < len(call.args):
                number = constant(call.args[at])
                numbers = None if number is None else range(number, number + 1)
                found.append(NumberedBarrier(stmt, self._team(stmt), numbers))
        return tuple(found)

    @cached_property
    def misleads(self) -> bool:
        """Whether the pass takes a barrier of the kernel for one of all that come to it, though
        these may not all meet there: it is of fewer threads, or of a number that they may differ
        in. Where it counts on that one, it puts in no other."""
        return any(
            call.op == BLOCK_BARRIER.op and len(call.args) > 1 and not self._is_of_all(stmt, call)
            for stmt, call in self._barriers()
        )

    def _is_of_all(self, stmt: Stmt, call: Call) -> bool:
        """Whether all threads that come to a barrier with a number surely wait for each other."""
        known = [constant(one) for one in call.args[1:]]
        if None in known:
            return False
        team = self._team(stmt)
        count = len(np.frombuffer(team, np.int64)) if team else self._everyone
        return len(known) < 2 or (known[1] or 0) >= count

    @once
    def _team(self, stmt: Stmt) -> Team | None:
        """The threads of the branches around a statement, as the pass surely knows them; None where
        it does not, or these are no whole warps."""
        branches = [
            (frame.stmt.condition, frame.holds)
            for frame in self._paths.frames[stmt]
            if isinstance(frame.stmt, If) and self._depends_on_threads(frame.stmt.condition)
        ]
        if not branches:
            return EVERYONE
        if participants_in(branches, self._indices) is not Participants.BRANCH:
            return None
        ids = self._paths.in_branches(stmt, self._indices)
        if ids is None or not len(ids) or len(ids) % WARP:
            return None
        return EVERYONE if len(ids) == self._everyone else ids.astype(np.int64).tobytes()

    @once
    def _depends_on_threads(self, condition: Expr) -> bool:
        """Whether a condition names the index of a thread, or a variable that is bound to what
        does."""
        return not self._turning.isdisjoint(variables_in(condition))

    @cached_property
    def _turning(self) -> Set[Var]:
        """The indices of threads, and the variables that are bound to what names one of these."""
        found = {*self._indices}
        for stmt in walk_statements(self._body):
            if isinstance(stmt, Bind) and not found.isdisjoint(variables_in(stmt.value)):
                found.add(stmt.var)
        return found


def _numbered(events: Iterable[tuple[Stmt, Team | None, bool]]) -> Iterator[NumberedBarrier]:
    """Which numbers barriers may get that come in this order, one for each set of threads."""
    surely, perhaps = set[Team](), set[Team]()
    unknown = 0
    for stmt, team, is_sure in events:
        if team == EVERYONE or team in surely:
            continue
        least, most = len(surely), len(perhaps - {team}) + unknown
        yield NumberedBarrier(stmt, team, range(FIRST + least, FIRST + most + 1), is_sure)
        if team is None:
            unknown += 1
            continue
        perhaps.add(team)
        if is_sure:
            surely.add(team)
