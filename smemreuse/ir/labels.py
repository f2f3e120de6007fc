"""One line for a statement, the same from a dump and from live TIR."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import groupby

from smemreuse.ir.expr import (
    INFIX,
    Call,
    Const,
    Expr,
    Load,
    Pointer,
    format_expr,
    format_index,
    walk,
)
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
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
    expressions_of,
    walk_statements,
)
from smemreuse.ir.source import source_of

MAX_LABEL = 160
_ELLIPSIS = "..."

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


def label(stmt: Stmt, width: int | None = None) -> str:
    """The statement, or a scope's header, as Python-like text, cut to `width` characters.

    That is `MAX_LABEL` by default. Shared buffers that are cut off are named after the cut.
    """
    return _shortened(_text(stmt), width or MAX_LABEL, stmt)


def entry_label(stmt: Stmt, is_end: bool, width: int | None = None) -> str:
    """One line for an entry of the linear sequence, cut as `label` cuts."""
    return f"end {label(stmt, width)}" if is_end else label(stmt, width)


def shortened(text: str, width: int, names: Collection[str]) -> str:
    """`text` cut to `width` characters; those of `names` that are cut off come after the cut."""
    if len(text) <= width:
        return text
    kept = max(0, width - len(_with_names(names)))  # at least
    cut = _with_names([name for name in names if not _is_named(name, text[:kept])])
    if len(cut) > width // 2:
        cut = _ELLIPSIS
    return _without_half(text[: width - len(cut)], names) + cut


def _without_half(text: str, names: Collection[str]) -> str:
    """The text without the beginning of a name at its end: that name comes after the cut."""
    word = re.search(r"\w+$", text)
    is_half = word is not None and any(name.startswith(word.group()) for name in names)
    return text[: word.start()] if word is not None and is_half else text


def _shortened(text: str, width: int, stmt: Stmt) -> str:
    return text if len(text) <= width else shortened(text, width, _shared_buffers(stmt))


def _with_names(names: Collection[str]) -> str:
    return f"{_ELLIPSIS} {', '.join(names)}" if names else _ELLIPSIS


def _is_named(name: str, text: str) -> bool:
    """Whether a buffer is in the text, itself or as the view `As_1` that TVM makes of `As`."""
    return re.search(rf"\b{re.escape(name)}(_\d+)?\b", text) is not None


def _shared_buffers(stmt: Stmt) -> list[str]:
    """The allocations in shared memory that a statement names, in order."""
    named = [stmt.buffer] if isinstance(stmt, Store) else []
    for expr in expressions_of(stmt):
        named += [one.buffer for one in walk(expr) if isinstance(one, (Load, Pointer))]
    storages = (one.storage for one in named if one.scope in SHARED_SCOPES)
    return list(dict.fromkeys(one.name for one in storages))


def _text(stmt: Stmt) -> str:
    """The statement as one line of text; for a scope its header."""
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


BRIEF = 64
_ARGUMENT = 20
"""Characters of a statement, and of an index or an argument in it, where a line is quoted too."""


def brief(stmt: Stmt, width: int = BRIEF, about: Expr | None = None) -> str:
    """The statement as short text for readers who have the dump: long indices and values are
    elided, but for the operand that it is `about`, which stays whole.

    For example `As[...] = B_1[...]`, `tma_load(A_desc, ..., As[...], ...)`. Headers are as in
    `label`.
    """
    if isinstance(stmt, Store):
        indices = ", ".join(map(format_index, stmt.indices))
        target = f"{stmt.buffer.name}[{_short(indices)}]"
        text = f"{target} = {_elided(stmt.value, BRIEF - len(target))}"
    elif isinstance(stmt, Evaluate):
        text = _elided(stmt.value, width, about)
    else:
        text = _text(stmt)
    return _shortened(text, width if about is None else MAX_LABEL, stmt)


def last_line(stmt: Stmt) -> int:
    """The last line of a statement and its body; 0 where none is known."""
    return max(one.line or 0 for one in walk_statements((stmt,)))


def end_of_scope(stmt: Stmt) -> str:
    """The end of a statement with a body, for people: with the lines from its head to its end, and
    that of the user's Python, as far as they are known."""
    last = last_line(stmt)
    if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT:
        return f"the end of the kernel{f' (line {last})' if last else ''}"
    source = source_of(stmt)
    parts = [f"lines {stmt.line}-{last}" if last else "", f"from {source}" if source else ""]
    known = ", ".join(filter(None, parts))
    return f"the end of `{brief(stmt)}`{f' ({known})' if known else ''}"


def _elided(expr: Expr, room: int, about: Expr | None = None) -> str:
    """An expression as text of about `room` characters.

    The arguments of a call are elided one by one; shared buffers that they point to stay named.
    """
    text = format_expr(expr)
    if len(text) <= room:
        return text
    if isinstance(expr, Load):
        return f"{expr.buffer.name}[...]"
    if not isinstance(expr, Call) or expr.op in INFIX:
        return _ELLIPSIS
    told = (format_expr(one) if one is about else _argument(one) for one in expr.args)
    arguments = [key for key, _ in groupby(told)]
    return f"{expr.op}({', '.join(arguments)})"


def _argument(expr: Expr) -> str:
    """An argument as text, or where it is too long only the shared buffer that it points into."""
    text = format_expr(expr)
    if len(text) <= _ARGUMENT:
        return text
    named = [one.buffer for one in walk(expr) if isinstance(one, (Load, Pointer))]
    shared = [one.name for one in named if one.scope in SHARED_SCOPES]
    return f"{shared[0]}[{_ELLIPSIS}]" if shared else _ELLIPSIS


def _short(text: str) -> str:
    return text if len(text) <= _ARGUMENT else _ELLIPSIS
