"""Writes an expression of the model, such as an arena's size, as TVMScript that reads back."""

from __future__ import annotations

from smemreuse.errors import PlanError
from smemreuse.ir.expr import INFIX, Call, Const, Expr, Var, format_expr
from smemreuse.ir.kernel import UNKNOWN_SIZE

# Functions of TVMScript by the model's names, as far as sizes may be made of them.
_FUNCTIONS = {
    "div": "Div",  # `/` is no division of integers
    "mod": "truncmod",
    "not": "Not",
    "select": "Select",
    "cast": "Cast",
    **{name: name for name in ("min", "max", "if_then_else", "ceildiv", "int32", "int64")},
    **{f"bitwise_{name}": f"bitwise_{name}" for name in ("and", "or", "xor", "not")},
    **{f"shift_{name}": f"shift_{name}" for name in ("left", "right")},
}


def write_script(expr: Expr, prefix: str) -> str:
    """`expr` as TVMScript, under the name that means `T` in the file.

    Raises `PlanError` for what is no arithmetic: memory may hold another value where it is written.
    """
    return format_expr(_renamed(expr, prefix))


def _renamed(expr: Expr, prefix: str) -> Expr:
    if isinstance(expr, Const) and expr.dtype:
        return Call(f"{prefix}.{expr.dtype}", (Const(expr.value),))
    if isinstance(expr, (Const, Var)):
        return expr
    if isinstance(expr, Call) and (expr.op in _FUNCTIONS or expr.op in INFIX):
        name = f"{prefix}.{_FUNCTIONS[expr.op]}" if expr.op in _FUNCTIONS else expr.op
        return Call(name, tuple(_renamed(argument, prefix) for argument in expr.args))
    if expr == UNKNOWN_SIZE:
        raise PlanError("a buffer is allocated without a size; give it one")
    raise PlanError(f"the arena would have a size that reads memory: `{format_expr(expr)}`")
