"""Turns live TIR objects of Apache TVM into the access tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import ir

from smemreuse.compilers.live import LiveVisitor, kernels_of
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Allocate, Bind, Block, Buffer, Declare, Kernel, Stmt
from smemreuse.versions import APACHE_TVM, VERSIONS, installed

VERSION = installed(APACHE_TVM, tvm.__version__)
TIR = VERSION.names.tir
tirx = getattr(tvm, TIR)
if not hasattr(ir, "TensorLoad"):
    raise BackendError(
        f"TVM {tvm.__version__} has buffers that are no variables: smemreuse gets into "
        f"{VERSIONS[APACHE_TVM].name}, and reads dumps of this one"
    )

_INLINED_CUDA = f"{TIR}.cuda.func_call"  # printed with the type that it returns


def read_function(name: str, func: Any) -> list[Kernel]:
    """The device kernels of a live function; none for a host function."""
    return TvmVisitor().kernels(name, func)


def read_module(mod: Any) -> list[Kernel]:
    """The device kernels of a live module, functions in the order of their names."""
    return kernels_of(mod, TvmVisitor)


class TvmVisitor(LiveVisitor):
    """A buffer is a variable here, whose type says what it is; `buffer_data` is its address."""

    version = VERSION

    def __init__(self, merged: Mapping[Any, Buffer] | None = None) -> None:
        super().__init__(merged)
        self._buffers: dict[Any, Buffer] = dict(self.allocated)

    def visit_AllocBuffer(self, node: Any) -> Stmt:
        made = self._make(node.buffer, None)
        self.allocated[node.buffer] = self._buffers[node.buffer] = made
        return Allocate(made)

    def visit_DeclBuffer(self, node: Any) -> Block:
        """A view; one of a pointer that has no name gets a variable for it."""
        merged = self.allocated.get(node.buffer)
        if merged is not None:
            return (Allocate(merged),)
        pointer = self.expr(node.data)
        if isinstance(pointer, Pointer):
            view = self._view(node.buffer, pointer.buffer)
            return (Declare(view),)
        if isinstance(pointer, Var):
            return (Declare(self._view(node.buffer, pointer)),)
        var = Var(f"{node.buffer.name}_ptr")
        return (Bind(var, pointer), Declare(self._view(node.buffer, var)))

    def _view(self, node: Any, data: Buffer | Var) -> Buffer:
        view = self._buffers[node] = self._make(node, data)
        return view

    def is_laid_out_otherwise(self, described: Any) -> bool:
        layout = getattr(described, "layout", None)
        is_trivial = getattr(layout, "is_trivial", None)
        return layout is not None and not (is_trivial is not None and is_trivial())

    def is_handle(self, var: Any) -> bool:
        return isinstance(var.ty, ir.PointerType)

    def buffer(self, node: Any) -> Buffer:
        """The model's buffer; one that is not defined in the function's body is a parameter."""
        if not isinstance(node, ir.Var):
            raise BackendError(f"an access to a {type(node).__name__}, not to a buffer")
        known = self._buffers.get(node)
        if known is None:
            known = self._view(node, self.var(node))
        return known

    def _make(self, node: Any, data: Buffer | Var | None) -> Buffer:
        described = node.ty
        name = str(node.name).removesuffix(".source")  # a scalar's storage
        return self.make_buffer(
            name, described, str(described.storage_scope), data, str(described.dtype)
        )

    def visit_Var(self, node: Any) -> Expr:
        if isinstance(node.ty, tirx.BufferType):
            return Pointer(self.buffer(node))
        return self.var(node)

    def visit_TensorLoad(self, node: Any) -> Expr:
        return Load(self.buffer(node.source), tuple(map(self.expr, node.indices)))

    def visit_Call(self, node: Any) -> Expr:
        if getattr(node.op, "name", None) == f"{TIR}.buffer_data":
            return self.expr(node.args[0])
        return super().visit_Call(node)

    def dtype(self, node: Any) -> str:
        if isinstance(node.ty, ir.PrimType):
            return str(node.ty.dtype) or "void"
        return "handle" if isinstance(node.ty, ir.PointerType) else "void"

    def call_extras(self, node: Any) -> dict[str, Expr]:
        attrs = node.attrs
        extras: dict[str, Expr] = {}
        if attrs is not None:
            extras |= {str(name): Const(str(value)) for name, value in attrs.items()}
        returns = self.dtype(node)
        if returns != "void" and getattr(node.op, "name", None) == _INLINED_CUDA:
            extras[""] = Const(returns)
        return extras
