"""Short spellings for kernels written by hand, and kernels as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Assert,
    Attr,
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
from smemreuse.ir.labels import label

SCOPE = "shared.dyn"
Operand: TypeAlias = "Expr | int"

INPUT = Buffer("G", "int32", (Const(4096),), "global")
OUTPUT = Buffer("O", "int32", (Const(4096),), "global")
TX = Var("tx")
BX = Var("bx")


# Short spellings ------------------------------------------------------------------------------


def expr(value: Operand) -> Expr:
    return Const(value) if isinstance(value, int) else value


def call(op: str, *args: Operand) -> Call:
    return Call(op, tuple(map(expr, args)))


def load(buffer: Buffer, index: Operand) -> Load:
    return Load(buffer, (expr(index),))


def store(buffer: Buffer, index: Operand, value: Operand, predicate: Expr | None = None) -> Store:
    return Store(buffer, (expr(index),), expr(value), predicate)


def evaluate(op: str, *args: Operand) -> Evaluate:
    return Evaluate(call(op, *args))


def loop(var: Var, extent: Operand, *body: Stmt, begin: int = 0, step: int = 1) -> For:
    return For(var, Const(begin), expr(extent), Const(step), "serial", body)


def output(value: Operand) -> Store:
    return store(OUTPUT, TX, value)


def pointer(buffer: Buffer, index: Operand, extent: int, mask: int) -> Call:
    annotation = Call("type_annotation", (Const(buffer.dtype),))
    return call("tvm_access_ptr", annotation, Pointer(buffer), index, extent, mask)


def copy_async(buffer: Buffer, index: Operand, source: Operand, elements: int = 1) -> Evaluate:
    target = pointer(buffer, index, elements, 2)
    return evaluate("ptx_cp_async", target, pointer(INPUT, source, elements, 1), elements)


def shared(name: str, elements: int, dtype: str = "int32") -> Buffer:
    return Buffer(name, dtype, (Const(elements),), SCOPE)


def scalar(name: str) -> Buffer:
    return Buffer(name, "int32", (Const(1),), "local.var")


def kernel(
    *body: Stmt, buffers: tuple[Buffer, ...], threads: int = 32, outside: bool = False
) -> Kernel:
    """Allocations stand between the block axis and the thread axis, as TileLang has them.

    `outside` of both, where the outer policy shares nothing.
    """
    allocations = tuple(Allocate(buffer) for buffer in buffers)
    launch = Attr(THREAD_EXTENT, Const("threadIdx.x"), Const(threads), body, TX)
    inner: Block = (launch,) if outside else (*allocations, launch)
    grid = Attr(THREAD_EXTENT, Const("blockIdx.x"), Const(3), inner, BX)
    return Kernel("random", (*allocations, grid) if outside else (grid,))


# Printing -------------------------------------------------------------------------------------


def format_kernel(kernel: Kernel) -> str:
    """The kernel as TVMScript-like text."""
    return "\n".join(_lines(kernel.body, 0))


def _lines(block: Block, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for stmt in block:
        if isinstance(stmt, (Allocate, Declare)):
            one = stmt.buffer
            shape = ", ".join(str(e.value) if isinstance(e, Const) else "?" for e in one.shape)
            yield f'{indent}{one.name} = alloc_buffer(({shape}), "{one.dtype}", "{one.scope}")'
            continue
        yield indent + label(stmt)
        if isinstance(stmt, If):
            yield from _lines(stmt.then, depth + 1)
            if stmt.orelse:
                yield indent + "else"
                yield from _lines(stmt.orelse, depth + 1)
        elif isinstance(stmt, (For, While, Attr, Assert)):
            yield from _lines(stmt.body, depth + 1)
