"""Finds the rest of a statement where a dump was cut off, as far as its syntax shows."""

from __future__ import annotations

import ast
from typing import NoReturn

from smemreuse.compilers.text.expressions import excerpt, fail, script_name

_BEGINNINGS = (ast.Attribute, ast.Name, ast.Subscript, ast.Constant)
"""What nothing printed consists of alone, and much begins with."""


def check_whole(node: ast.stmt, prefixes: frozenset[str]) -> None:
    """Raises `InputError` for the beginning of a statement, such as `T.ptx` or `As = T.alloc`."""
    if isinstance(node, ast.Expr):
        value = node.value
        is_docstring = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if isinstance(value, _BEGINNINGS) and not is_docstring:
            refuse_rest(value)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)) and node.value is not None:
        last = last_operand(node.value)
        if isinstance(last, ast.Attribute) and script_name(last, prefixes) is not None:
            refuse_rest(last)
    elif isinstance(node, ast.AnnAssign) and _is_let(node.annotation, prefixes):
        refuse_rest(node)


def refuse_rest(node: ast.AST) -> NoReturn:
    """Raises the `InputError` for something of TVMScript that cannot end a statement."""
    fail(node, f"the statement ends with `{excerpt(node)}`; the dump is cut off")


def last_operand(value: ast.expr) -> ast.expr:
    """What stands at the very end of an expression, outside of all brackets."""
    while True:
        if isinstance(value, ast.BinOp):
            value = value.right
        elif isinstance(value, ast.UnaryOp):
            value = value.operand
        elif isinstance(value, ast.BoolOp):
            value = value.values[-1]
        elif isinstance(value, ast.Compare):
            value = value.comparators[-1]
        else:
            return value


def _is_let(annotation: ast.expr, prefixes: frozenset[str]) -> bool:
    """Whether an annotation is `T.let[..]`, which only a definition has."""
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return script_name(named, prefixes) == "let"
