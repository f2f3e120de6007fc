"""Mutation operators: each gives, for a node of a function's syntax tree, what may stand for it.

The classic set (DeMillo, Lipton, Sayward 1978; mutmut and cosmic-ray have the same for Python):
conditions negated, statements dropped, operators and comparisons exchanged, answers made constant;
and of the table of effects, columns left out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Operator = Callable[[ast.AST], Iterator[ast.AST]]

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
_ARITHMETIC: dict[type[ast.operator], ast.operator] = {
    ast.BitOr: ast.BitAnd(),
    ast.BitAnd: ast.BitOr(),
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS = {
    **{"union": "intersection", "intersection": "union", "update": "difference_update"},
    **{"minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"},
}
_COLUMN_TABLES = ("Effect", "accessing", "replace")
"""What a row of the table of effects is made with; its keywords are columns."""


def negate(node: ast.AST) -> Iterator[ast.AST]:
    """A condition of a branch, a loop, an expression or a comprehension holds where it did not."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield _with(node, test=_not(node.test))
    if isinstance(node, ast.comprehension):
        for at, test in enumerate(node.ifs):
            yield _with(node, ifs=[*node.ifs[:at], _not(test), *node.ifs[at + 1 :]])


def drop(node: ast.AST) -> Iterator[ast.AST]:
    """A call, an update, an assignment to an attribute or element, or a `raise` is left out."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    sets = any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in targets)
    if is_call or sets or isinstance(node, (ast.AugAssign, ast.Raise, ast.Delete)):
        yield ast.copy_location(ast.Pass(), node)


def swap(node: ast.AST) -> Iterator[ast.AST]:
    """`and` for `or`, `min` for `max`, `any` for `all`, `|` for `&`, `+` for `-`."""
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        yield _with(node, op=_ARITHMETIC[type(node.op)])
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _NAMES:
            yield _with(node, func=ast.Name(_NAMES[node.func.id], ast.Load()))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            yield _with(node, func=_with(node.func, attr=_METHODS[node.func.attr]))


def compare(node: ast.AST) -> Iterator[ast.AST]:
    """A comparison is off by one, or its opposite."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        yield _with(node, ops=[_COMPARISONS[type(node.ops[0])], *node.ops[1:]])


def answer(node: ast.AST) -> Iterator[ast.AST]:
    """A function answers yes, no, or with nothing, whatever it is asked."""
    if not isinstance(node, ast.FunctionDef) or node.returns is None:
        return
    returns = ast.unparse(node.returns)
    if returns == "bool":
        values = ["True", "False"]
    elif returns.endswith("| None"):
        values = ["None"]
    else:
        kind = returns.partition("[")[0].lower()
        empty = {"list": "[]", "tuple": "()", "set": "set()", "frozenset": "frozenset()"}
        values = [
            {**empty, "dict": "{}", "iterator": "iter(())", "mapping": "{}", "sequence": "()"}.get(
                kind, ""
            )
        ]
    for value in filter(None, values):
        yield _with(node, body=[ast.parse(f"return {value}").body[0]])


def column(node: ast.AST) -> Iterator[ast.AST]:
    """A row of the table of effects lacks one of its columns."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for at, _ in enumerate(node.keywords if node.func.id in _COLUMN_TABLES else ()):
            yield _with(node, keywords=[*node.keywords[:at], *node.keywords[at + 1 :]])


OPERATORS: dict[str, Operator] = {
    one.__name__: one for one in (negate, drop, swap, compare, answer, column)
}


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _with(node: ast.AST, **changed: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in changed.items():
        setattr(made, name, value)
    return made
