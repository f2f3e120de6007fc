"""Where the statements of a kernel stand, and the kernel with others put in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smemreuse.ir.kernel import (
    Attr,
    Block,
    Evaluate,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.results.mending import Insertion


@dataclass(frozen=True, eq=False)
class Spot:
    """The position of a statement: a block, its index there, and the scope that holds the block."""

    scope: Stmt | None
    block: Block
    index: int

    @property
    def stmt(self) -> Stmt:
        return self.block[self.index]


Path = tuple[Spot, ...]
"""From the kernel's body inwards: the statements that enclose one, and last the one itself."""


class StatementTree:
    """The position of each statement in a kernel's body."""

    def __init__(self, body: Block):
        self.body = body
        self._paths: dict[Stmt, Path] = {}
        self._add(body, None, ())

    def _add(self, block: Block, scope: Stmt | None, above: Path) -> None:
        """Records the path to each statement of a block, and of the blocks nested in it."""
        for index, stmt in enumerate(block):
            path = (*above, Spot(scope, block, index))
            self._paths[stmt] = path
            for inner in nested_blocks(stmt):
                self._add(inner, stmt, path)

    def path(self, stmt: Stmt) -> Path:
        """The positions from the body down to a statement; empty if it is not in the body."""
        return self._paths.get(stmt, ())

    def common(self, one: Stmt, two: Stmt) -> tuple[Spot, Spot] | None:
        """The positions, in the innermost block that holds both, of the statements that contain
        each.

        None if no block holds both.
        """
        found = None
        for mine, theirs in zip(self.path(one), self.path(two), strict=False):
            if mine.block is not theirs.block:
                break
            found = (mine, theirs)
        return found

    def in_two_arms(self, one: Stmt, two: Stmt) -> bool:
        """Whether the two statements are in different arms of the innermost branch that
        holds both.
        """
        spots = self.common(one, two)
        return (
            spots is not None and spots[0].stmt is spots[1].stmt and isinstance(spots[0].stmt, If)
        )

    def loops(self, stmt: Stmt) -> list[For | While]:
        """The loops around a statement, the outermost first."""
        around = [spot.stmt for spot in self.path(stmt)[:-1]]
        return [scope for scope in around if isinstance(scope, (For, While))]

    def unconditional(self, stmt: Stmt) -> list[For]:
        """The loops around a statement, innermost first, up to the first scope that is no `for`
        loop.
        """
        found = []
        for spot in reversed(self.path(stmt)[:-1]):
            if not isinstance(spot.stmt, For):
                break
            found.append(spot.stmt)
        return found

    def after(self, stmt: Stmt) -> Iterator[Stmt]:
        """The statements that may follow a statement, those of the nearest block first.

        In a loop, statements before it follow as well, in the next round.
        """
        for spot in reversed(self.path(stmt)):
            yield from spot.block[spot.index + 1 :]
            if isinstance(spot.scope, (For, While)):
                yield from spot.block[: spot.index]


def last_of(block: Block) -> Stmt:
    """The last statement of a block; of an annotation over the rest, the last one inside it."""
    last = block[-1]
    while isinstance(last, Attr) and last.body:
        last = last.body[-1]
    return last


def with_insertions(body: Block, insertions: Sequence[Insertion]) -> tuple[Block, dict[Stmt, Stmt]]:
    """The body with new statements inserted, and a map from each rebuilt scope to the
    original one.
    """
    around: dict[tuple[Stmt, bool], list[Stmt]] = {}
    for one in insertions:
        made = [Evaluate(each.call) for each in one.inserted]
        around.setdefault((one.anchor, one.after), []).extend(made)
    origins: dict[Stmt, Stmt] = {}
    touched = _touched(body, {anchor for anchor, _ in around})

    def rebuilt(block: Block) -> Block:
        found: list[Stmt] = []
        for stmt in block:
            found += around.get((stmt, False), ())
            found.append(_scope(stmt) if stmt in touched else stmt)
            found += around.get((stmt, True), ())
        return tuple(found)

    def _scope(stmt: Stmt) -> Stmt:
        new: Stmt
        if isinstance(stmt, If):
            new = replace(stmt, then=rebuilt(stmt.then), orelse=rebuilt(stmt.orelse))
        elif isinstance(stmt, (For, While, Attr)):
            new = replace(stmt, body=rebuilt(stmt.body))
        else:
            return stmt
        origins[new] = stmt
        return new

    return rebuilt(body), origins


def _touched(body: Block, anchors: set[Stmt]) -> set[Stmt]:
    """The scopes that contain an anchor of an insertion."""
    found = set()
    for stmt in walk_statements(body):
        if any(
            inner in anchors for block in nested_blocks(stmt) for inner in walk_statements(block)
        ):
            found.add(stmt)
    return found
