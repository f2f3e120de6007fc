"""Where in a function's text a statement may be put, so that later ones can use it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from smemreuse.compilers.text.statements import FunctionText
from smemreuse.ir.expr import Expr, Var, walk


@dataclass(frozen=True)
class InsertionPoint:
    """Before statement `index` of a block; the last element of a path leads there."""

    block: Sequence[ast.stmt]
    index: int

    @property
    def node(self) -> ast.stmt:
        return self.block[self.index]


Path = tuple[InsertionPoint, ...]
"""From the function's block inwards: the statements that enclose one, and last the one itself."""


class InsertionPoints:
    """The blocks of one function."""

    def __init__(self, text: FunctionText):
        self._definitions = text.definitions
        self._paths = dict(_paths(text.nodes, ()))

    def before(self, node: ast.stmt) -> InsertionPoint:
        """The point before a statement."""
        return self._paths[node][-1]

    def candidates(
        self, launch: ast.stmt | None, nodes: Iterable[ast.stmt]
    ) -> Iterator[InsertionPoint]:
        """Points before all of `nodes`: the first in the launch, then the last there is."""
        paths = [self._paths[node] for node in nodes]
        first = self._first_in(launch) if launch is not None else None
        if first is not None and all(_precedes(first, path) for path in paths):
            yield first
        yield _last_before(paths)

    def _first_in(self, launch: ast.stmt) -> InsertionPoint | None:
        if isinstance(launch, ast.With):
            return InsertionPoint(launch.body, 0)
        here = self._paths[launch][-1]
        return (
            InsertionPoint(here.block, here.index + 1) if here.index + 1 < len(here.block) else None
        )

    def sees(self, place: InsertionPoint, exprs: Iterable[Expr]) -> bool:
        """Whether every variable of `exprs` has its value at a place, and its name there too."""
        path = self._paths[place.node]
        meant: dict[str, object] = {}
        defined = set()
        for definition in self._definitions:
            defined.add(definition.value)
            if self._is_visible(definition.node, path):
                meant[definition.name] = definition.value
        # A parameter has no definition; it is seen unless a variable of its name hides it.
        return all(
            meant.get(var.name, None if var in defined else var) is var
            for expr in exprs
            for var in walk(expr)
            if isinstance(var, Var)
        )

    def _is_visible(self, definition: ast.stmt, path: Path) -> bool:
        if isinstance(definition, (ast.For, ast.With)):
            return any(place.block is definition.body for place in path)
        here = self._paths[definition][-1]
        return any(place.block is here.block and place.index > here.index for place in path)


def _paths(block: Sequence[ast.stmt], above: Path) -> Iterator[tuple[ast.stmt, Path]]:
    for index, node in enumerate(block):
        path = (*above, InsertionPoint(block, index))
        yield node, path
        for inner in _blocks(node):
            yield from _paths(inner, path)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks inside a statement; an `elif` is part of its `if`, for no place is before it."""
    while isinstance(node, ast.If) and _has_elif(node):
        yield node.body
        node = node.orelse[0]
    yield getattr(node, "body", [])
    yield getattr(node, "orelse", [])


def _has_elif(node: ast.If) -> bool:
    rest = node.orelse[0] if len(node.orelse) == 1 else None
    return isinstance(rest, ast.If) and rest.col_offset == node.col_offset


def _precedes(place: InsertionPoint, path: Path) -> bool:
    return any(place.block is other.block and place.index <= other.index for other in path)


def _last_before(paths: Sequence[Path]) -> InsertionPoint:
    """The innermost place that comes before all paths."""
    last = InsertionPoint(paths[0][0].block, min(path[0].index for path in paths))
    for level in zip(*paths, strict=False):
        if any(place.block is not level[0].block for place in level):
            break
        last = InsertionPoint(level[0].block, min(place.index for place in level))
        if any(place.index != last.index for place in level):
            break
    return last
