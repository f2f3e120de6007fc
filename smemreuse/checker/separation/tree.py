"""The statements of a kernel as scopes that run one statement after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from smemreuse.ir.kernel import Assert, Attr, Block, For, Stmt, While, nested_blocks


@dataclass(eq=False)
class Scope:
    """Statements that follow one another, those within attributes and asserts among them.

    `owner` is the branch or loop of which they are an arm or the body, at `place` of `parent`.
    """

    owner: Stmt | None = None
    parent: Scope | None = None
    place: int = 0
    depth: int = 0
    statements: list[Stmt] = field(default_factory=list)

    @property
    def loop(self) -> Scope | None:
        """The innermost scope around, or this one, that is the body of a loop."""
        scope: Scope | None = self
        while scope is not None and not isinstance(scope.owner, (For, While)):
            scope = scope.parent
        return scope


class Tree:
    """The scopes of a kernel, and where in them each statement is."""

    def __init__(self, body: Block):
        self.scopes: dict[Block, Scope] = {}
        self.places: dict[Stmt, tuple[Scope, int]] = {}
        self.root = Scope()
        self._fill(self.root, body)

    def _fill(self, scope: Scope, block: Block) -> None:
        for stmt in block:
            at = len(scope.statements)
            self.places[stmt] = (scope, at)
            scope.statements.append(stmt)
            for inner in nested_blocks(stmt):
                if isinstance(stmt, (Attr, Assert)):
                    self._fill(scope, inner)
                elif inner:
                    self.scopes[inner] = Scope(stmt, scope, at, scope.depth + 1)
                    self._fill(self.scopes[inner], inner)

    def around(self, stmt: Stmt) -> Iterator[Stmt]:
        """A statement, and the branches and loops that it is in."""
        yield stmt
        scope: Scope | None = self.places[stmt][0]
        while scope is not None and scope.owner is not None:
            yield scope.owner
            scope = scope.parent

    def region(self, statements: Iterable[Stmt]) -> Scope:
        """The innermost scope that holds all of these."""
        return reduce(_around_both, dict.fromkeys(self.places[stmt][0] for stmt in statements))

    def index_in(self, region: Scope, stmt: Stmt) -> int:
        """Which statement of a scope is this one, or holds it."""
        scope, at = self.places[stmt]
        while scope is not region:
            assert scope.parent is not None
            scope, at = scope.parent, scope.place
        return at


def _around_both(one: Scope, other: Scope) -> Scope:
    """The innermost scope that is, or holds, both."""
    while one is not other:
        if one.depth < other.depth:
            one, other = other, one
        assert one.parent is not None
        one = one.parent
    return one
