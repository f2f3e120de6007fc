"""Short spellings for access trees written by hand."""

from __future__ import annotations

from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Attr,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    unique_names,
)
from smemreuse.ir.labels import node_name
from smemreuse.policies.attribution import POLICIES

ZERO = Const(0)
FOUR = Const(4)


def shared(name: str, *shape: int, dtype: str = "uint8", scope: str = "shared.dyn") -> Buffer:
    return Buffer(name, dtype, tuple(map(Const, shape or (64,))), scope)


def load(buffer: Buffer, *indices: Expr) -> Load:
    return Load(buffer, indices or (ZERO,))


def store(buffer: Buffer, value: Expr = ZERO, *indices: Expr) -> Store:
    return Store(buffer, indices or (ZERO,), value)


def call(*args: Expr, op: str = "call_extern") -> Evaluate:
    return Evaluate(Call(op, args))


def access_ptr(buffer: Buffer, mask: Expr, offset: Expr = ZERO) -> Call:
    annotation = Call("type_annotation", (Const("uint8"),))
    return Call("tvm_access_ptr", (annotation, Pointer(buffer), offset, Const(16), mask))


def loop(*body: Stmt, extent: Expr = FOUR) -> For:
    return For(Var("i"), ZERO, extent, Const(1), "serial", body)


def repeat(condition: Expr, *body: Stmt) -> While:
    return While(condition, body)


def launch(*body: Stmt, extent: Expr = FOUR) -> Attr:
    return Attr(THREAD_EXTENT, Const("threadIdx.x"), extent, body, Var("tx"))


def attr(key: str, *body: Stmt, value: Expr = ZERO) -> Attr:
    return Attr(key, ZERO, value, body)


BX, TX, K = Var("bx"), Var("tx"), Var("k")
DATA = Buffer("G", "int32", (Const(4096),), "global")


def op(name: str, *args: Expr | int) -> Call:
    """An operator on expressions and numbers."""
    return Call(name, tuple(Const(arg) if isinstance(arg, int) else arg for arg in args))


def times(var: Var, extent: Expr | int, *body: Stmt) -> For:
    count = Const(extent) if isinstance(extent, int) else extent
    return For(var, ZERO, count, Const(1), "serial", body)


def when(condition: Expr, *then: Stmt, orelse: Block = ()) -> If:
    return If(condition, then, orelse)


def kernel_of(*body: Stmt, buffers: tuple[Buffer, ...] = (), threads: int = 32) -> Kernel:
    """A kernel of several blocks, all of whose statements run for `tx` in `threads`."""
    inside = Attr(THREAD_EXTENT, Const("threadIdx.x"), Const(threads), body, TX)
    block: Block = (*map(Allocate, buffers), inside)
    return Kernel("k", (Attr(THREAD_EXTENT, Const("blockIdx.x"), FOUR, block, BX),))


def rows(*body: Stmt, policy: str = "outer", scope: str = "shared.dyn") -> list[str]:
    """The linear sequence as `AttrStmt +3: As Bs`, one row for each entry."""
    kernel = Kernel("k", body)
    names = unique_names(kernel.allocations(scope))
    result = []
    for entry in linearize(kernel, scope, POLICIES[policy]).entries:
        touched = " ".join(names[touch.buffer] for touch in entry.touched)
        offset = f"{entry.scope_pair_offset:+d}" if entry.scope_pair_offset else "0"
        result.append(f"{node_name(entry.stmt)} {offset}: {touched}".rstrip(": "))
    return result


def live(*body: Stmt, policy: str = "outer", scope: str = "shared.dyn") -> dict[str, list[int]]:
    """Live ranges by name."""
    kernel: Kernel = Kernel("k", body)
    ranges = live_ranges(linearize(kernel, scope, POLICIES[policy]).entries)
    names = unique_names(kernel.allocations(scope))
    return {names[buffer]: [found.begin, found.end] for buffer, found in ranges.items()}


def levels(body: Block, scope: str = "shared.dyn") -> dict[str, int]:
    """The scope depth of each allocation."""
    sequence = linearize(Kernel("k", body), scope, POLICIES["outer"])
    return {buffer.name: level for buffer, level in sequence.alloc_level.items()}
