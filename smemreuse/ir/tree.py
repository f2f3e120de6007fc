"""Where the statements of a kernel stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smemreuse.ir.kernel import Attr, Block, For, If, Stmt, While, nested_blocks


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


def straight_line(block: Block) -> Iterator[Stmt]:
    """Statements without those of branches and loops."""
    for stmt in block:
        yield stmt
        if isinstance(stmt, Attr):
            yield from straight_line(stmt.body)
