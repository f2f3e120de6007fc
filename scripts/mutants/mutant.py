"""One change of a function that breaks it, known by the function, an operator and a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.mutants.operators import OPERATORS

TABLE = "semantics/rows/"
"""Where the rows of the table of effects are: outside functions, too, and only there columns."""


@dataclass(frozen=True)
class Mutant:
    """The `number`th change that an operator makes in a function of a module.

    `module` is relative to the package, `function` its qualified name, or `<module>`.
    """

    module: str
    function: str
    operator: str
    number: int
    line: int
    change: str

    @property
    def name(self) -> str:
        return f"{self.module}:{self.function} {self.operator}#{self.number}"

    def source(self, text: str) -> str:
        """The module's source with this change. Raises `LookupError` where it has no such place."""
        tree = ast.parse(text)
        for function, node in _functions(tree, self.module):
            if function == self.function:
                for number, (parent, field, at, made) in enumerate(
                    _changes(node, self.operator, self.module)
                ):
                    if number == self.number:
                        _put(parent, field, at, made)
                        return ast.unparse(ast.fix_missing_locations(tree))
        raise LookupError(self.name)


def mutants_of(path: Path, module: str) -> list[Mutant]:
    """All mutants of a module, in the order of its functions."""
    found = []
    for function, node in _functions(ast.parse(path.read_text()), module):
        for operator in OPERATORS:
            for number, (_, _, at, made) in enumerate(_changes(node, operator, module)):
                line = getattr(at, "lineno", 0) or getattr(node, "lineno", 0)
                found.append(Mutant(module, function, operator, number, line, _shown(at, made)))
    return found


_Change = tuple[ast.AST, str, ast.AST, ast.AST]
"""The node that holds another, in which field, that one, and what may stand for it."""


def _functions(tree: ast.Module, module: str) -> Iterator[tuple[str, ast.AST]]:
    """Functions and methods by their qualified names; of the table also what is outside."""

    def inside(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for stmt in body:
            if isinstance(stmt, ast.FunctionDef):
                yield prefix + stmt.name, stmt
            elif isinstance(stmt, ast.ClassDef):
                yield from inside(stmt.body, f"{prefix}{stmt.name}.")

    yield from inside(tree.body, "")
    if module.startswith(TABLE):
        rows: list[ast.stmt] = [
            one for one in tree.body if isinstance(one, (ast.Assign, ast.AnnAssign))
        ]
        yield "<module>", ast.Module(rows, [])


def _changes(node: ast.AST, operator: str, module: str) -> Iterator[_Change]:
    if operator == "column" and not module.startswith(TABLE):
        return
    if isinstance(node, ast.Module) and operator != "column":
        return
    if operator == "answer":
        for made in OPERATORS["answer"](node):
            yield node, "body", node, made
        return
    for parent, field, one in _children(node):
        for made in OPERATORS[operator](one):
            yield parent, field, one, made


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    """All nodes below one, each with what holds it; annotations and docstrings are left out."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                yield node, field, one
                yield from _children(one)


def _put(parent: ast.AST, field: str, at: ast.AST, made: ast.AST) -> None:
    if parent is at:  # a function's body
        setattr(parent, field, getattr(made, field))
        return
    value = getattr(parent, field)
    if isinstance(value, list):
        value[next(index for index, one in enumerate(value) if one is at)] = made
    else:
        setattr(parent, field, made)


def _shown(at: ast.AST, made: ast.AST) -> str:
    """What stands for what, in a line."""
    if isinstance(at, ast.FunctionDef) and isinstance(made, ast.FunctionDef):
        return ast.unparse(made.body[0])
    before, after = (ast.unparse(ast.fix_missing_locations(one)) for one in (at, made))
    return f"{before.splitlines()[0][:90]}  ->  {after.splitlines()[0][:90]}"
