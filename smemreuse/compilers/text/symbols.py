"""Names that a dump defines outside of a function's body, and those of its symbolic sizes.

    n = TypeVar("n")

    @T.prim_func
    def f(A: T.Buffer((n, 64)), B: T.Buffer((1, "m", 64)), C: T.Buffer((m,))):
        m = T.int32()

Apache TVM prints a size either so, before the module, or in the body that follows the signature
with `"m"` in the place where it is met first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from smemreuse.compilers.text.expressions import Value, fail, script_name
from smemreuse.ir.expr import Const, Var
from smemreuse.ir.types import NO_INTEGER, integer_type

_VARIABLES = ("var", "Var", "SizeVar")
_NUMBERS = ("int", "uint", "float", "bool")

OuterNames = Mapping[str, "Value | ast.Assign"]
"""What names stand for; the statement for one whose value is not evaluated."""


def outer_names(body: Sequence[ast.stmt], prefixes: frozenset[str]) -> OuterNames:
    """The names that a module's or a class's own statements define."""
    found: dict[str, Value | ast.Assign] = {}
    for node in _assignments(body):
        for target in node.targets:
            if isinstance(target, ast.Name):
                found[target.id] = _value(target.id, node, prefixes)
    return found


def _assignments(body: Sequence[ast.stmt]) -> Iterator[ast.Assign]:
    for node in body:
        if isinstance(node, ast.Assign):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _assignments(node.body)


def _value(name: str, node: ast.Assign, prefixes: frozenset[str]) -> Value | ast.Assign:
    if isinstance(node.value, ast.Call):
        return declared_variable(name, node.value, prefixes) or node
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (int, float, str)):
        return Const(node.value.value)
    return node


def declared_variable(name: str, call: ast.Call, prefixes: frozenset[str]) -> Var | None:
    """The variable without a value that `T.int64()`, `T.var("int64")` or `TypeVar("n")` makes."""
    if isinstance(call.func, ast.Name) and call.func.id == "TypeVar":
        return Var(name)
    kind = script_name(call.func, prefixes) or ""
    if kind in _VARIABLES:
        given = [*call.args, *(each.value for each in call.keywords if each.arg == "dtype")]
        stated = given[-1] if given and isinstance(given[-1], ast.Constant) else None
        return Var(name, variable_dtype(str(stated.value) if stated is not None else "int32"))
    if not call.args and kind.rstrip("0123456789") in _NUMBERS:
        return Var(name, variable_dtype(kind))
    return None


def variable_dtype(stated: str) -> str:
    """The type of a variable as the model has it, from the type that the text states; nothing for
    one that is none of numbers."""
    if stated.rstrip("0123456789") not in (*_NUMBERS, "boolean") or stated == "int32":
        return ""
    return stated if integer_type(stated) is not None else NO_INTEGER


def sizes_by_name(call: ast.Call, prefixes: frozenset[str]) -> tuple[ast.Call, tuple[str, ...]]:
    """A parameter's `T.Buffer(shape, ..)` with `"m"` written as `m`, and the names in its shape."""
    if not call.args:
        return call, ()
    shape = call.args[0]
    if isinstance(shape, (ast.Tuple, ast.List)):
        shape = ast.copy_location(ast.Tuple([*map(_by_name, shape.elts)], ast.Load()), shape)
    found = (node.id for node in ast.walk(shape) if isinstance(node, ast.Name))
    names = tuple(dict.fromkeys(name for name in found if name not in prefixes))
    return ast.copy_location(
        ast.Call(call.func, [shape, *call.args[1:]], call.keywords), call
    ), names


def _by_name(extent: ast.expr) -> ast.expr:
    if not isinstance(extent, ast.Constant) or not isinstance(extent.value, str):
        return extent
    if not extent.value.isidentifier():
        fail(extent, f"the size {extent.value!r} is neither a number nor a name")
    return ast.copy_location(ast.Name(extent.value, ast.Load()), extent)
