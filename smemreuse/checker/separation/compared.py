"""Whether a later pass surely puts a barrier wherever two buffers need one (rule 6).

Between two statements that it sees collide it puts one before some statement of those in between,
in the scope that holds both; so whoever goes from anywhere before the first to anywhere behind the
second meets the others there. That is to be so on every way from one buffer's access to the
other's, where one of them writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smemreuse.checker.foreseen import Foreseen
from smemreuse.checker.separation.facts import Accesses, Facts
from smemreuse.checker.separation.reach import Reach
from smemreuse.checker.separation.tree import Scope
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import For, Stmt

MAX_TRIED = 64
"""Pairs of statements that are tried for one way."""

Ways = Iterable[tuple[Stmt, Stmt]]


class Compared:
    """The accesses of two buffers, which come one after the other in a scope."""

    def __init__(
        self,
        facts: Facts,
        foreseen: Foreseen,
        region: Scope,
        group: Reach,
        accesses: tuple[Accesses, Accesses],
    ):
        self._facts = facts
        self._foreseen = foreseen
        self._region = region
        self._group = group
        first, second = accesses
        if self._place(first[0][0]) > self._place(second[0][0]):
            first, second = second, first
        self._first, self._second = first, second
        both = dict.fromkeys(stmt for stmt, _ in (*first, *second))
        made = (one for one in foreseen.seen.collisions.sights if _names(foreseen, one, accesses))
        seen = {*filter(foreseen.sees, both), *made}
        self._seen = sorted(seen, key=foreseen.around.order.__getitem__)

    def everywhere(self) -> bool:
        """Whether a barrier is put on every way that needs one."""
        if not all(self._on_the_way(one, two) for one, two in _ways(self._first, self._second)):
            return False
        loop = self._region.loop
        if loop is None:
            return True
        if not isinstance(loop.owner, For):
            return False
        return all(
            self._on_the_way_round(one, two, loop) for one, two in _ways(self._second, self._first)
        )

    def _place(self, stmt: Stmt) -> int:
        return self._facts.tree.index_in(self._region, stmt)

    def _on_the_way(self, one: Stmt, two: Stmt) -> bool:
        return any(
            self._meet(earlier, later)
            for earlier, later in self._between(one, two)
            if self._holds_either(earlier, later, one, two)
        )

    def _on_the_way_round(self, one: Stmt, two: Stmt, loop: Scope) -> bool:
        """From one round to the next: behind the one, before the other, or where rounds meet."""
        order, since = self._foreseen.around.order, self._foreseen.position
        behind = [stmt for stmt in self._seen if since(stmt) >= since(one)]
        before = [stmt for stmt in self._seen if order[stmt] <= order[two]]
        inside = self._within(loop)
        tried = [(a, b) for a in reversed(behind) for b in before if a in inside and b in inside]
        if any(self._meet_round(a, b, loop) for a, b in tried[:MAX_TRIED]):
            return True
        rest = [(a, b) for a in behind for b in behind if a in inside and b in inside]
        rest += [(a, b) for a in before for b in before if a in inside and b in inside]
        return any(
            self._meet(a, b) for a, b in rest[:MAX_TRIED] if self._holds_either(a, b, one, two)
        )

    def _within(self, loop: Scope) -> set[Stmt]:
        return {stmt for stmt in self._seen if loop.owner in self._facts.tree.around(stmt)}

    def _between(self, one: Stmt, two: Stmt) -> Sequence[tuple[Stmt, Stmt]]:
        """Pairs of statements that are not before the one, nor behind the other: nearest first."""
        order, since = self._foreseen.around.order, self._foreseen.position
        seen = [
            stmt for stmt in self._seen if since(stmt) >= since(one) and order[stmt] <= order[two]
        ]
        pairs = [(a, b) for a in seen for b in seen if order[a] < order[b]]
        pairs.sort(key=lambda pair: order[pair[0]] - order[pair[1]])
        return pairs[:MAX_TRIED]

    def _holds_either(self, earlier: Stmt, later: Stmt, one: Stmt, two: Stmt) -> bool:
        """Whether the scope of a barrier holds an end of the way, so that the way leads by it."""
        scope = self._facts.tree.region((earlier, later))
        return any(scope in self._scopes(end) for end in (one, two))

    def _scopes(self, stmt: Stmt) -> Iterator[Scope]:
        scope: Scope | None = self._facts.tree.places[stmt][0]
        while scope is not None:
            yield scope
            scope = scope.parent

    def _meet(self, earlier: Stmt, later: Stmt) -> bool:
        if not self._foreseen.collides(earlier, later, None):
            return False
        scope = self._facts.tree.region((earlier, later))
        begin, end = (self._facts.tree.index_in(scope, one) for one in (earlier, later))
        return self._all_pass(scope, scope.statements[begin : end + 1])

    def _meet_round(self, earlier: Stmt, later: Stmt, loop: Scope) -> bool:
        assert isinstance(loop.owner, For)
        if not self._foreseen.collides(earlier, later, loop.owner):
            return False
        begin, end = (self._facts.tree.index_in(loop, one) for one in (earlier, later))
        passed = (*loop.statements[begin:], *loop.statements[: end + 1])
        return self._all_pass(loop, passed)

    def _all_pass(self, scope: Scope, passed: Iterable[Stmt]) -> bool:
        """Whether all of the group come by these statements of a scope, and meet at whatever the
        pass takes for a barrier in them."""
        if not self._facts.assumed_for(scope.statements[0], self._group):
            return False
        return not any(map(self._foreseen.sites.may_skip, passed))


def _ways(first: Accesses, second: Accesses) -> Iterator[tuple[Stmt, Stmt]]:
    found = (
        (one, two)
        for one, earlier in first
        for two, later in second
        if Access.READ not in (earlier.access, later.access) or earlier.access is not later.access
    )
    return iter(dict.fromkeys(found))


def _names(foreseen: Foreseen, stmt: Stmt, accesses: tuple[Accesses, Accesses]) -> bool:
    """Whether a statement is seen to access one of the two buffers."""
    buffers = {found[0][1].buffer for found in accesses}
    return any(one.buffer in buffers for one in foreseen.seen.collisions.sights[stmt])
