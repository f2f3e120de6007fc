"""Turns the arithmetic of symbolic sizes back into TIR, for either compiler."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from smemreuse.errors import BackendError
from smemreuse.ir.expr import Call, Const, Expr, Var, format_expr


class TirBuilder:
    """Builds live TIR with the operators of `tirx`, the compiler's own module."""

    def __init__(
        self, tirx: Any, variables: Mapping[Any, Var], inside: Collection[Any] = frozenset()
    ):
        """`variables` are those that a visitor met; those of `inside` are not known yet where
        sizes are built."""
        self._tirx = tirx
        self._variables = {
            var: tir_var for tir_var, var in variables.items() if tir_var not in inside
        }
        self._operators = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "floordiv": tirx.floordiv,
            "floormod": tirx.floormod,
            "ceildiv": tirx.ceildiv,
            "div": tirx.truncdiv,
            "mod": tirx.truncmod,
            "min": tirx.min,
            "max": tirx.max,
            "shift_left": lambda a, b: a << b,
            "shift_right": lambda a, b: a >> b,
            "bitwise_and": lambda a, b: a & b,
            "bitwise_or": lambda a, b: a | b,
            "bitwise_xor": lambda a, b: a ^ b,
            "lt": lambda a, b: a < b,
            "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b,
            "ge": lambda a, b: a >= b,
            "eq": tirx.EQ,
            "ne": tirx.NE,
        }

    def build(self, expr: Expr) -> Any:
        """Raises `BackendError` for what cannot be written, or not in this place."""
        if isinstance(expr, Const) and isinstance(expr.value, int):
            return self._tirx.IntImm("int32", expr.value)
        if isinstance(expr, Var) and expr in self._variables:
            return self._variables[expr]
        if isinstance(expr, Call) and expr.op == "cast":
            return self._tirx.Cast("int32", self.build(expr.args[1]))
        if isinstance(expr, Call) and expr.op in self._operators and len(expr.args) == 2:
            left, right = (self.build(arg) for arg in expr.args)
            return self._operators[expr.op](left, right)
        if isinstance(expr, Call) and expr.op in ("select", "if_then_else") and len(expr.args) == 3:
            return self._tirx.Select(*map(self.build, expr.args))
        raise BackendError(f"the size `{format_expr(expr)}` is not known where the kernel begins")
