"""All that tells where a later pass puts barriers into a kernel under a plan (rule 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from smemreuse.checker.budget import Work
from smemreuse.checker.execution.slice import Operations
from smemreuse.checker.predicted.candidates import Sites
from smemreuse.checker.predicted.collisions import Collisions
from smemreuse.checker.predicted.path_conditions import Surroundings
from smemreuse.ir.expr import Expr, Load, Var, variables_in, walk
from smemreuse.ir.kernel import (
    Block,
    Buffer,
    For,
    Kernel,
    Stmt,
    nested_blocks,
    walk_statements,
)
from smemreuse.ir.launch import AXES, launches, tag_of, thread_axes
from smemreuse.semantics.pointers import Pointers
from smemreuse.semantics.sights import Sight, sights_of


@dataclass(frozen=True)
class Seen:
    """What the pass sees of a kernel, whatever the plan is."""

    around: Surroundings
    collisions: Collisions
    thread_variables: frozenset[Var]
    in_order: tuple[Stmt, ...]

    @staticmethod
    def of(body: Block, pointers: Pointers) -> Seen:
        """Raises `UnknownThreads`."""
        around = Surroundings(body, thread_axes(body))
        sights: dict[Stmt, tuple[Sight, ...]] = {}
        for stmt in walk_statements(body):
            found = sights_of(stmt, pointers)
            if found:
                sights[stmt] = found
        own = (one.var for one in launches(body) if tag_of(one) in AXES and one.var is not None)
        return Seen(around, Collisions(around, sights), frozenset(own), tuple(sights))


def _positions(body: Block, sites: Sites) -> dict[Stmt, int]:
    found: dict[Stmt, int] = {}
    last = 0
    for stmt in walk_statements(body):
        last += sites.may_stand(stmt) or (bool(nested_blocks(stmt)) and sites.may_be_around(stmt))
        found[stmt] = last
    return found


def seen_of(kernel: Kernel, pointers: Pointers) -> Seen:
    """That of a kernel, kept with it. Raises `UnknownThreads`."""
    found = kernel.derived.get(Seen)
    if not isinstance(found, Seen):
        found = kernel.derived[Seen] = Seen.of(kernel.body, pointers)
    return found


@dataclass
class Foreseen:
    """The same under a plan: `offsets` are those of buffers that the pass sees in one arena.

    With `hoping`, all that the pass compares is taken to collide, and a barrier to be wherever one
    may be, though nobody knows: for a plan that is judged once more when the barriers are there.
    """

    seen: Seen
    sites: Sites
    offsets: Mapping[Buffer, int]
    work: Work
    _positions: Mapping[Stmt, int]
    hoping: bool = False
    _known: dict[tuple[Stmt, Stmt, For | None], bool] = field(default_factory=dict)

    @staticmethod
    def of(
        body: Block,
        seen: Seen,
        operations: Operations,
        offsets: Mapping[Buffer, int],
        partners: Mapping[Buffer, Collection[Buffer]],
        work: Work,
        *,
        hoping: bool = False,
    ) -> Foreseen:
        """`partners` are the buffers that share bytes with another one."""

        def surely(one: Stmt, two: Stmt) -> bool:
            return seen.collisions.surely(one, two, None, offsets, work)

        sites = Sites(
            body,
            seen.collisions.sights,
            operations.effects,
            partners,
            surely,
            seen.collisions.moves_on,
        )
        return Foreseen(seen, sites, offsets, work, _positions(body, sites), hoping)

    @property
    def around(self) -> Surroundings:
        return self.seen.around

    def sees(self, stmt: Stmt) -> bool:
        """Whether a statement itself is compared with others."""
        return stmt in self.seen.collisions.sights

    def position(self, stmt: Stmt) -> int:
        """How many statements up to this one may have a barrier before them: what is at one
        position has none in between."""
        return self._positions[stmt]

    def known(self, one: Stmt, two: Stmt, loop: For | None) -> bool | None:
        """What `collides` has answered before; None if it has not been asked."""
        return self._known.get((one, two, loop))

    def collides(self, one: Stmt, two: Stmt, loop: For | None) -> bool:
        """Whether the pass surely sees a statement collide with a later one, or with one in the
        next round of a loop."""
        key = (one, two, loop)
        if key not in self._known:
            collisions = self.seen.collisions
            self._known[key] = (
                collisions.perhaps(one, two, loop, self.offsets)
                if self.hoping
                else collisions.surely(one, two, loop, self.offsets, self.work)
            )
        return self._known[key]

    def is_of_thread(self, condition: Expr) -> bool:
        """Whether a condition is on the indices of threads alone: in an arm of another one the pass
        leaves no barrier, since it does not know who comes."""
        if any(isinstance(node, Load) for node in walk(condition)):
            return False
        return variables_in(condition) <= self.seen.thread_variables
