"""Turns live TIR objects of TileLang's `tvm` into the access tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.live import LiveVisitor, kernels_of
from smemreuse.errors import BackendError
from smemreuse.ir.expr import Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Allocate, Block, Buffer, Declare, Kernel, Stmt
from smemreuse.versions import TILELANG, installed

VERSION = installed(TILELANG, tilelang.__version__)

TIR = VERSION.names.tir
if not hasattr(tvm, TIR):
    raise BackendError(
        f"TileLang {tilelang.__version__} has no tvm.{TIR}: smemreuse gets into others, and "
        "reads dumps of this one"
    )
ir, tirx = tvm.ir, getattr(tvm, TIR)

IN_SEQUENCE = hasattr(tirx, "Bind")
"""Whether allocations and bindings stand before what they are for; else it is the body of each."""


def read_function(name: str, func: Any) -> list[Kernel]:
    """The device kernels of a live function; none for a host function."""
    return TirVisitor().kernels(name, func)


def read_module(mod: Any) -> list[Kernel]:
    """The device kernels of a live module, functions in the order of their names."""
    return kernels_of(mod, TirVisitor)


class TirVisitor(LiveVisitor):
    """Buffers are objects here, with a data variable of their own that allocations define."""

    version = VERSION

    def __init__(self, merged: Mapping[Any, Buffer] | None = None) -> None:
        super().__init__(merged)
        self._buffers: dict[Any, Buffer] = {}

    def again(self) -> TirVisitor:
        """As above: passes leave the variables and buffers of a statement that they do not touch
        what they were."""
        reader = TirVisitor(self.allocated)
        reader.vars, reader._buffers, reader._op_names = self.vars, self._buffers, self._op_names
        reader._earlier = {node: list(blocks) for node, blocks in self._read.items()}
        return reader

    @property
    def live_buffers(self) -> Mapping[Any, Buffer]:
        """The model's buffers by those of the function that was read."""
        return self._buffers

    def kernels(self, name: str, func: Any) -> list[Kernel]:
        if not IN_SEQUENCE:
            tirx.stmt_functor.post_order_visit(func.body, self._allocate)
        return super().kernels(name, func)

    def _allocate(self, node: Any) -> None:
        """An allocation that is the parent of its uses; a declaration may stand before it."""
        if isinstance(node, tirx.Allocate) and node.buffer_var not in self.allocated:
            var, shape = node.buffer_var, tuple(map(self.expr, node.extents))
            scope = str(var.type_annotation.storage_scope)
            self.allocated[var] = Buffer(str(var.name), str(node.dtype), shape, scope)

    def visit_Allocate(self, node: Any) -> Block:
        return (Allocate(self.allocated[node.buffer_var]), *self.block(node.body))

    def visit_LetStmt(self, node: Any) -> Block:
        return (self.visit_Bind(node), *self.block(node.body))

    def visit_AllocBuffer(self, node: Any) -> Stmt:
        buffer = node.buffer
        made = self._allocated_earlier(buffer) or self._make(buffer, None)
        self.allocated[buffer.data] = made
        self._buffers[buffer] = made
        return Allocate(made)

    def _allocated_earlier(self, buffer: Any) -> Buffer | None:
        """What an earlier reading took the buffer of another allocation for."""
        known = self._buffers.get(buffer) if self._earlier else None
        return known if known is not None and known.data is None else None

    def visit_DeclBuffer(self, node: Any) -> Block:
        declared = Declare(self.buffer(node.buffer))
        return (declared, *self.block(getattr(node, "body", None)))

    def bound_allocation(self, node: Any) -> Buffer | None:
        return self.allocated.get(node.var)

    def is_laid_out_otherwise(self, described: Any) -> bool:
        return len(described.axis_separators or ()) > 0

    def is_handle(self, var: Any) -> bool:
        return str(var.dtype) == "handle"

    def attr_subject(self, node: Any) -> Expr:
        if isinstance(node, tirx.Buffer):
            return Pointer(self.buffer(node))
        return super().attr_subject(node)

    def buffer(self, node: Any) -> Buffer:
        """The model's buffer; one that was never declared is a view of its data variable."""
        known = self._buffers.get(node)
        if known is None:
            data = self.allocated.get(node.data) or self.var(node.data)
            known = self._buffers[node] = self._make(node, data)
        return known

    def _make(self, buffer: Any, data: Buffer | Var | None) -> Buffer:
        scope, dtype = str(buffer.scope()), str(buffer.dtype)
        return self.make_buffer(str(buffer.name), buffer, scope, data, dtype)

    def visit_BufferLoad(self, node: Any) -> Expr:
        indices = tuple(map(self.expr, node.indices))
        return Load(self.buffer(node.buffer), indices, self.predicate(node))

    def dtype(self, node: Any) -> str:
        return str(node.dtype)

    def call_extras(self, node: Any) -> dict[str, Expr]:
        return {
            str(name): self.expr(value) if isinstance(value, ir.PrimExpr) else Const(str(value))
            for name, value in getattr(node, "annotations", {}).items()
        }
