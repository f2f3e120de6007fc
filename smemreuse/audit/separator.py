"""Rewrites a merged kernel so that each of its buffers is an allocation of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, constant
from smemreuse.ir.kernel import (
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
    Stmt,
    Store,
    While,
    element_bits,
)
from smemreuse.semantics.elements import is_typed, pointee_bits


class Separator:
    """Replaces pointers into an arena, and views of it, by allocations.

    `pointers` and `views` map each to its allocation; several views may share one. A view of an
    allocation begins `origins` bytes before it, so that its indices stay as they are; access
    pointers count from there.
    """

    def __init__(
        self,
        pointers: Mapping[Var, Buffer],
        views: Mapping[Buffer, Buffer] = MappingProxyType({}),
        origins: Mapping[Buffer, int] = MappingProxyType({}),
    ):
        self.pointers = pointers
        self._allocated = views
        self._made: set[Buffer] = set()
        self._origins = origins
        self._views: dict[Buffer, Buffer] = {
            view: _cut(view, buffer, origins[view]) for view, buffer in views.items()
        }

    def block(self, block: Block) -> Block:
        return tuple(found for stmt in block for found in self._statements(stmt))

    def _statements(self, stmt: Stmt) -> Iterator[Stmt]:
        """The rewritten statement; before the first view of an allocation also that allocation."""
        made = self._allocated.get(stmt.buffer) if isinstance(stmt, Declare) else None
        if made is not None and made not in self._made:
            self._made.add(made)
            yield Allocate(made, stmt.line)
        yield self._statement(stmt)

    def _statement(self, stmt: Stmt) -> Stmt:
        """One statement with its buffers and expressions rewritten."""
        expr = self._expr
        if isinstance(stmt, Bind) and stmt.var in self.pointers:
            return Allocate(self.pointers[stmt.var], stmt.line)
        if isinstance(stmt, Declare):
            return replace(stmt, buffer=self._buffer(stmt.buffer))
        if isinstance(stmt, (Bind, Evaluate)):
            return replace(stmt, value=expr(stmt.value))
        if isinstance(stmt, Store):
            return replace(
                stmt,
                buffer=self._buffer(stmt.buffer),
                indices=tuple(map(expr, stmt.indices)),
                value=expr(stmt.value),
                predicate=None if stmt.predicate is None else expr(stmt.predicate),
            )
        if isinstance(stmt, (While, Assert)):
            return replace(stmt, condition=expr(stmt.condition), body=self.block(stmt.body))
        if isinstance(stmt, For):
            begin, extent, step = map(expr, (stmt.begin, stmt.extent, stmt.step))
            body = self.block(stmt.body)
            return replace(stmt, begin=begin, extent=extent, step=step, body=body)
        if isinstance(stmt, If):
            then, orelse = self.block(stmt.then), self.block(stmt.orelse)
            return replace(stmt, condition=expr(stmt.condition), then=then, orelse=orelse)
        if isinstance(stmt, Attr):
            return replace(stmt, value=expr(stmt.value), body=self.block(stmt.body))
        return stmt

    def _buffer(self, buffer: Buffer) -> Buffer:
        known = self._views.get(buffer)
        if known is None:
            known = self._views[buffer] = self._rebased(buffer)
        return known

    def _rebased(self, buffer: Buffer) -> Buffer:
        """A view declared on the allocation that replaces its pointer or the arena."""
        if isinstance(buffer.data, Var) and buffer.data in self.pointers:
            return replace(buffer, data=self.pointers[buffer.data])
        if isinstance(buffer.data, Buffer):
            data = self._buffer(buffer.data)
            return replace(buffer, data=data) if data is not buffer.data else buffer
        return buffer

    def _expr(self, expr: Expr) -> Expr:
        """An expression with its buffers and access pointers rewritten."""
        rebuild: Callable[[Expr], Expr] = self._expr
        if isinstance(expr, Var):
            return Pointer(self.pointers[expr]) if expr in self.pointers else expr
        if isinstance(expr, Pointer):
            return Pointer(self._buffer(expr.buffer))
        if isinstance(expr, Load):
            predicate = rebuild(expr.predicate) if expr.predicate is not None else None
            indices = tuple(map(rebuild, expr.indices))
            return Load(self._buffer(expr.buffer), indices, predicate)
        if isinstance(expr, Call):
            rebuilt = replace(expr, args=tuple(map(rebuild, expr.args)))
            return self._moved(expr, rebuilt) if is_typed(expr) else rebuilt
        return expr

    def _moved(self, pointer: Call, rebuilt: Call) -> Expr:
        """The access pointer `rebuilt` on the view's allocation, with its offset relative to that.

        The offset of the original `pointer` counts from the arena's first byte.
        """
        base = pointer.args[1]
        origin = self._origins.get(base.buffer, 0) if isinstance(base, Pointer) else 0
        if not origin:
            return rebuilt
        annotation, base, offset, *rest = rebuilt.args
        elements = Const(origin * 8 // pointee_bits(pointer))
        return replace(rebuilt, args=(annotation, base, Call("sub", (offset, elements)), *rest))


def _cut(view: Buffer, buffer: Buffer, origin: int) -> Buffer:
    """A view of `buffer` alone, which begins `origin` bytes after the view, and no larger."""
    each = element_bits(view.dtype) // 8
    rows = view.shape[1:]
    in_row = math.prod(constant(extent) or 0 for extent in rows)
    end = (origin + (buffer.size or 0)) // each
    first = Const(end // in_row) if in_row else view.shape[0]
    return replace(view, shape=(first, *rows), data=buffer, elem_offset=Const(-(origin // each)))
