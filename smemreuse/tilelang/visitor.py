"""Turns live TIR objects of TileLang's `tvm` into the access tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilelang import tvm

from smemreuse.errors import BackendError
from smemreuse.frontend.kernels import split_kernels
from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.model.kernel import (
    ANYWHERE,
    Allocate,
    Assert,
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
    is_row_major,
)

ir, tirx = tvm.ir, tvm.tirx

_BINARY: Mapping[type, str] = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.Div: "div",
    tirx.Mod: "mod",
    tirx.FloorDiv: "floordiv",
    tirx.FloorMod: "floormod",
    tirx.Min: "min",
    tirx.Max: "max",
    tirx.EQ: "eq",
    tirx.NE: "ne",
    tirx.LT: "lt",
    tirx.LE: "le",
    tirx.GT: "gt",
    tirx.GE: "ge",
    tirx.And: "and",
    tirx.Or: "or",
}
_LOOP_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")
_DTYPE_FIRST, _DTYPE_LAST = 1, 2  # where the printer writes a call's type, if it does


def read_function(name: str, func: Any) -> list[Kernel]:
    """The device kernels of a live function; none for a host function."""
    return TirVisitor().kernels(name, func)


def read_module(mod: Any) -> list[Kernel]:
    """The device kernels of a live module, in the module's order of functions."""
    return [
        kernel
        for var, func in sorted(mod.functions.items(), key=lambda item: str(item[0].name_hint))
        if isinstance(func, tirx.PrimFunc)
        for kernel in read_function(str(var.name_hint), func)
    ]


class TirVisitor:
    """One function's conversion. Variables keep their identity, names may repeat."""

    def __init__(self, merged: Mapping[Any, Buffer] | None = None) -> None:
        """`merged` gives the buffers that a plan has made pointers into an arena, by their data
        variables; they are read as the allocations that they were."""
        self.allocated: dict[Any, Buffer] = dict(merged or {})  # data variable -> its allocation
        self._buffers: dict[Any, Buffer] = {}
        self.vars: dict[Any, Var] = {}
        self._op_names: dict[Any, tuple[str, int]] = {}

    def kernels(self, name: str, func: Any) -> list[Kernel]:
        attrs = {str(key): _plain(value) for key, value in (func.attrs or {}).items()}
        return split_kernels(name, self.block(func.body), attrs, "tilelang")

    # Statements ---------------------------------------------------------------------------------

    def block(self, node: Any) -> Block:
        if node is None:
            return ()
        if isinstance(node, tirx.SeqStmt):
            return tuple(stmt for child in node.seq for stmt in self.block(child))
        return (self._statement(node),)

    def _statement(self, node: Any) -> Stmt:
        read = _STATEMENTS.get(type(node))
        if read is None:
            raise BackendError(f"unknown TIR statement {type(node).__name__}")
        return read(self, node)

    def _alloc_buffer(self, node: Any) -> Stmt:
        buffer = node.buffer
        made = self._make_buffer(buffer, None)
        self.allocated[buffer.data] = made
        self._buffers[buffer] = made
        return Allocate(made)

    def _decl_buffer(self, node: Any) -> Stmt:
        return Declare(self.buffer(node.buffer))

    def _bind(self, node: Any) -> Stmt:
        if node.var in self.allocated:
            return Allocate(self.allocated[node.var])
        is_handle = str(node.var.dtype) == "handle"
        return Bind(self._var(node.var), self.expr(node.value), may_be_address=is_handle)

    def _buffer_store(self, node: Any) -> Stmt:
        predicate = self.expr(node.predicate) if node.predicate is not None else None
        indices = tuple(self.expr(index) for index in node.indices)
        return Store(self.buffer(node.buffer), indices, self.expr(node.value), predicate)

    def _evaluate(self, node: Any) -> Stmt:
        return Evaluate(self.expr(node.value))

    def _for(self, node: Any) -> Stmt:
        step = self.expr(node.step) if node.step is not None else Const(1)
        begin, extent = self.expr(node.min), self.expr(node.extent)
        kind = _LOOP_KINDS[int(node.kind)]
        return For(self._var(node.loop_var), begin, extent, step, kind, self.block(node.body))

    def _while(self, node: Any) -> Stmt:
        return While(self.expr(node.condition), self.block(node.body))

    def _if(self, node: Any) -> Stmt:
        then, orelse = self.block(node.then_case), self.block(node.else_case)
        return If(self.expr(node.condition), then, orelse)

    def _attr(self, node: Any) -> Stmt:
        var = None
        if isinstance(node.node, tirx.IterVar):
            subject: Expr = Const(str(node.node.thread_tag))
            var = self._var(node.node.var)
        else:
            subject = self._attr_node(node.node)
        value = self.expr(node.value)
        return Attr(str(node.attr_key), subject, value, self.block(node.body), var)

    def _attr_node(self, node: Any) -> Expr:
        """The subject of an attribute may be any object; only expressions matter here."""
        if isinstance(node, ir.PrimExpr):
            return self.expr(node)
        if isinstance(node, tirx.Buffer):
            return Pointer(self.buffer(node))
        return Const(str(node))

    def _assert(self, node: Any) -> Stmt:
        return Assert(self.expr(node.condition))

    # Buffers and variables ----------------------------------------------------------------------

    def _var(self, var: Any) -> Var:
        known = self.vars.get(var)
        if known is None:
            known = self.vars[var] = Var(str(var.name))
        return known

    def buffer(self, buffer: Any) -> Buffer:
        """The model's buffer; one that was never declared is a view of its data variable."""
        known = self._buffers.get(buffer)
        if known is None:
            data = self.allocated.get(buffer.data) or self._var(buffer.data)
            known = self._buffers[buffer] = self._make_buffer(buffer, data)
        return known

    def _make_buffer(self, buffer: Any, data: Buffer | Var | None) -> Buffer:
        shape = tuple(self.expr(extent) for extent in buffer.shape)
        strides = tuple(self.expr(stride) for stride in buffer.strides)
        elem_offset = buffer.elem_offset
        offset = self.expr(elem_offset) if elem_offset is not None else Const(0)
        return Buffer(
            str(buffer.name),
            str(buffer.dtype),
            shape,
            str(buffer.scope()),
            data,
            offset if is_row_major(shape, strides) else ANYWHERE,
        )

    # Expressions --------------------------------------------------------------------------------

    def expr(self, node: Any) -> Expr:
        kind = type(node)
        operator = _BINARY.get(kind)
        if operator is not None:
            return Call(operator, (self.expr(node.a), self.expr(node.b)))
        read = _EXPRESSIONS.get(kind)
        if read is None:
            raise BackendError(f"unknown TIR expression {kind.__name__}")
        return read(self, node)

    def _literal(self, node: Any) -> Expr:
        value = node.value
        return Const(value if isinstance(value, (int, float)) else str(value))

    def _var_expr(self, node: Any) -> Expr:
        allocation = self.allocated.get(node)
        return Pointer(allocation) if allocation is not None else self._var(node)

    def _load(self, node: Any) -> Expr:
        predicate = self.expr(node.predicate) if node.predicate is not None else None
        indices = tuple(self.expr(index) for index in node.indices)
        return Load(self.buffer(node.buffer), indices, predicate)

    def _call(self, node: Any) -> Expr:
        args = [self.expr(argument) for argument in node.args]
        if not isinstance(node.op, ir.Op):
            return Call("call_global", (Const(str(node.op.name_hint)), *args))
        name, location = self._op_name(node.op)
        if location == _DTYPE_FIRST:
            args.insert(0, Const(str(node.dtype)))
        elif location == _DTYPE_LAST:
            args.append(Const(str(node.dtype)))
        args += [self._annotation(value) for value in node.annotations.values()]
        return Call(name, tuple(args))

    def _op_name(self, op: Any) -> tuple[str, int]:
        """The name that TVMScript prints for an operator, and where it puts the result type."""
        known = self._op_names.get(op)
        if known is None:
            name = op.get_attr("TScriptPrinterName") or op.name
            location = op.get_attr("TScriptDtypePrintLocation")
            known = self._op_names[op] = (str(name), int(location or 0))
        return known

    def _annotation(self, value: Any) -> Expr:
        return self.expr(value) if isinstance(value, ir.PrimExpr) else Const(str(value))


def _plain(value: Any) -> object:
    """An attribute's value as plain Python; objects that planning does not need as their text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tirx.IntImm, tirx.FloatImm, tirx.StringImm)):
        return value.value
    return value if isinstance(value, (int, float, str)) else str(value)


def _fields(name: str, *fields: str) -> Callable[[TirVisitor, Any], Expr]:
    """A reader for nodes whose operands are plain fields."""

    def read(visitor: TirVisitor, node: Any) -> Expr:
        return Call(name, tuple(visitor.expr(getattr(node, field)) for field in fields))

    return read


def _cast(visitor: TirVisitor, node: Any) -> Expr:
    return Call("cast", (Const(str(node.dtype)), visitor.expr(node.value)))


def _shuffle(visitor: TirVisitor, node: Any) -> Expr:
    groups = (node.vectors, node.indices)
    tuples = (Call("tuple", tuple(visitor.expr(item) for item in group)) for group in groups)
    return Call("shuffle", tuple(tuples))


_STATEMENTS: Mapping[type, Callable[[TirVisitor, Any], Stmt]] = {
    tirx.AllocBuffer: TirVisitor._alloc_buffer,
    tirx.DeclBuffer: TirVisitor._decl_buffer,
    tirx.Bind: TirVisitor._bind,
    tirx.BufferStore: TirVisitor._buffer_store,
    tirx.Evaluate: TirVisitor._evaluate,
    tirx.For: TirVisitor._for,
    tirx.While: TirVisitor._while,
    tirx.IfThenElse: TirVisitor._if,
    tirx.AttrStmt: TirVisitor._attr,
    tirx.AssertStmt: TirVisitor._assert,
}

_EXPRESSIONS: Mapping[type, Callable[[TirVisitor, Any], Expr]] = {
    tirx.IntImm: TirVisitor._literal,
    tirx.FloatImm: TirVisitor._literal,
    tirx.StringImm: TirVisitor._literal,
    tirx.Var: TirVisitor._var_expr,
    tirx.SizeVar: TirVisitor._var_expr,
    tirx.BufferLoad: TirVisitor._load,
    tirx.Call: TirVisitor._call,
    tirx.Cast: _cast,
    tirx.Shuffle: _shuffle,
    tirx.Not: _fields("not", "a"),
    tirx.Select: _fields("select", "condition", "true_value", "false_value"),
    tirx.Ramp: _fields("ramp", "base", "stride", "lanes"),
    tirx.Broadcast: _fields("broadcast", "value", "lanes"),
    tirx.Let: _fields("let", "var", "value", "body"),
}
