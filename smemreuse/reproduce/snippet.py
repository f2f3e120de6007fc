"""The part of a program that makes one kernel, cut out of it: so a report has Python and no blob.

What is cut out is a function of the module and what it names there: imports, constants and other
functions. Whether that makes the same kernel only a compiler can say; nothing is executed here.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smemreuse.results.elaboration import Elaboration

MAY_IMPORT = frozenset({"tilelang", "tvm", "torch", *sys.stdlib_module_names})
"""What the standalone file may import: TVM comes with TileLang."""

TUNER = "autotune"
"""A decorator that is left out: its choice is among the arguments."""


@dataclass(frozen=True)
class Snippet:
    """Python that stands by itself, and the expression that is the kernel's function then."""

    text: str
    expression: str


def snippet_of(text: str, made: Elaboration) -> Snippet | None:
    """What of a program's `text` makes a kernel; None where it cannot be separated."""
    if made.source is None:
        return None
    try:
        module = ast.parse(text)
    except SyntaxError:
        return None
    found = _Module.of(module)
    function = found.around(made.source.line)
    if function is None:
        return None
    expression = _expression(function, made.config)
    needed = found.needed_by(function)
    if expression is None or needed is None:
        return None
    lines = text.splitlines()
    parts = [_text(lines, one) for one in needed]
    return Snippet("\n".join(parts), expression)


@dataclass(frozen=True)
class _Module:
    """The statements at the top of a module, and which of them define which name."""

    body: Sequence[ast.stmt]
    defining: Mapping[str, ast.stmt]

    @classmethod
    def of(cls, module: ast.Module) -> _Module:
        body = list(module.body)
        return cls(body, {name: stmt for stmt in body for name in _defined(stmt)})

    def around(self, line: int) -> ast.FunctionDef | None:
        """The function that a line is in, the line of a decorator too."""
        for stmt in self.body:
            if isinstance(stmt, ast.FunctionDef):
                first = min([stmt.lineno, *(one.lineno for one in stmt.decorator_list)])
                if first <= line <= (stmt.end_lineno or first):
                    return stmt
        return None

    def needed_by(self, function: ast.FunctionDef) -> list[ast.stmt] | None:
        """The statements that a function needs, itself among them, in order.

        None where it names something that is not at the top of the module, or that may not be
        imported.
        """
        needed: set[ast.stmt] = {function}
        open_ones: list[ast.stmt] = [function]
        while open_ones:
            for name in _named(open_ones.pop()):
                stmt = self.defining.get(name)
                if stmt is None or stmt in needed:
                    continue
                if isinstance(stmt, (ast.Import, ast.ImportFrom)) and not _may_import(stmt):
                    return None
                needed.add(stmt)
                open_ones.append(stmt)
        return [stmt for stmt in self.body if stmt in needed]


def _defined(stmt: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top defines."""
    if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
        yield stmt.name
    elif isinstance(stmt, (ast.Import, ast.ImportFrom)):
        yield from (one.asname or one.name.partition(".")[0] for one in stmt.names)
    elif isinstance(stmt, (ast.Assign, ast.AnnAssign)):
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _named(stmt: ast.stmt) -> set[str]:
    """The names that a statement takes from the module."""
    found = _free(stmt) if isinstance(stmt, ast.FunctionDef) else _used(ast.walk(stmt))
    return {name for name in found if not hasattr(builtins, name)}


def _free(function: ast.FunctionDef) -> set[str]:
    """The names that a function does not bind itself, and those of what stands before its body."""
    inside = [*_scope(function.body)]
    bound = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    used = _used(inside)
    for one in inside:
        if isinstance(one, ast.FunctionDef):
            bound.add(one.name)
            used |= _free(one)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            bound.add(one.id)
        elif isinstance(one, ast.alias):
            bound.add((one.asname or one.name).partition(".")[0])
    decorators = [one for one in function.decorator_list if _decorator(one) != TUNER]
    before = [*decorators, function.args, *filter(None, [function.returns])]
    return used - bound | _used(node for one in before for node in ast.walk(one))


def _scope(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a function's body, but for those of the functions in it."""
    open_ones: list[ast.AST] = [*body]
    while open_ones:
        node = open_ones.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            open_ones += ast.iter_child_nodes(node)


def _used(nodes: Iterable[ast.AST]) -> set[str]:
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _may_import(stmt: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(stmt, ast.ImportFrom):
        names = ["." if stmt.level else str(stmt.module)]
    else:
        names = [one.name for one in stmt.names]
    return all(name.partition(".")[0] in MAY_IMPORT for name in names)


def _expression(function: ast.FunctionDef, config: Mapping[str, Any]) -> str | None:
    """What makes the kernel: the function itself where it is one, or a call of its factory."""
    decorators = [*map(_decorator, function.decorator_list)]
    if "prim_func" in decorators:
        return function.name
    # A text may be a few words for what is not plain, or the name of a type: the compiler tells.
    plain = (bool, int, float, str, type(None))
    if "jit" not in decorators:
        return None
    if not all(isinstance(one, plain) for one in config.values()):
        return None
    arguments = ", ".join(f"{name}={value!r}" for name, value in config.items())
    return f"{function.name}.get_tir({arguments})"


def _decorator(node: ast.expr) -> str:
    """The last name of a decorator, without its arguments."""
    return ast.unparse(node).partition("(")[0].rpartition(".")[2]


def _text(lines: Sequence[str], stmt: ast.stmt) -> str:
    decorators = getattr(stmt, "decorator_list", ())
    first = min([stmt.lineno, *(one.lineno for one in decorators)])
    tuners = [one for one in decorators if _decorator(one) == TUNER]
    left_out = {line for one in tuners for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    kept = range(first, (stmt.end_lineno or stmt.lineno) + 1)
    text = "\n".join(lines[at - 1] for at in kept if at not in left_out)
    return f"\n\n{text}\n" if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)) else text
