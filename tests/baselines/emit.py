"""Writes a described module as TIR, for either compiler: their constructors are nearly the same."""

from __future__ import annotations

from typing import Any

from tests.baselines.modules import (
    DTYPES,
    Alloc,
    Buf,
    Launch,
    Let,
    Run,
    Scope,
    Stmt,
    Use,
    Write,
)

_VIEWS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint32x4"}
THREADS = 128


class Emitter:
    """Makes TIR of one launch. `tvm` is the compiler's package, `is_apache` says whose it is."""

    def __init__(self, tvm: Any, *, is_apache: bool):
        self.tvm = tvm
        self.tirx = tvm.tirx
        self._is_apache = is_apache
        self._vars: dict[Buf, Any] = {}
        self._count = 0

    def launch(self, launch: Launch) -> Any:
        body = self._block(launch.body)
        for tag, extent in (("threadIdx.x", THREADS), ("blockIdx.x", 2)):
            var = self.tirx.Var(tag[0] + "x", "int32")
            axis = self.tirx.IterVar(self.tvm.ir.Range(0, extent), var, 1, tag)
            body = self.tirx.AttrStmt(axis, "thread_extent", extent, body)
        return body

    def _block(self, block: tuple[Stmt, ...]) -> Any:
        stmts = [stmt for each in block for stmt in self._stmt(each)]
        return stmts[0] if len(stmts) == 1 else self.tirx.SeqStmt(stmts)

    def _stmt(self, stmt: Stmt) -> list[Any]:
        if isinstance(stmt, Alloc):
            return [self.tirx.AllocBuffer(self._allocated(stmt.buf))]
        if isinstance(stmt, Write):
            views, target = self._target(stmt)
            before, args = self._args(stmt.uses)
            store = self.tirx.BufferStore(target, self._call(_dtype(target), args), [0])
            return [*views, *before, store]
        if isinstance(stmt, Run):
            before, args = self._args(stmt.uses)
            return [*before, self.tirx.Evaluate(self._call("int32", args))]
        if isinstance(stmt, Let):
            before, (value,) = self._args((stmt.use,))
            if stmt.use.how not in ("data", "access", "address"):
                value = self._call("int32", [value])
            return [*before, self.tirx.Bind(self._fresh(value), value)]
        return self._scope(stmt)

    def _fresh(self, value: Any) -> Any:
        self._count += 1
        kind = value.ty if self._is_apache else value.dtype
        return self.tirx.Var(f"v{self._count}", kind)

    def _scope(self, stmt: Scope) -> list[Any]:
        before, args = self._args((stmt.use,) if stmt.use else ())
        body = self._block(stmt.body)
        orelse = self._block(stmt.orelse) if stmt.orelse else None
        tirx = self.tirx
        if stmt.kind == "for":
            extent = self._call("int32", args) if args else 4
            return [*before, tirx.For(tirx.Var("i", "int32"), 0, extent, 0, body)]
        condition = self._call("int32", args) > 0
        if stmt.kind == "while":
            return [*before, tirx.While(condition, body)]
        if stmt.kind == "if":
            return [*before, tirx.IfThenElse(condition, body, orelse)]
        if stmt.kind == "kWarpSpecializationScope":
            body = tirx.IfThenElse(condition, body, orelse)
        node = self.tirx.const(0, "int32")
        return [*before, tirx.AttrStmt(node, stmt.kind, 0, body)]

    # Buffers and expressions --------------------------------------------------------------------

    def _allocated(self, buf: Buf) -> Any:
        extra = {} if buf.align is None else {"data_alignment": buf.align}
        made = self.tirx.decl_buffer((buf.extent,), buf.dtype, buf.name, scope=buf.scope, **extra)
        self._vars[buf] = made
        return made

    def _view(self, buf: Buf) -> tuple[Any, Any]:
        """A view of another type, `name_v`, and the statement that declares it."""
        source = self._vars[buf]
        dtype, name = _VIEWS[DTYPES[buf.dtype]], f"{buf.name}_v"
        if self._is_apache:
            view = self.tirx.decl_buffer((buf.extent,), dtype, name, scope=buf.scope)
            return self.tirx.DeclBuffer(view, data=source.data), view
        view = self.tirx.decl_buffer((buf.extent,), dtype, name, data=source.data, scope=buf.scope)
        return self.tirx.DeclBuffer(view), view

    def _target(self, stmt: Write) -> tuple[list[Any], Any]:
        if not stmt.through_view:
            return [], self._vars[stmt.buf]
        declared, view = self._view(stmt.buf)
        return [declared], view

    def _args(self, uses: tuple[Use, ...]) -> tuple[list[Any], list[Any]]:
        """The operands for `uses`, and the views that have to be declared for them."""
        before: list[Any] = []
        return before, [self._use(use, before) for use in uses]

    def _use(self, use: Use, before: list[Any]) -> Any:
        buffer = self._vars[use.buf]
        index = self._call("int32", [self._use(use.index, before)]) if use.index else 0
        if use.how == "view":
            declared, view = self._view(use.buf)
            before.append(declared)
            return view[0]
        if use.how == "data":
            return buffer.data
        if use.how == "access":
            return buffer.access_ptr("r")
        load = buffer[index]
        return self.tirx.address_of(load) if use.how == "address" else load

    def _call(self, dtype: str, args: list[Any]) -> Any:
        return self.tirx.call_extern(dtype, "f", *args)


def _dtype(buffer: Any) -> str:
    return str(buffer.dtype)
