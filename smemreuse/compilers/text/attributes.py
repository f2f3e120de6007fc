"""Function attributes of a dump as plain Python data."""

from __future__ import annotations

import ast


def literal_dict(node: ast.expr) -> dict[str, object]:
    """The dictionary that `T.func_attr` is given; empty for anything that is none."""
    literal = _literal(node)
    return literal if isinstance(literal, dict) else {}


def _literal(node: ast.expr) -> object:
    """A function attribute's value; calls such as `T.target({...})` give their only argument."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_literal(key)): _literal(value) for key, value in pairs if key is not None}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return _literal(node.args[0])
    return ast.unparse(node)
