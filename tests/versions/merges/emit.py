"""Writes a random module as TIR, for either compiler: their constructors are nearly the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from smemreuse.ir.expr import Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
)

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")
}


class Emitter:
    """Makes TIR of one launch. `tvm` is the compiler's package, `is_apache` says whose it is."""

    def __init__(self, tvm: Any, *, is_apache: bool):
        self.tvm = tvm
        self.tirx = getattr(tvm, "tirx", None) or tvm.tir
        self._is_apache = is_apache
        self._buffers: dict[Buffer, Any] = {}
        self._vars: dict[Var, Any] = {}

    def launch(self, kernel: Kernel) -> Any:
        return self._block(kernel.body)

    def _block(self, block: Block) -> Any:
        stmts = []
        for at, stmt in enumerate(block):
            if not hasattr(self.tirx, "Bind") and isinstance(stmt, (Allocate, Declare, Bind)):
                stmts.append(self._around(stmt, block[at + 1 :]))
                break
            stmts.append(self._stmt(stmt))
        return stmts[0] if len(stmts) == 1 else self.tirx.SeqStmt(stmts)

    def _around(self, stmt: Stmt, rest: Block) -> Any:
        """A statement that is the parent of what follows it, as before 2026."""
        tir = self.tirx
        if isinstance(stmt, Bind):
            value = self._expr(stmt.value)
            var = self._vars[stmt.var] = tir.Var(stmt.var.name, value.dtype)
            return tir.LetStmt(var, value, self._rest(rest))
        if isinstance(stmt, Declare):
            assert isinstance(stmt.buffer.data, Buffer)
            declared = self._buffer(stmt.buffer, data=self._buffers[stmt.buffer.data].data)
            return tir.DeclBuffer(declared, self._rest(rest))
        assert isinstance(stmt, Allocate)
        made = self._buffer(stmt.buffer)
        condition = tir.const(True, "bool")
        body = tir.DeclBuffer(made, self._rest(rest))
        return tir.Allocate(made.data, made.dtype, made.shape, condition, body)

    def _rest(self, block: Block) -> Any:
        return self._block(block) if block else self.tirx.Evaluate(0)

    def _stmt(self, stmt: Stmt) -> Any:
        tirx, expr = self.tirx, self._expr
        if isinstance(stmt, Allocate):
            return tirx.AllocBuffer(self._buffer(stmt.buffer))
        if isinstance(stmt, Declare):
            return self._view(stmt.buffer)
        if isinstance(stmt, Store):
            (index,) = stmt.indices
            return tirx.BufferStore(self._buffers[stmt.buffer], expr(stmt.value), [expr(index)])
        if isinstance(stmt, Evaluate):
            return tirx.Evaluate(expr(stmt.value))
        if isinstance(stmt, Bind):
            value = expr(stmt.value)
            kind = value.ty if self._is_apache else value.dtype
            self._vars[stmt.var] = tirx.Var(stmt.var.name, kind)
            return tirx.Bind(self._vars[stmt.var], value)
        if isinstance(stmt, For):
            var = self._vars[stmt.var] = tirx.Var(stmt.var.name, "int32")
            return tirx.For(var, 0, expr(stmt.extent), 0, self._block(stmt.body))
        if isinstance(stmt, While):
            return tirx.While(expr(stmt.condition), self._block(stmt.body))
        if isinstance(stmt, If):
            orelse = self._block(stmt.orelse) if stmt.orelse else None
            return tirx.IfThenElse(expr(stmt.condition), self._block(stmt.then), orelse)
        assert isinstance(stmt, Attr)
        return self._attr(stmt)

    def _attr(self, stmt: Attr) -> Any:
        tirx, value = self.tirx, self._expr(stmt.value)
        node = tirx.const(0, "int32")
        if stmt.key == THREAD_EXTENT:
            assert stmt.var is not None
            var = self._vars[stmt.var] = tirx.Var(stmt.var.name, "int32")
            node = tirx.IterVar(self.tvm.ir.Range(0, value), var, 1, self._expr(stmt.node))
        return tirx.AttrStmt(node, stmt.key, value, self._block(stmt.body))

    def _buffer(self, buffer: Buffer, **extra: Any) -> Any:
        if buffer.alignment is not None:
            extra["data_alignment"] = buffer.alignment
        shape = tuple(map(self._expr, buffer.shape))
        made = self.tirx.decl_buffer(shape, buffer.dtype, buffer.name, scope=buffer.scope, **extra)
        self._buffers[buffer] = made
        return made

    def _view(self, buffer: Buffer) -> Any:
        """The statement that declares a view."""
        assert isinstance(buffer.data, Buffer)
        data = self._buffers[buffer.data].data
        if self._is_apache:
            return self.tirx.DeclBuffer(self._buffer(buffer), data=data)
        return self.tirx.DeclBuffer(self._buffer(buffer, data=data))

    def _expr(self, expr: Expr) -> Any:
        if isinstance(expr, Const):
            return expr.value
        if isinstance(expr, Var):
            return self._vars[expr]
        if isinstance(expr, Pointer):
            return self._buffers[expr.buffer].data
        if isinstance(expr, Load):
            (index,) = expr.indices
            return self._buffers[expr.buffer][self._expr(index)]
        if expr.op == "tvm_access_ptr":
            pointer = expr.args[1]
            assert isinstance(pointer, Pointer)
            return self._buffers[pointer.buffer].access_ptr("r")
        args = [self._expr(arg) for arg in expr.args]
        if expr.op in _COMPARED:
            return _COMPARED[expr.op](*args)
        assert expr.op in ("call_extern", "address_of")
        return getattr(self.tirx, expr.op)(*args)
