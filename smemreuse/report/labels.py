"""One line for a statement, the same from a dump and from live TIR."""

from __future__ import annotations

from smemreuse.model.expr import Const, Expr, format_expr, format_index
from smemreuse.model.kernel import (
    THREAD_EXTENT,
    Allocate,
    Assert,
    Attr,
    Bind,
    Declare,
    Evaluate,
    For,
    If,
    Stmt,
    Store,
    While,
)

MAX_LABEL = 160

_NODE_NAMES: dict[type, str] = {
    Allocate: "AllocBuffer",
    Declare: "DeclBuffer",
    Bind: "Bind",
    Store: "BufferStore",
    Evaluate: "Evaluate",
    For: "For",
    While: "While",
    If: "IfThenElse",
    Attr: "AttrStmt",
    Assert: "AssertStmt",
}


def node_name(stmt: Stmt) -> str:
    """TIR's name for the kind of statement."""
    return _NODE_NAMES[type(stmt)]


def label(stmt: Stmt) -> str:
    """The statement, or a scope's header, as Python-like text of at most `MAX_LABEL` characters."""
    text = _text(stmt)
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 3] + "..."


def entry_label(stmt: Stmt, is_end: bool) -> str:
    """One line for an entry of the linear sequence."""
    return f"end {label(stmt)}" if is_end else label(stmt)


def _text(stmt: Stmt) -> str:
    if isinstance(stmt, For):
        return f"for {stmt.var.name} in {stmt.kind}({_bounds(stmt)})"
    if isinstance(stmt, While):
        return f"while {format_expr(stmt.condition)}"
    if isinstance(stmt, If):
        return f"if {format_expr(stmt.condition)}"
    if isinstance(stmt, Store):
        indices = ", ".join(map(format_index, stmt.indices))
        return f"{stmt.buffer.name}[{indices}] = {format_expr(stmt.value)}"
    if isinstance(stmt, Evaluate):
        return format_expr(stmt.value)
    if isinstance(stmt, Attr):
        kind = "launch_thread" if stmt.key == THREAD_EXTENT else f"attr {stmt.key}"
        return f"{kind}({format_expr(stmt.node)}, {format_expr(stmt.value)})"
    if isinstance(stmt, Bind):
        return f"{stmt.var.name} = {format_expr(stmt.value)}"
    if isinstance(stmt, Assert):
        return f"assert {format_expr(stmt.condition)}"
    return f"{node_name(stmt)} {stmt.buffer.name}"


def _bounds(loop: For) -> str:
    bounds: list[Expr] = [loop.extent]
    if loop.begin != Const(0) or loop.step != Const(1):
        bounds.insert(0, loop.begin)
    if loop.step != Const(1):
        bounds.append(loop.step)
    return ", ".join(map(format_expr, bounds))
