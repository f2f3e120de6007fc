"""Barriers of the block that stand in a branch of some threads: the pass makes them those threads'.

Behind its own barriers it gives every barrier that names neither a number nor threads, wherever it
came from, both: those of the branch, and the next number from 3 on, one for each set of threads.
It looks at no number that is in use already, and begins with 3 again for each storage scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from itertools import combinations, product

import numpy as np

from smemreuse.ir.expr import Call, Var, constant, variables_in
from smemreuse.ir.kernel import Block, If, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.semantics.effects import Group
from smemreuse.semantics.synchronizing import NAMED_BARRIERS, named_barrier
from smemreuse.semantics.table import evaluated_call, evaluated_effect
from smemreuse.versions.thread_sync.candidates import BarrierCandidates
from smemreuse.versions.thread_sync.once import once
from smemreuse.versions.thread_sync.participants import Participants, participants_in
from smemreuse.versions.thread_sync.path_conditions import PathConditions

FIRST = NAMED_BARRIERS.start

Team = bytes
"""The numbers of threads, as they are in memory."""


class BranchBarriers:
    """What becomes of the barriers of the block in one kernel's branches."""

    def __init__(self, body: Block, paths: PathConditions, indices: Set[Var], everyone: int):
        """`indices` are those of the threads, of whom a block has `everyone`."""
        self._body, self._paths, self._indices = body, paths, indices
        self._everyone = everyone

    @cached_property
    def renamed(self) -> Mapping[Stmt, Call]:
        """The operations that take the place of barriers that the kernel has."""
        numbers: dict[Team, int] = {}
        found = {}
        for stmt, call in self._barriers():
            team = self._team(stmt) if len(call.args) == 1 else None
            if team is None:
                continue
            number = numbers.setdefault(team, FIRST + len(numbers))
            scope = str(getattr(call.args[0], "value", ""))
            found[stmt] = named_barrier(scope, number, _count(team))
        return found

    def shared_number(self, candidates: BarrierCandidates) -> str:
        """Why a barrier that the pass may put into a branch may have the number of one that other
        threads come to; empty where none may."""
        teams = self._teams(candidates)
        for given in teams.values():
            numbers = range(FIRST, FIRST + len(given))
            for team, stmt in given.items():
                for other, number, theirs in self._numbered:
                    if theirs != team and (number is None or number in numbers):
                        return _disturbing(stmt, f"`{label(other)}`")
        # The numbers of each scope begin anew, and which of these barriers come is not known.
        for one, two in combinations(teams.values(), 2):
            for (mine, stmt), (theirs, other) in product(one.items(), two.items()):
                if mine != theirs:
                    return _disturbing(stmt, f"one at `{label(other)}`")
        return ""

    def _teams(self, candidates: BarrierCandidates) -> dict[str, dict[Team, Stmt]]:
        """For each storage scope who may come to a barrier that is put into a branch, and where."""
        teams: dict[str, dict[Team, Stmt]] = {}
        for stmt in sorted(candidates.added, key=self._paths.order.__getitem__):
            # Out of a branch that it does not understand the pass moves a barrier.
            around = (frame.stmt for frame in self._paths.frames[stmt])
            found = [team for one in (stmt, *around) if (team := self._team(one)) is not None]
            for scope in candidates.scopes(stmt) if found else ():
                for team in found:
                    teams.setdefault(scope, {}).setdefault(team, stmt)
        return teams

    def _barriers(self) -> Iterator[tuple[Stmt, Call]]:
        """The barriers of the block, in their order, and others that have a number."""
        for stmt in walk_statements(self._body):
            call, effect = evaluated_call(stmt), evaluated_effect(stmt)
            if call is not None and effect is not None and effect.meeting is not None:
                if effect.meeting.group is Group.NAMED:
                    yield stmt, call

    @cached_property
    def _numbered(self) -> tuple[tuple[Stmt, int | None, Team | None], ...]:
        """The barriers with a number, once the pass has been there, and who comes to each; None
        where that is not known."""
        found = []
        for stmt, call in self._barriers():
            call = self.renamed.get(stmt, call)
            effect = evaluated_effect(stmt)
            assert effect is not None
            assert effect.meeting is not None
            at = effect.meeting.identity
            if at is not None and at < len(call.args):
                found.append((stmt, constant(call.args[at]), self._team(stmt)))
        return tuple(found)

    @once
    def _team(self, stmt: Stmt) -> Team | None:
        """The threads of the branches around a statement, as the pass surely knows them; None where
        it does not, where these are all threads, or no whole warps."""
        branches = [
            (frame.stmt.condition, frame.holds)
            for frame in self._paths.frames[stmt]
            if isinstance(frame.stmt, If)
            and not self._indices.isdisjoint(variables_in(frame.stmt.condition))
        ]
        if participants_in(branches, self._indices) is not Participants.BRANCH:
            return None
        ids = self._paths.in_branches(stmt, self._indices)
        if ids is None or len(ids) in (0, self._everyone) or len(ids) % 32:
            return None
        return ids.astype(np.int64).tobytes()


def _disturbing(stmt: Stmt, other: str) -> str:
    begin = f"a barrier that may be put in at `{label(stmt)}` may get the number of {other}"
    return f"{begin}, which other threads come to"


def _count(team: Team) -> int:
    return len(np.frombuffer(team, np.int64))
