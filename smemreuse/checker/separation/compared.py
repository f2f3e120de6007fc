"""Whether a later pass surely puts a barrier wherever two buffers need one (rule 6).

Between two statements that it sees collide, the pass puts a barrier before some statement in
between, in the scope that holds both. So every thread on a path from before the first to after the
second meets the others there. That must hold on every path from an access of one buffer to one of
the other, where one of them writes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product

from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.separation.facts import Accesses, Facts
from smemreuse.checker.separation.reach import Reach
from smemreuse.checker.separation.tree import Scope
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import For, Stmt

NEAR = 6
"""Statements at each end of a path that are compared with as many next to them."""


MAX_PATHS = 64
"""Paths from one buffer's accesses to the other's; with more, nothing is proved."""


class Compared:
    """The accesses of two buffers, which come one after the other in a scope."""

    def __init__(
        self,
        facts: Facts,
        prediction: Prediction,
        region: Scope,
        group: Reach,
        accesses: tuple[Accesses, Accesses],
    ):
        self._facts = facts
        self._prediction = prediction
        self._region = region
        self._group = group
        self._bodies: dict[Stmt, list[Stmt]] = {}
        first, second = accesses
        if self._place(first[0][0]) > self._place(second[0][0]):
            first, second = second, first
        self._first, self._second = first, second
        self._seen = [*prediction.view.collisions.entries]

    def everywhere(self) -> bool:
        """Whether the pass puts a barrier on every path that needs one."""
        there = list(islice(_paths(self._first, self._second), MAX_PATHS + 1))
        if len(there) > MAX_PATHS or not all(self._on_path(*way) for way in there):
            return False
        loop = self._region.loop
        if loop is None:
            return True
        if not isinstance(loop.owner, For):
            return False
        back = list(islice(_paths(self._second, self._first), MAX_PATHS + 1))
        return len(back) <= MAX_PATHS and all(
            self._on_back_path(one, two, loop) for one, two in back
        )

    def _place(self, stmt: Stmt) -> int:
        return self._facts.tree.index_in(self._region, stmt)

    def _on_path(self, one: Stmt, two: Stmt) -> bool:
        return any(
            self._meet(earlier, later)
            for earlier, later in self._between(one, two)
            if self._holds_either(earlier, later, one, two)
        )

    def _on_back_path(self, one: Stmt, two: Stmt, loop: Scope) -> bool:
        """On the back edge of a loop: after the one, before the other, or across the edge."""
        inside = self._inside(loop)
        after, before = self._after(one, inside), self._before(two, inside)
        rounds = product((one, *after[-NEAR:]), (two, *before[:NEAR]))
        if any(self._meet_round(*pair, loop) for pair in rounds):
            return True
        return any(
            self._meet(earlier, later)
            for earlier, later in (*_near(after), *_near(before[::-1]))
            if self._holds_either(earlier, later, one, two)
        )

    def _inside(self, loop: Scope) -> list[Stmt]:
        assert loop.owner is not None
        if loop.owner not in self._bodies:
            frames = self._prediction.view.paths.loops
            self._bodies[loop.owner] = [stmt for stmt in self._seen if loop.owner in frames(stmt)]
        return self._bodies[loop.owner]

    def _after(self, one: Stmt, among: Sequence[Stmt]) -> Sequence[Stmt]:
        """What is seen from a statement on, and what is before it with no barrier in between."""
        since = self._prediction.position  # statements are in their order, and positions, too
        return among[bisect_left(among, since(one), key=since) :]

    def _before(self, two: Stmt, among: Sequence[Stmt]) -> Sequence[Stmt]:
        order = self._prediction.view.paths.order
        return among[: bisect_right(among, order[two], key=order.__getitem__)]

    def _between(self, one: Stmt, two: Stmt) -> Iterator[tuple[Stmt, Stmt]]:
        """Pairs of statements that are not before the one, nor after the other."""
        seen = self._before(two, self._after(one, self._seen))
        yield one, two
        yield from _near(seen)
        yield from _near(seen[::-1])

    def _holds_either(self, earlier: Stmt, later: Stmt, one: Stmt, two: Stmt) -> bool:
        """Whether the scope of a barrier holds an end of the path, so that the path passes it."""
        scope = self._facts.tree.region((earlier, later))
        return any(scope in self._scopes(end) for end in (one, two))

    def _scopes(self, stmt: Stmt) -> Iterator[Scope]:
        scope: Scope | None = self._facts.tree.places[stmt][0]
        while scope is not None:
            yield scope
            scope = scope.parent

    def _meet(self, earlier: Stmt, later: Stmt) -> bool:
        if not self._prediction.collides(earlier, later, None):
            return False
        scope = self._facts.tree.region((earlier, later))
        begin, end = (self._facts.tree.index_in(scope, one) for one in (earlier, later))
        return self._all_pass(scope, scope.statements[begin : end + 1])

    def _meet_round(self, earlier: Stmt, later: Stmt, loop: Scope) -> bool:
        assert isinstance(loop.owner, For)
        if not self._prediction.collides(earlier, later, loop.owner):
            return False
        begin, end = (self._facts.tree.index_in(loop, one) for one in (earlier, later))
        passed = (*loop.statements[begin:], *loop.statements[: end + 1])
        return self._all_pass(loop, passed)

    def _all_pass(self, scope: Scope, passed: Iterable[Stmt]) -> bool:
        """Whether all threads of the group execute these statements of a scope, and meet at
        whatever the pass takes for a barrier in them."""
        if not self._facts.assumed_for(scope.statements[0], self._group):
            return False
        return not any(map(self._prediction.candidates.may_be_skipped, passed))


def _paths(first: Accesses, second: Accesses) -> Iterator[tuple[Stmt, Stmt]]:
    found = (
        (one, two)
        for one, earlier in first
        for two, later in second
        if Access.READ not in (earlier.access, later.access) or earlier.access is not later.access
    )
    return iter(dict.fromkeys(found))


def _near(seen: Sequence[Stmt]) -> Iterator[tuple[Stmt, Stmt]]:
    """Pairs of the first of these statements, in their order or backwards."""
    for at in range(min(NEAR, len(seen))):
        for stmt in seen[at + 1 : at + 1 + NEAR]:
            yield seen[at], stmt
            yield stmt, seen[at]
