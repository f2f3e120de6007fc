"""Where the lanes of a warp wait for each other, which orders no access to memory.

A shuffle or a vote: what one lane read before it has come to others, and they go on only when it is
there. PTX promises no order of accesses, so nothing is proved by that; but no execution is known in
which what stands before and what stands after change places, so nothing is refuted either.
"""

from __future__ import annotations

from smemreuse.ir.kernel import Attr, Block, For, If, Stmt, While, nested_blocks
from smemreuse.ir.tree import StatementTree
from smemreuse.semantics.table import calls_of, effect_of


class Convergence:
    """The positions in a kernel where lanes converge, and the loops around them."""

    def __init__(self, body: Block):
        self._places: dict[Stmt, int] = {}
        self._converging: list[int] = []
        self._loops: list[tuple[int, int]] = []
        self._tree = StatementTree(body)
        self._visit(body)

    def _visit(self, block: Block) -> None:
        for stmt in block:
            begin = self._places[stmt] = len(self._places)
            if converges(stmt):
                self._converging.append(begin)
            for inner in nested_blocks(stmt):
                self._visit(inner)
            if isinstance(stmt, (For, While)):
                self._loops.append((begin, len(self._places)))

    def between(self, earlier: Stmt, later: Stmt) -> bool:
        """Whether lanes may converge after one statement and before another."""
        first, last = self._places.get(earlier), self._places.get(later)
        if first is None or last is None:
            return bool(self._converging)
        return any(
            first < at < last or self._goes_round(at, first, last) for at in self._converging
        )

    def surely_between(self, earlier: Stmt, later: Stmt) -> bool:
        """Whether lanes that execute both statements, one after the other, surely converge between
        them: in a statement that stands between them in the block of both, or in the condition of
        the branch that holds the later one."""
        spots = self._tree.common(earlier, later)
        if spots is None or spots[0].index >= spots[1].index:
            return False
        first, last = spots
        path, begin = self._tree.path(later), first.index + 1
        for spot in path[path.index(last) :]:
            if any(map(converges, spot.block[begin : spot.index])):
                return True
            if not isinstance(spot.stmt, (Attr, For)):
                return isinstance(spot.stmt, If) and spot.stmt is not later and converges(spot.stmt)
            begin = 0
        return False

    def _goes_round(self, place: int, *others: int) -> bool:
        """Whether a loop contains a position, and one of the others."""
        return any(
            begin <= place < end and any(begin <= other < end for other in others)
            for begin, end in self._loops
        )


def converges(stmt: Stmt) -> bool:
    """Whether lanes wait for each other in what a statement itself evaluates."""
    return any(effect_of(call).converges for call in calls_of(stmt))
